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
