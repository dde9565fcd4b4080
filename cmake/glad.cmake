# OpenGL's functions: written by Debian's python3-glad at build time from the registry that the package holds, so that
# nothing is fetched and nothing generated is committed. A library of its own, without our warnings.
find_program(GLAD_PROGRAM glad REQUIRED DOC "glad 2, from Debian's python3-glad")
set(glad_dir "${CMAKE_BINARY_DIR}/glad")
file(MAKE_DIRECTORY "${glad_dir}/include")
add_custom_command(
    OUTPUT "${glad_dir}/src/gl.c" "${glad_dir}/include/glad/gl.h" "${glad_dir}/include/KHR/khrplatform.h"
    COMMAND "${GLAD_PROGRAM}" --quiet --reproducible --api gl:core=3.3 --extensions GL_KHR_debug
            --out-path "${glad_dir}" c --mx
    COMMENT "Writing the OpenGL loader"
    VERBATIM)
add_library(marey-glad STATIC "${glad_dir}/src/gl.c")
target_include_directories(marey-glad SYSTEM PUBLIC "${glad_dir}/include")
