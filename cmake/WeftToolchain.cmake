# The language, the warnings, the sanitizers and the libraries: everything that holds for all targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

set(WEFT_SANITIZE "" CACHE STRING "Sanitizers to compile with, as -fsanitize takes them")
option(WEFT_FUZZ "The fuzz targets; WEFT_SANITIZE then has fuzzer-no-link" OFF)
option(WEFT_THREAD_SAFETY "Clang's thread-safety analysis, as errors" OFF)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  # Precompiled headers defeat ccache without the sloppiness.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE_PROGRAM})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()

add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_compile_options(weft_flags INTERFACE -Wall -Wextra -Werror "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang's -Wconversion takes in the conversions between signed and unsigned and from integers to floats as well.
  target_compile_options(weft_flags INTERFACE -Wconversion -Wshadow)
endif()
if(WEFT_THREAD_SAFETY)
  target_compile_options(weft_flags INTERFACE -Wthread-safety -Wthread-safety-beta)
endif()
if(WEFT_SANITIZE)
  # Full debug information doubles the compile time of gRPC tests; line tables are enough for reports.
  target_compile_options(weft_flags INTERFACE -O1 -g1 -fno-omit-frame-pointer -fno-var-tracking
                         -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC's warnings that follow the flow are wrong about instrumented code; the other builds have them.
    target_compile_options(weft_flags INTERFACE -Wno-maybe-uninitialized -Wno-free-nonheap-object)
  endif()
  target_link_options(weft_flags INTERFACE -fsanitize=${WEFT_SANITIZE})
elseif(CMAKE_BUILD_TYPE STREQUAL "Release")
  # x86-64-v3: a product of 256x256 matrices takes a third of the baseline's time. The start-up check is common/cpu.h.
  target_compile_options(weft_flags INTERFACE -march=x86-64-v3)
  target_compile_definitions(weft_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Eigen3 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(yaml-cpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(benchmark CONFIG REQUIRED)
set(CURSES_NEED_WIDE ON)
set(CURSES_NEED_NCURSES ON)
find_package(Curses REQUIRED)
add_library(weft_curses INTERFACE)
target_include_directories(weft_curses SYSTEM INTERFACE ${CURSES_INCLUDE_DIRS})
target_link_libraries(weft_curses INTERFACE ${CURSES_LIBRARIES})
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI REQUIRED COMPONENTS CXX)
