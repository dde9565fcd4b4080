# assets/categories.rules becomes part of the room `trace`: as bytes, and as the table that they are read into. Run as a
# script it writes the C file of the bytes.
if(CMAKE_SCRIPT_MODE_FILE)
    file(READ "${RULES}" hex HEX)
    string(LENGTH "${hex}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
    file(WRITE "${OUT}" "#include \"trace/rules_builtin.h\"\n\nconst unsigned char rules_builtin[] = {\n${bytes}0};\nconst size_t rules_builtin_size = ${size};\n")
    return()
endif()

set(MAREY_RULES "${CMAKE_SOURCE_DIR}/assets/categories.rules")
set(MAREY_RULES_C "${CMAKE_BINARY_DIR}/generated/rules_builtin.c")
set(MAREY_RULES_TABLE_C "${CMAKE_BINARY_DIR}/generated/rules_table.c")
add_executable(marey-rules "${CMAKE_SOURCE_DIR}/tools/rules_table.c" "${CMAKE_SOURCE_DIR}/src/trace/rules_read.c"
    "${CMAKE_SOURCE_DIR}/src/trace/model.c")
target_include_directories(marey-rules PRIVATE "${CMAKE_SOURCE_DIR}/src")
target_link_libraries(marey-rules PRIVATE marey-base)
add_custom_command(OUTPUT "${MAREY_RULES_C}"
    COMMAND "${CMAKE_COMMAND}" "-DRULES=${MAREY_RULES}" "-DOUT=${MAREY_RULES_C}"
            -P "${CMAKE_SOURCE_DIR}/cmake/rules.cmake"
    DEPENDS "${MAREY_RULES}" "${CMAKE_SOURCE_DIR}/cmake/rules.cmake"
    VERBATIM)
add_custom_command(OUTPUT "${MAREY_RULES_TABLE_C}"
    COMMAND marey-rules "${MAREY_RULES_TABLE_C}" "${MAREY_RULES}"
    DEPENDS marey-rules "${MAREY_RULES}"
    VERBATIM)
target_sources(marey-trace PRIVATE "${MAREY_RULES_C}" "${MAREY_RULES_TABLE_C}")
