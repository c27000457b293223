# After project(): whether the C++ compiler will do, and CUDA, where the device is cuda.
set(again "then type: CXX=g++ cmake --fresh --preset ${GEMM_DEVICE}")
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS 11)
  message(FATAL_ERROR "g++ 11 or newer is needed (every access of a kernel is traced through hooks that only g++ sets in full), "
    "and ${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}; install it (Debian and Ubuntu: "
    "apt-get install g++), ${again}")
endif()

if(GEMM_DEVICE STREQUAL "cuda")
  if(NOT GEMM_NVCC)
    message(FATAL_ERROR "GEMM_DEVICE=cuda needs nvcc, which was not found; install the CUDA toolkit or use GEMM_DEVICE=cpu.")
  endif()
  gemm_nvcc_refuses(refusal ${CMAKE_CXX_COMPILER})
  if(refusal)
    set(newest 11)
    if(refusal MATCHES "later than ([0-9]+)")
      set(newest ${CMAKE_MATCH_1})
    endif()
    message(FATAL_ERROR "nvcc does not take ${CMAKE_CXX_COMPILER} (${refusal}); install an older g++ (Debian and Ubuntu: "
      "apt-get install g++-${newest}), then type: CXX=g++-${newest} cmake --fresh --preset cuda")
  endif()
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES native)  # the GPU of this machine; name others with -DCMAKE_CUDA_ARCHITECTURES=80;90
  endif()
  set(CMAKE_CUDA_COMPILER ${GEMM_NVCC})
  set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
  enable_language(CUDA)
  find_package(CUDAToolkit REQUIRED)
  if(CUDAToolkit_VERSION VERSION_LESS 12)
    message(FATAL_ERROR "CUDA 12 or newer is needed (64-bit cuBLAS calls), and this is CUDA ${CUDAToolkit_VERSION}.")
  endif()
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # which CMake before 3.26 does not know nvcc to have
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  set(CMAKE_CUDA_EXTENSIONS OFF)
endif()
