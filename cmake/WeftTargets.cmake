# weft_library(NAME SRCS a.cc … DEPS target …): a static library with the project's flags.
function(weft_library name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  if(arg_SRCS)
    add_library(${name} STATIC ${arg_SRCS})
    target_link_libraries(${name} PRIVATE weft_flags PUBLIC ${arg_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

# What `make` builds: every weft_binary, and neither tests nor benchmarks.
add_custom_target(programs)

# weft_binary(NAME SRCS a.cc … DEPS target …): an executable in build/<preset>/bin.
function(weft_binary name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE weft_flags ${arg_DEPS})
  add_dependencies(programs ${name})
endfunction()

# What the sanitizers' builds need: every weft_test with the label 'unit'.
add_custom_target(unit_tests)

# weft_test(NAME SRCS a.cc … DEPS target … [LABELS label …] [TIMEOUT seconds]): a GoogleTest program, one CTest entry.
# Labels: 'unit' (the default) runs under the sanitizers too; 'integration' starts processes and runs in release only.
function(weft_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SRCS})
  if(unit IN_LIST arg_LABELS)
    add_dependencies(unit_tests ${name})
  endif()
  target_link_libraries(${name} PRIVATE weft_flags ${arg_DEPS} GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "ASAN_OPTIONS=fast_unwind_on_malloc=0;LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/lsan.supp;TSAN_OPTIONS=ignore_noninstrumented_modules=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# weft_benchmark(NAME SRCS a.cc … DEPS target …): a Google Benchmark program in build/<preset>/bin; built, never run, by tests.
function(weft_benchmark name)
  cmake_parse_arguments(arg "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${arg_SRCS})
  target_link_libraries(${name} PRIVATE weft_flags ${arg_DEPS} benchmark::benchmark)
endfunction()
