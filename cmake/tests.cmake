# What ctest runs. tests/README.md says what each kind is for.
foreach(kind unit property diff golden fault)
    marey_add_tests(${kind})
endforeach()
foreach(extra arch e2e fuzz_smoke)
    if(EXISTS "${CMAKE_SOURCE_DIR}/cmake/tests_${extra}.cmake")
        include(cmake/tests_${extra}.cmake)
    endif()
endforeach()
