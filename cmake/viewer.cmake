# The rooms that draw. Packages: OpenGL through glad (generated here), EGL, GLFW, FreeType, HarfBuzz, fontconfig, PNG.
pkg_check_modules(FREETYPE REQUIRED IMPORTED_TARGET freetype2)
pkg_check_modules(HARFBUZZ REQUIRED IMPORTED_TARGET harfbuzz)
pkg_check_modules(FONTCONFIG REQUIRED IMPORTED_TARGET fontconfig)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(EGL REQUIRED IMPORTED_TARGET egl)
pkg_check_modules(GLFW REQUIRED IMPORTED_TARGET glfw3)

include(cmake/glad.cmake)
include(cmake/shaders.cmake)

marey_add_room(draw)
marey_add_room(text DEPS draw LIBS PkgConfig::FREETYPE PkgConfig::HARFBUZZ PkgConfig::FONTCONFIG)
marey_add_room(gpu LIBS marey-glad ${CMAKE_DL_LIBS})
marey_add_room(render DEPS draw text gpu LIBS marey-shaders PkgConfig::EGL PkgConfig::PNG)
marey_shader_reload(marey-render)
marey_add_room(scene DEPS trace graph lod store cache diagnose draw text)
marey_add_room(ui DEPS draw text)
