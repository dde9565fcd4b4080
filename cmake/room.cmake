# One declaration per room: which rooms it may include, and what it links from outside.
#
#   marey_add_room(NAME DEPS room... LIBS target... [EXCLUDE regex])
#
# The rooms are the folders of src/. A room's library links only its DEPS, so a forbidden call fails to link; the
# same table goes to build/rooms.txt, where tests/arch reads it and checks every #include line against it.
# `base` is a dependency of every room.

set(MAREY_ROOMS_FILE "${CMAKE_BINARY_DIR}/rooms.txt")
file(WRITE "${MAREY_ROOMS_FILE}" "")

function(marey_add_room name)
    cmake_parse_arguments(ROOM "" "" "DEPS;LIBS;EXCLUDE" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${name}/*.c")
    list(FILTER sources EXCLUDE REGEX "/main\\.c$")
    if(ROOM_EXCLUDE)
        list(FILTER sources EXCLUDE REGEX "${ROOM_EXCLUDE}")
    endif()
    add_library(marey-${name} STATIC ${sources})
    target_include_directories(marey-${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(marey-${name} PUBLIC marey-flags)
    if(NOT name STREQUAL "base")
        target_link_libraries(marey-${name} PUBLIC marey-base)
    endif()
    foreach(dep IN LISTS ROOM_DEPS)
        target_link_libraries(marey-${name} PUBLIC marey-${dep})
    endforeach()
    target_link_libraries(marey-${name} PUBLIC ${ROOM_LIBS})
    string(REPLACE ";" " " deps "${ROOM_DEPS}")
    file(APPEND "${MAREY_ROOMS_FILE}" "${name}: ${deps}\n")
endfunction()

# Every tests/<kind>/<room>/test_*.c becomes one test program that links that room and what it depends on.
function(marey_add_tests kind)
    file(GLOB dirs CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/${kind}/*")
    foreach(dir IN LISTS dirs)
        get_filename_component(room "${dir}" NAME)
        if(NOT IS_DIRECTORY "${dir}" OR NOT TARGET marey-${room})
            continue()
        endif()
        file(GLOB sources CONFIGURE_DEPENDS "${dir}/test_*.c")
        file(GLOB helpers CONFIGURE_DEPENDS "${dir}/help_*.c")
        foreach(source IN LISTS sources)
            get_filename_component(stem "${source}" NAME_WE)
            set(test ${kind}.${room}.${stem})
            add_executable(${test} "${source}" ${helpers})
            target_link_libraries(${test} PRIVATE marey-${room} PkgConfig::CMOCKA)
            target_include_directories(${test} PRIVATE "${CMAKE_SOURCE_DIR}/tests")
            if(TARGET marey-test-${kind})
                target_link_libraries(${test} PRIVATE marey-test-${kind})
            endif()
            add_test(NAME ${test} COMMAND ${test})
            set_tests_properties(${test} PROPERTIES SKIP_RETURN_CODE 77 LABELS ${kind} TIMEOUT 300
                ENVIRONMENT "MAREY_SOURCE_DIR=${CMAKE_SOURCE_DIR};MAREY_BINARY_DIR=${CMAKE_BINARY_DIR};MAREY_PROGRAM=$<TARGET_FILE_DIR:${test}>/marey")
        endforeach()
    endforeach()
endfunction()
