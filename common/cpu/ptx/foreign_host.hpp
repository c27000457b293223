// What host code of CUDA sources calls and this course does not (CUDA Runtime API reference). What only tunes
// does nothing; cuBLAS is there by name, so that a function that also compares with it compiles, and ends the
// launch where it is called.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <map>

#include "common/cpu/ptx/shared_numbers.hpp"

using cudaError = cudaError_t;
constexpr auto cudaErrorLaunchFailure = static_cast<cudaError_t>(719),
               cudaErrorUnknown = static_cast<cudaError_t>(999),
               cudaErrorInvalidDevicePointer = static_cast<cudaError_t>(17),
               cudaErrorInitializationError = static_cast<cudaError_t>(3),
               cudaErrorLaunchOutOfResources = static_cast<cudaError_t>(701),
               cudaErrorIllegalAddress = static_cast<cudaError_t>(700);

// A kernel by its address, with pointers to its arguments. common/cpu/foreign.py takes away the cast to void*
// that hides their types.
namespace cpu_device {
template <class... P>
cudaError_t launch_with(void (*kernel)(P...), dim3 grid, dim3 block, std::size_t bytes, cudaStream_t stream,
                        const LaunchAttributes& attributes, void** arguments) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return launcher(kernel_name(reinterpret_cast<const void*>(kernel)), kernel, grid, block, bytes,
                        stream)
            .with(attributes)
            .status_of(*static_cast<std::remove_reference_t<P>*>(arguments[I])...);
    }
    (std::index_sequence_for<P...>{});
}

/// A kernel of which the host has the address alone, and how to launch it.
struct ByAddress {
    cudaError_t (*launch)(const void* kernel, dim3 grid, dim3 block, std::size_t bytes, cudaStream_t stream,
                          const LaunchAttributes& attributes, void** arguments);
};
inline std::map<const void*, ByAddress>& kernels_by_address() {
    static std::map<const void*, ByAddress> all;
    return all;
}
template <class... P>
void* address_of(void (*kernel)(P...)) {
    void* const address = reinterpret_cast<void*>(kernel);
    kernels_by_address()[address] = {[](const void* known, dim3 grid, dim3 block, std::size_t bytes,
                                        cudaStream_t stream, const LaunchAttributes& attributes,
                                        void** arguments) {
        return launch_with(reinterpret_cast<void (*)(P...)>(const_cast<void*>(known)), grid, block, bytes,
                           stream, attributes, arguments);
    }};
    return address;
}
/// What a cast to void* of anything else gives.
template <class T>
requires(!(std::is_function_v<T> ||
           (std::is_pointer_v<T> && std::is_function_v<std::remove_pointer_t<T>>))) __forceinline__
    void* address_of(const T& value) {
    return (void*)value;
}
inline cudaError_t launch_with(const void* kernel, dim3 grid, dim3 block, std::size_t bytes,
                               cudaStream_t stream, const LaunchAttributes& attributes, void** arguments) {
    const auto known = kernels_by_address().find(kernel);
    if (known == kernels_by_address().end()) return cudaErrorInvalidDeviceFunction;
    return known->second.launch(kernel, grid, block, bytes, stream, attributes, arguments);
}
}  // namespace cpu_device
inline cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                    std::size_t bytes = 0, cudaStream_t stream = nullptr) {
    return ::cpu_device::launch_with(kernel, grid, block, bytes, stream, {}, arguments);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                               std::size_t bytes = 0, cudaStream_t stream = nullptr) {
    return ::cpu_device::launch_with(kernel, grid, block, bytes, stream, {dim3(), true}, arguments);
}
inline cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                       void** arguments) {
    return ::cpu_device::launch_with(kernel, config->config_gridDim, config->config_blockDim,
                                     config->dynamicSmemBytes, config->stream,
                                     ::cpu_device::attributes_of(*config), arguments);
}
template <class... P>
cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                             std::size_t bytes = 0, cudaStream_t stream = nullptr) {
    return ::cpu_device::launch_with(kernel, grid, block, bytes, stream, {}, arguments);
}
template <class... P>
cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void** arguments,
                                        std::size_t bytes = 0, cudaStream_t stream = nullptr) {
    return ::cpu_device::launch_with(kernel, grid, block, bytes, stream, {dim3(), true}, arguments);
}
template <class... P>
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, void (*kernel)(P...), void** arguments) {
    return ::cpu_device::launch_with(kernel, config->config_gridDim, config->config_blockDim,
                                     config->dynamicSmemBytes, config->stream,
                                     ::cpu_device::attributes_of(*config), arguments);
}

// A kernel that may begin while the one in front of it ends begins behind it here. (The union's name for that
// is another int of it.)
constexpr auto cudaLaunchAttributeProgrammaticStreamSerialization = static_cast<cudaLaunchAttributeID>(6);
#define programmaticStreamSerializationAllowed cooperative

enum cudaSharedMemConfig {
    cudaSharedMemBankSizeDefault,
    cudaSharedMemBankSizeFourByte,
    cudaSharedMemBankSizeEightByte
};
enum cudaLimit {
    cudaLimitStackSize,
    cudaLimitPrintfFifoSize,
    cudaLimitMallocHeapSize,
    cudaLimitPersistingL2CacheSize = 6
};
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
    return cudaSuccess;
}
template <class F>
cudaError_t cudaFuncSetSharedMemConfig(F*, cudaSharedMemConfig) {
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
    return cudaSuccess;
}
inline cudaError_t cudaProfilerStart() {
    return cudaSuccess;
}
inline cudaError_t cudaProfilerStop() {
    return cudaSuccess;
}
inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t = nullptr) {
    return cudaSuccess;
}
inline cudaError_t cudaThreadSynchronize() {
    return cudaDeviceSynchronize();
}
inline cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = *greatest = 0;
    return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
    *pitch = (width + 511) / 512 * 512;
    return cudaMalloc(pointer, *pitch * height);
}
inline CUresult cuInit(unsigned) {
    return CUDA_SUCCESS;
}
inline CUresult cuGetErrorString(CUresult result, const char** text) {
    *text = result == CUDA_SUCCESS ? "no error" : "an error of the driver";
    return CUDA_SUCCESS;
}
inline CUresult cuGetErrorName(CUresult result, const char** text) {
    return cuGetErrorString(result, text);
}

namespace cpu_device {
/// What tensor_map() gives: a kernel may take it by value, and a launcher by its address.
struct TensorMap {
    CUtensorMap* map;
    operator const CUtensorMap*() const { return map; }
    operator const CUtensorMap&() const { return *map; }
};
/// For --call: a map of a matrix, and of a box of it, in elements. pitch: from a row to the next; 0: no
/// padding. Ends the launch where the driver would refuse it.
template <class Element>
TensorMap tensor_map(Element* matrix, int rows, int columns, int box_rows, int box_columns,
                     int swizzle_bytes = 128, long long pitch = 0) {
    static_assert(sizeof(Element) == 4 || sizeof(Element) == 2);
    const auto type = sizeof(Element) == 4                     ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                      : std::is_same_v<Element, __nv_bfloat16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                               : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    if (swizzle_bytes != 0 && swizzle_bytes != 32 && swizzle_bytes != 64 && swizzle_bytes != 128)
        trap({"tensor_map() takes a swizzle of 0, 32, 64 or 128 bytes", "--call", 1});
    const auto swizzle = swizzle_bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                         : swizzle_bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                         : swizzle_bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                               : CU_TENSOR_MAP_SWIZZLE_NONE;
    const cuuint64_t sizes[] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[] = {(pitch == 0 ? sizes[0] : static_cast<cuuint64_t>(pitch)) * sizeof(Element)};
    const cuuint32_t box[] = {static_cast<cuuint32_t>(box_columns), static_cast<cuuint32_t>(box_rows)},
                     steps[] = {1, 1};
    static CUtensorMap maps[16];  // as many as a call has at most
    static unsigned made = 0;
    CUtensorMap& map = maps[made++ % 16];
    if (cuTensorMapEncodeTiled(&map, type, 2, matrix, sizes, strides, box, steps,
                               CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        trap({tensor_map_refusal(), "--call", 1});
    return {&map};
}
}  // namespace cpu_device

enum cudaDataType_t {
    CUDA_R_32F = 0,
    CUDA_R_64F = 1,
    CUDA_R_16F = 2,
    CUDA_R_8I = 3,
    CUDA_R_32I = 10,
    CUDA_R_16BF = 14,
    CUDA_R_8F_E4M3 = 28,
    CUDA_R_8F_E5M2 = 29,
};
using cudaDataType = cudaDataType_t;
using cublasHandle_t = struct cublasContext*;
using cublasLtHandle_t = struct cublasLtContext*;
enum cublasStatus_t {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C };
enum cublasMath_t {
    CUBLAS_DEFAULT_MATH,
    CUBLAS_TENSOR_OP_MATH,
    CUBLAS_PEDANTIC_MATH,
    CUBLAS_TF32_TENSOR_OP_MATH
};
enum cublasGemmAlgo_t {
    CUBLAS_GEMM_DEFAULT = -1,
    CUBLAS_GEMM_DFALT = -1,
    CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99
};
enum cublasComputeType_t {
    CUBLAS_COMPUTE_16F = 64,
    CUBLAS_COMPUTE_32F = 68,
    CUBLAS_COMPUTE_32F_FAST_16F = 74,
    CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
    CUBLAS_COMPUTE_32I = 72,
};
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
    *handle = nullptr;
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t, cudaStream_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
    return CUBLAS_STATUS_SUCCESS;
}
inline const char* cublasGetStatusString(cublasStatus_t status) {
    return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "an error of cuBLAS";
}
inline const char* cublasGetStatusName(cublasStatus_t status) {
    return cublasGetStatusString(status);
}
#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasSetStream_v2 cublasSetStream
#define CPU_DEVICE_CUBLAS(name)            \
    template <class... A>                  \
    cublasStatus_t name(A&&...) {          \
        ::cpu_device::unknown_call(#name); \
    }
CPU_DEVICE_CUBLAS(cublasSgemm)
CPU_DEVICE_CUBLAS(cublasHgemm)
CPU_DEVICE_CUBLAS(cublasDgemm)
CPU_DEVICE_CUBLAS(cublasGemmEx)
CPU_DEVICE_CUBLAS(cublasSgemmEx)
CPU_DEVICE_CUBLAS(cublasGemmStridedBatchedEx)
CPU_DEVICE_CUBLAS(cublasSgemmStridedBatched)
#undef CPU_DEVICE_CUBLAS

// <math_constants.h>
#define CUDART_INF_F __builtin_inff()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_MAX_NORMAL_F 3.402823466e38f
#define CUDART_PI_F 3.141592654f
#define CUDART_INF __builtin_inf()
