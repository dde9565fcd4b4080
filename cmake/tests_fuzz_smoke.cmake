# The fuzz harnesses without libFuzzer: replay of their inputs and a fixed number of seeded mutations, in every build.
#
#   marey_add_fuzz_smoke(NAME ROOM MUTATIONS PATH...)
function(marey_add_fuzz_smoke name room mutations)
    if(NOT TARGET marey-${room})
        return()
    endif()
    add_executable(${name}_replay "${CMAKE_SOURCE_DIR}/tests/fuzz/${name}.c" "${CMAKE_SOURCE_DIR}/tests/fuzz/replay.c")
    target_link_libraries(${name}_replay PRIVATE marey-${room})
    add_test(NAME fuzz_smoke.${name} COMMAND ${name}_replay ${ARGN} --mutations ${mutations} --seed 1)
    set_tests_properties(fuzz_smoke.${name} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

marey_add_fuzz_smoke(fuzz_chrome readers 20000 "${CMAKE_SOURCE_DIR}/tests/diff/readers/cases")
marey_add_fuzz_smoke(fuzz_documents parse 20000 "${CMAKE_SOURCE_DIR}/tests/fuzz/documents")
marey_add_fuzz_smoke(fuzz_graph_text readers 20000 "${CMAKE_SOURCE_DIR}/tests/fuzz/graphs_text")
marey_add_fuzz_smoke(fuzz_graph readers 20000 "${CMAKE_SOURCE_DIR}/tests/fuzz/graphs")
