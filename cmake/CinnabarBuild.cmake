# Compiler settings of every target of ours, and the two functions that add a module or a test.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

# A release build compiles the files of a target in groups: reading the headers is most of the work. Names of helpers therefore differ in
# all files of a folder (tools/check_names); a file that can't be grouped says SKIP_UNITY_BUILD_INCLUSION. Developers' builds compile file
# by file, so that an edit costs one file.
if(CMAKE_BUILD_TYPE STREQUAL Release)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
endif()

find_program(CINNABAR_CCACHE ccache)
if(CINNABAR_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers need these two relaxations (ccache manual, "Precompiled headers").
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CINNABAR_CCACHE})
endif()

foreach(linker mold lld)
  find_program(CINNABAR_LINKER_${linker} NAMES ld.${linker} ${linker})
  if(CINNABAR_LINKER_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

add_library(cinnabar_flags INTERFACE)
target_include_directories(cinnabar_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
# Warnings of GCC are errors for developers; a user may have a compiler that we never met.
target_compile_options(cinnabar_flags INTERFACE -Wall -Wextra -Wshadow -Wconversion $<$<AND:$<CONFIG:Dev>,$<CXX_COMPILER_ID:GNU>>:-Werror> -Wno-missing-field-initializers)
target_compile_definitions(cinnabar_flags INTERFACE CINNABAR_VERSION="${PROJECT_VERSION}" _GLIBCXX_ASSERTIONS)

# Global, so that the one precompiled header and all its users agree (GCC refuses it when -fPIC meets -fPIE; nothing here is a
# shared library, so everything is -fPIE and CMake's POSITION_INDEPENDENT_CODE stays unset).
add_compile_options(-fPIE -fstack-protector-strong $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
if(CINNABAR_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "CINNABAR_FUZZ needs clang: add -DCMAKE_CXX_COMPILER=clang++-19")
  endif()
  # Casts of numbers that do not fit are undefined, too, but not part of "undefined".
  set(CINNABAR_SANITIZE address,undefined,float-cast-overflow)
  add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-recover=all)
endif()
if(CINNABAR_SANITIZE)
  add_compile_options(-fsanitize=${CINNABAR_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CINNABAR_SANITIZE})
else()
  # Level 3 came with GCC 12; some distributions predefine a level, hence the -U.
  set(fortify_level 3)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    set(fortify_level 2)
  endif()
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=${fortify_level})
endif()
set(CMAKE_EXE_LINKER_FLAGS "${CMAKE_EXE_LINKER_FLAGS} -pie -Wl,-z,relro,-z,now")

# cinnabar_module(NAME [TORCH] [COLD] SOURCES ... LINK ...): static library cinnabar_NAME.
# COLD: nothing there runs long, so a release build spends less on its optimisation (a fifth of the compile time).
function(cinnabar_module name)
  cmake_parse_arguments(M "TORCH;COLD" "" "SOURCES;LINK" ${ARGN})
  if(M_TORCH AND CINNABAR_FUZZ)
    return()
  endif()
  add_library(cinnabar_${name} STATIC ${M_SOURCES})
  target_link_libraries(cinnabar_${name} PUBLIC cinnabar_flags ${M_LINK})
  if(M_COLD)
    target_compile_options(cinnabar_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(M_TORCH)
    cinnabar_use_torch(cinnabar_${name})
  elseif(CINNABAR_FUZZ AND name STREQUAL "base")
    # Sanitizers make these headers dear: read once for all modules.
    target_precompile_headers(cinnabar_base PRIVATE <filesystem> <map> <nlohmann/json.hpp> <string> ${CMAKE_SOURCE_DIR}/src/cinnabar/schema/toml_parser.h <vector>)
  elseif(CINNABAR_FUZZ AND NOT name STREQUAL "pictures")  # libvips brings flags of its own
    target_precompile_headers(cinnabar_${name} REUSE_FROM cinnabar_base)
  endif()
endfunction()

# cinnabar_registry(NAME [TORCH] LINK ...): every .cpp of this folder, as objects so that self-registration survives linking.
# A registry with torch code is compiled twice: cinnabar_NAME (engine) and cinnabar_NAME_entries (descriptions alone, no torch).
function(cinnabar_registry name)
  cmake_parse_arguments(M "TORCH" "" "LINK;ENTRIES_LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT (M_TORCH AND CINNABAR_FUZZ))
    add_library(cinnabar_${name} OBJECT ${sources})
    target_link_libraries(cinnabar_${name} PUBLIC cinnabar_flags ${M_LINK})
  endif()
  if(M_TORCH)
    if(NOT CINNABAR_FUZZ)
      target_compile_definitions(cinnabar_${name} PRIVATE CINNABAR_ENGINE)
      cinnabar_use_torch(cinnabar_${name})
    endif()
    add_library(cinnabar_${name}_entries OBJECT ${sources})
    target_link_libraries(cinnabar_${name}_entries PUBLIC cinnabar_flags ${M_ENTRIES_LINK})
  endif()
endfunction()

# cinnabar_test(NAME [TORCH] [LABEL fast|slow] SOURCES ... LINK ...): one doctest binary NAME_test, run by ctest.
function(cinnabar_test name)
  cmake_parse_arguments(T "TORCH" "LABEL" "SOURCES;LINK" ${ARGN})
  if(NOT T_LABEL)
    set(T_LABEL fast)
  endif()
  if(NOT TARGET cinnabar_test_main)  # doctest's own code, compiled once for all tests
    add_library(cinnabar_test_main OBJECT ${CMAKE_SOURCE_DIR}/tests/test_main.cpp)
    target_link_libraries(cinnabar_test_main PRIVATE cinnabar_flags doctest::doctest)
  endif()
  add_executable(${name}_test $<TARGET_OBJECTS:cinnabar_test_main> ${T_SOURCES})
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name}_test PRIVATE cinnabar_flags doctest::doctest ${T_LINK})
  target_compile_definitions(${name}_test PRIVATE CINNABAR_TESTS_DIR="${CMAKE_SOURCE_DIR}/tests"
                             CINNABAR_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  if(T_TORCH)
    cinnabar_use_torch(${name}_test)
  else()  # the precompiled header fixes the level of the others
    target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ${T_LABEL}
                       ENVIRONMENT "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/lsan.supp:print_suppressions=0;UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1")
endfunction()
