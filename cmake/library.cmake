# What is installed beside the program: headers, two libraries, CMake package, pkg-config files, documents.
#
# A library is one archive with one object: all rooms linked into each other, and every name that is not in
# include/marey made local, so that a program meets no name of ours but marey_*. marey-view holds all of marey-data.
include(GNUInstallDirs)
find_program(OBJCOPY_PROGRAM NAMES "${CMAKE_OBJCOPY}" objcopy REQUIRED)

marey_add_room(api DEPS trace graph store convert)
target_include_directories(marey-api PUBLIC "${CMAKE_SOURCE_DIR}/include")
target_compile_definitions(marey-api PRIVATE MAREY_PROGRAM_VERSION="${PROJECT_VERSION}")
set(MAREY_DATA_ROOMS base trace graph parse readers lod store diagnose convert api)
if(MAREY_VIEWER)
    marey_add_room(api_view DEPS api app)
    target_include_directories(marey-api_view PUBLIC "${CMAKE_SOURCE_DIR}/include")
    target_compile_options(marey-glad PRIVATE -fvisibility=hidden)
    target_compile_options(marey-shaders PRIVATE -fvisibility=hidden)
    set(MAREY_VIEW_ROOMS ${MAREY_DATA_ROOMS} synth cache draw text gpu glad shaders render scene ui app api_view)
endif()

function(marey_add_library name)
    set(objects "")
    foreach(room IN LISTS ARGN)
        list(APPEND objects "$<TARGET_OBJECTS:marey-${room}>")
    endforeach()
    set(one "${CMAKE_BINARY_DIR}/${name}.o")
    add_custom_command(
        OUTPUT "${one}"
        COMMAND "${CMAKE_LINKER}" -r -o "${one}" ${objects}
        COMMAND "${OBJCOPY_PROGRAM}" --localize-hidden "${one}"
        DEPENDS ${objects}
        COMMENT "Joining ${name}"
        COMMAND_EXPAND_LISTS
        VERBATIM)
    add_library(lib${name} STATIC "${one}")
    set_target_properties(lib${name} PROPERTIES OUTPUT_NAME "${name}" LINKER_LANGUAGE C
        ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
    install(TARGETS lib${name} ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# The packages that a program links with a static library, as pkg-config calls them.
set(MAREY_DATA_PACKAGES hdf5-serial libdeflate zlib libzstd libzip sqlite3)
if(ISAL_FOUND)
    list(APPEND MAREY_DATA_PACKAGES libisal)
endif()
set(MAREY_VIEW_PACKAGES ${MAREY_DATA_PACKAGES} freetype2 harfbuzz fontconfig libpng egl glfw3)

function(marey_install_package name description)
    string(REPLACE ";" " " packages "${ARGN}")
    set(folder "${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    file(RELATIVE_PATH up "${folder}" "${CMAKE_INSTALL_PREFIX}") # wherever the tree is put
    file(WRITE "${CMAKE_BINARY_DIR}/${name}.pc"
        "prefix=\${pcfiledir}/${up}\nlibdir=\${prefix}/${CMAKE_INSTALL_LIBDIR}\nincludedir=\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\n\n"
        "Name: ${name}\nDescription: ${description}\nVersion: ${PROJECT_VERSION}\nRequires: ${packages}\n"
        "Libs: -L\${libdir} -l${name} -pthread -lm -ldl\nCflags: -I\${includedir}\n")
    install(FILES "${CMAKE_BINARY_DIR}/${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

marey_add_library(marey-data ${MAREY_DATA_ROOMS})
marey_install_package(marey-data "Traces of training runs: conversion and exact sums" ${MAREY_DATA_PACKAGES})
if(MAREY_VIEWER)
    marey_add_library(marey-view ${MAREY_VIEW_ROOMS})
    marey_install_package(marey-view "Traces of training runs: the same, and pictures" ${MAREY_VIEW_PACKAGES})
endif()
file(RELATIVE_PATH MAREY_CONFIG_UP "${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/cmake/marey" "${CMAKE_INSTALL_PREFIX}")
configure_file("${CMAKE_SOURCE_DIR}/cmake/marey-config.cmake.in" "${CMAKE_BINARY_DIR}/marey-config.cmake" @ONLY)
include(CMakePackageConfigHelpers)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/marey-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/marey-config.cmake" "${CMAKE_BINARY_DIR}/marey-config-version.cmake"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/marey")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/marey" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES "${CMAKE_SOURCE_DIR}/README.md" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs/" DESTINATION "${CMAKE_INSTALL_DOCDIR}/docs")
install(FILES "${CMAKE_SOURCE_DIR}/assets/categories.rules" DESTINATION "${CMAKE_INSTALL_DATADIR}/marey")
