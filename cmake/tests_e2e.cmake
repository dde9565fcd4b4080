# The built program, as a user meets it: the command line, the window on a display of its own.
if(NOT MAREY_PYTHON)
    set(MAREY_PYTHON /usr/bin/python3)
endif()
add_test(NAME e2e.cli COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/cli.py $<TARGET_FILE:marey> ${MAREY_VIEWER})
set_tests_properties(e2e.cli PROPERTIES LABELS e2e TIMEOUT 600)
if(MAREY_VIEWER)
    add_test(NAME e2e.keys_page COMMAND sh -c
        "$<TARGET_FILE:marey> help keys --markdown | diff - ${CMAKE_SOURCE_DIR}/docs/keys.md")
    add_test(NAME e2e.window COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/window.py $<TARGET_FILE:marey>)
    set_tests_properties(e2e.keys_page PROPERTIES LABELS e2e)
    # One processor-hungry window at a time, or its pictures take too long under the software renderer.
    set_tests_properties(e2e.window PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
        ENVIRONMENT "LIBGL_ALWAYS_SOFTWARE=1")
endif()

# Damaged and odd inputs (tools/make_hostile): converted with their losses counted, or refused with one sentence.
add_test(NAME e2e.bad_input COMMAND sh ${CMAKE_SOURCE_DIR}/tests/e2e/bad_input.sh $<TARGET_FILE:marey> ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.bad_input PROPERTIES LABELS e2e TIMEOUT 900)

# The simulator: both outputs say the same, and what was injected is told.
add_test(NAME e2e.synth COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/synth.py $<TARGET_FILE:marey>)
set_tests_properties(e2e.synth PROPERTIES LABELS e2e TIMEOUT 300)

# The diagnosis: faults of simulated runs are found (the reduced set); the report on hand-made and damaged runs.
add_test(NAME e2e.diagnose COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/bench/bench_diagnose.py $<TARGET_FILE:marey> --small)
add_test(NAME e2e.report COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/report.py $<TARGET_FILE:marey> ${CMAKE_SOURCE_DIR})
set_tests_properties(e2e.diagnose e2e.report PROPERTIES LABELS e2e TIMEOUT 600)

# A real Marey data set, span by span, through h5py.
add_test(NAME e2e.marey_resnet COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/marey_resnet.py $<TARGET_FILE:marey>
         ${CMAKE_SOURCE_DIR}/../shared)
set_tests_properties(e2e.marey_resnet PROPERTIES LABELS e2e SKIP_RETURN_CODE 77)

if(MAREY_VIEWER)
    add_test(NAME e2e.window_graph COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/window_graph.py $<TARGET_FILE:marey>)
    set_tests_properties(e2e.window_graph PROPERTIES LABELS e2e TIMEOUT 300 SKIP_RETURN_CODE 77 RUN_SERIAL TRUE
        ENVIRONMENT "LIBGL_ALWAYS_SOFTWARE=1")
endif()

# What is installed, from a program outside of marey.
if(TARGET libmarey-data)
    add_test(NAME e2e.install COMMAND ${MAREY_PYTHON} ${CMAKE_SOURCE_DIR}/tests/e2e/install.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}
        ${CMAKE_COMMAND} ${MAREY_VIEWER})
    set_tests_properties(e2e.install PROPERTIES LABELS e2e TIMEOUT 600 SKIP_RETURN_CODE 77 ENVIRONMENT "LIBGL_ALWAYS_SOFTWARE=1")
endif()
