# Shaders are files; the build resolves their includes and embeds them, so that the program needs no files of its own.
file(GLOB shader_stages CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/shaders/*.vert" "${CMAKE_SOURCE_DIR}/shaders/*.frag")
file(GLOB shader_libs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/shaders/lib/*.glsl")
set(shader_names "")
foreach(stage IN LISTS shader_stages)
    get_filename_component(name "${stage}" NAME)
    list(APPEND shader_names "${name}")
endforeach()
add_executable(marey-embed "${CMAKE_SOURCE_DIR}/tools/embed.c" "${CMAKE_SOURCE_DIR}/src/render/shader_source.c")
target_include_directories(marey-embed PRIVATE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(marey-embed PRIVATE marey-base)
set(shader_table "${CMAKE_BINARY_DIR}/shaders.c")
add_custom_command(
    OUTPUT "${shader_table}"
    COMMAND marey-embed "${shader_table}" "${CMAKE_SOURCE_DIR}/shaders" ${shader_names}
    DEPENDS marey-embed ${shader_stages} ${shader_libs}
    COMMENT "Embedding the shaders"
    VERBATIM)
add_library(marey-shaders STATIC "${shader_table}")
target_include_directories(marey-shaders PRIVATE "${CMAKE_SOURCE_DIR}/src")

# A debug build watches the folder that MAREY_SHADER_DIR names and takes a changed shader at once.
function(marey_shader_reload target)
    target_compile_definitions(${target} PRIVATE $<IF:$<CONFIG:Debug>,MAREY_SHADER_RELOAD=1,MAREY_SHADER_RELOAD=0>)
endfunction()
