# assets/categories.rules becomes part of the room `trace`, as bytes. Run as a script it writes the C file.
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${RULES}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
    file(WRITE "${OUT}" "#include \"trace/rules_builtin.h\"\n\nconst unsigned char rules_builtin[] = {\n${bytes}0};\nconst size_t rules_builtin_size = ${size};\n")
    return()
endif()

set(MAREY_RULES_C "${CMAKE_BINARY_DIR}/generated/rules_builtin.c")
add_custom_command(OUTPUT "${MAREY_RULES_C}"
    COMMAND "${CMAKE_COMMAND}" "-DRULES=${CMAKE_SOURCE_DIR}/assets/categories.rules" "-DOUT=${MAREY_RULES_C}"
            -P "${CMAKE_SOURCE_DIR}/cmake/rules.cmake"
    DEPENDS "${CMAKE_SOURCE_DIR}/assets/categories.rules" "${CMAKE_SOURCE_DIR}/cmake/rules.cmake"
    VERBATIM)
target_sources(marey-trace PRIVATE "${MAREY_RULES_C}")
