# What makes builds faster.

# CMake's -O3 takes five times as long as -O2 over a long kernel for the CPU device, which then is no faster.
set(GEMM_OPTIMIZATION -O2 CACHE STRING "Option of g++ that host code and kernels for the CPU device are optimized by")
set(CMAKE_CXX_FLAGS_RELEASE "${GEMM_OPTIMIZATION} -DNDEBUG")
set(GEMM_HOT -O3 CACHE STRING "The same option for what runs at every access of a kernel on the CPU device")

# Code that runs once and takes long to compile (options, JSON, tests).
set(GEMM_LIGHT $<$<CONFIG:Release>:-O0>)

# What such code includes, other people's headers, is read once for all of it: half of what it takes to compile.
# gemm_light(<target> [FROM <other>]): compiled that way, with the headers that were made ready for the target <other>.
function(gemm_light target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FROM" "")
  target_compile_options(${target} PRIVATE ${GEMM_WARNINGS} -Wpedantic ${GEMM_LIGHT})
  if(arg_FROM)
    target_precompile_headers(${target} REUSE_FROM ${arg_FROM})
  endif()
endfunction()

# Files that are compiled several at a time, as one, share what they include and what they make of templates: half of what
# they take to compile. Who edits one of them waits longer, so that the preset dev turns it off; with nvcc, which takes most of
# a build's time, it is off, too.
set(together OFF)
if(GEMM_DEVICE STREQUAL "cpu")
  set(together ON)
endif()
option(GEMM_UNITY "Several files are compiled at a time" ${together})

# gemm_together(<target> <count>): compiled that way, that many of its files at a time.
function(gemm_together target count)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GEMM_UNITY} UNITY_BUILD_BATCH_SIZE ${count})
endfunction()

# ccache, where it is installed and can write its cache; CMAKE_CXX_COMPILER_LAUNCHER= turns it off. The folder that it
# caches in is that of now, whatever HOME is at a later build.
find_program(GEMM_CCACHE ccache)
if(GEMM_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  execute_process(COMMAND ${GEMM_CCACHE} --get-config cache_dir
    OUTPUT_VARIABLE folder OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  # Else it caches nothing that was compiled with a precompiled header.
  set(launcher env CCACHE_DIR=${folder} CCACHE_SLOPPINESS=pch_defines,time_macros ${GEMM_CCACHE})
  set(file ${PROJECT_BINARY_DIR}/generated/ccache.cpp)
  file(WRITE ${file} "int answer() { return 42; }\n")
  execute_process(COMMAND ${launcher} ${CMAKE_CXX_COMPILER} -o ${file}.o -c ${file}
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(folder AND status EQUAL 0)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    if(NOT DEFINED CMAKE_CUDA_COMPILER_LAUNCHER)
      set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
    endif()
  endif()
endif()
