# The converter as a program: exact totals on real files; bounded memory, interrupts, no room.
set(python "${MAREY_PYTHON}")
if(NOT python)
    set(python /usr/bin/python3)
endif()
add_test(NAME diff.convert.lanes COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/diff/convert/lanes.py" $<TARGET_FILE:marey>
         "${CMAKE_SOURCE_DIR}")
add_test(NAME diff.convert.hard COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/diff/convert/hard.py" $<TARGET_FILE:marey>
         "${CMAKE_SOURCE_DIR}")
set_tests_properties(diff.convert.lanes diff.convert.hard PROPERTIES LABELS diff SKIP_RETURN_CODE 77 TIMEOUT 600)

# Real graphs, counted apart from our own code.
add_test(NAME diff.readers.graph_counts COMMAND ${python} "${CMAKE_SOURCE_DIR}/tests/diff/readers/graph_counts.py"
         $<TARGET_FILE:marey> "${CMAKE_SOURCE_DIR}/../shared")
set_tests_properties(diff.readers.graph_counts PROPERTIES LABELS diff SKIP_RETURN_CODE 77 TIMEOUT 300)
