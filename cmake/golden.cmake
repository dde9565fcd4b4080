# What the picture tests share (tests/golden/golden.h): every program of tests/golden links it.
add_library(marey-test-golden STATIC "${CMAKE_SOURCE_DIR}/tests/golden/golden.c")
target_include_directories(marey-test-golden PUBLIC "${CMAKE_SOURCE_DIR}/tests")
target_link_libraries(marey-test-golden PUBLIC marey-render PkgConfig::CMOCKA)

# Each stage by the reference compiler, which is stricter than most drivers.
find_program(GLSLANG_PROGRAM glslangValidator)
add_test(NAME shaders.valid COMMAND sh "${CMAKE_SOURCE_DIR}/tests/golden/shaders.sh" "$<TARGET_FILE:marey-embed>"
    "${CMAKE_SOURCE_DIR}/shaders" "${GLSLANG_PROGRAM}")
set_tests_properties(shaders.valid PROPERTIES SKIP_RETURN_CODE 77 LABELS golden)
