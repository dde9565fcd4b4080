# Compiler settings that every target shares, as one interface target.
option(MAREY_WERROR "Treat warnings as errors" OFF)
set(MAREY_SANITIZE "" CACHE STRING "Sanitizers, as for -fsanitize=")
option(MAREY_COVERAGE "Instrument for coverage" OFF)

add_library(marey-flags INTERFACE)
target_compile_definitions(marey-flags INTERFACE _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_compile_options(marey-flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
    -Wundef -Wformat=2 -Wcast-qual -Wdouble-promotion -fvisibility=hidden -ffp-contract=off -fno-math-errno)
if(MAREY_WERROR)
    target_compile_options(marey-flags INTERFACE -Werror)
endif()
if(MAREY_SANITIZE)
    target_compile_options(marey-flags INTERFACE -fsanitize=${MAREY_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(marey-flags INTERFACE -fsanitize=${MAREY_SANITIZE})
endif()
if(MAREY_COVERAGE)
    target_compile_options(marey-flags INTERFACE --coverage)
    target_link_options(marey-flags INTERFACE --coverage)
endif()
find_package(Threads REQUIRED)
target_link_libraries(marey-flags INTERFACE Threads::Threads m)
