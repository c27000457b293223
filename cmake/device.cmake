# Before project(). Settles GEMM_DEVICE: auto takes cuda where nvcc is there and a GPU answers, else cpu. For cuda, it also
# settles GEMM_NVCC, and CMAKE_CXX_COMPILER where nobody has: objects of two versions of g++ need not link, so nvcc's host
# compiler compiles the C++ as well. runner/core/doctor.py chooses in the same way, and passes what it chose.
if(NOT GEMM_DEVICE MATCHES "^(auto|cuda|cpu)$")
  message(FATAL_ERROR "GEMM_DEVICE must be auto, cuda or cpu, and is '${GEMM_DEVICE}'.")
endif()

if(NOT GEMM_DEVICE STREQUAL "cpu")
  find_program(GEMM_NVCC NAMES ${CMAKE_CUDA_COMPILER} $ENV{CUDACXX} nvcc
    PATHS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)
endif()

if(GEMM_DEVICE STREQUAL "auto")
  find_program(GEMM_NVIDIA_SMI nvidia-smi PATHS /usr/lib/wsl/lib)
  set(gpus "")
  if(GEMM_NVIDIA_SMI)
    execute_process(COMMAND ${GEMM_NVIDIA_SMI} -L OUTPUT_VARIABLE gpus ERROR_QUIET)
  endif()
  if(GEMM_NVCC AND gpus MATCHES "GPU [0-9]+:")
    set(GEMM_DEVICE cuda)
  else()
    set(GEMM_DEVICE cpu)
  endif()
  message(STATUS "GEMM_DEVICE=auto: using ${GEMM_DEVICE}")
endif()

# What nvcc says against a host compiler: empty, or its first error.
function(gemm_nvcc_refuses out compiler)
  execute_process(COMMAND ${GEMM_NVCC} -ccbin ${compiler} -E -x cu /dev/null
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
  set(${out} "" PARENT_SCOPE)
  if(NOT status EQUAL 0)
    string(REGEX MATCH "error[^\n]*|[^\n]+" said "${said}")
    set(${out} "${said}" PARENT_SCOPE)
  endif()
endfunction()

if(GEMM_DEVICE STREQUAL "cuda" AND GEMM_NVCC AND NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
  # The one that NVCC_CCBIN, nvcc.profile or its flags name; it is gcc where they name none.
  execute_process(COMMAND ${GEMM_NVCC} --dryrun -E -x cu /dev/null OUTPUT_VARIABLE commands ERROR_VARIABLE commands)
  set(own "")
  if(commands MATCHES "#\\$ ([^\n=]+) -D__CUDA")
    string(REPLACE "\"" "" own "${CMAKE_MATCH_1}")
    string(REGEX REPLACE "gcc(-?[0-9.]*)$" "g++\\1" own "${own}")
  endif()
  foreach(name IN ITEMS ${own} g++ g++-16 g++-15 g++-14 g++-13 g++-12 g++-11)
    find_program(found ${name} NO_CACHE)
    if(found)
      gemm_nvcc_refuses(refusal ${found})
      if(NOT refusal)
        set(CMAKE_CXX_COMPILER ${found} CACHE FILEPATH "The C++ compiler, which nvcc takes, too")
        break()
      endif()
    endif()
    unset(found)
  endforeach()
endif()
