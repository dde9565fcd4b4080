# The program. Without the viewer it converts, reports and queries on a machine without any OpenGL library.
set(MAREY_APP_DEPS trace graph lod store diagnose convert synth cache readers)
set(MAREY_APP_LIBS "")
set(MAREY_APP_EXCLUDE "")
if(MAREY_VIEWER)
    list(APPEND MAREY_APP_DEPS draw text render scene ui)
    list(APPEND MAREY_APP_LIBS PkgConfig::GLFW PkgConfig::EGL)
else()
    # What draws: the files of src/app that need the rooms of viewer.cmake.
    set(MAREY_APP_EXCLUDE "/(session|panels|panel_[a-z]+|opening|actions|comm_actions|graph_actions|graph_find|graph_script|select|pointer|window|look|zoom_script|cmd_open|cmd_render|picture|cmd_bench)\\.c$")
endif()
marey_add_room(app DEPS ${MAREY_APP_DEPS} LIBS ${MAREY_APP_LIBS} EXCLUDE ${MAREY_APP_EXCLUDE})
target_compile_definitions(marey-app PUBLIC
    MAREY_VIEWER=$<BOOL:${MAREY_VIEWER}> MAREY_PROGRAM_VERSION="${PROJECT_VERSION}")
add_executable(marey src/app/main.c)
target_link_libraries(marey PRIVATE marey-app)
install(TARGETS marey)
