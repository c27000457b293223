// Stand-in for the toolkit's <cuda_runtime_api.h>: the host functions of the CUDA runtime that the lessons,
// their harness and a learner's launch() use (CUDA Runtime API reference). Names, values and error codes are
// CUDA's.
//
// Work is done when it is asked for, in that order, so that streams order nothing that is not ordered
// already, and an event has come to pass when it is recorded.
#pragma once

#include <cstddef>

struct uint3;  // cuda_runtime.h has it, and what makes a dim3 of it
struct dim3 {
    unsigned int x, y, z;
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
    constexpr dim3(const uint3& v);
};

// ---- errors ----
enum cudaError_t {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9,
    cudaErrorInvalidPitchValue = 12,
    cudaErrorInvalidSymbol = 13,
    cudaErrorInvalidMemcpyDirection = 21,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorCooperativeLaunchTooLarge = 720,
    cudaErrorNotSupported = 801,
    cudaErrorInvalidClusterSize = 912,
};
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();  // and clears it
cudaError_t cudaPeekAtLastError();

// ---- device ----
struct cudaDeviceProp {
    char name[256];
    std::size_t totalGlobalMem;
    std::size_t sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor;
    int major, minor;
    int multiProcessorCount;  // of a GPU that the limits are those of, whatever the host has
    int warpSize;
    int maxThreadsPerBlock, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor;
    int maxThreadsDim[3], maxGridSize[3];
    int cooperativeLaunch;  // 1
    // What sources print, and the CPU device does not have: 0.
    int l2CacheSize, clockRate, memoryClockRate, memoryBusWidth, regsPerBlock, regsPerMultiprocessor;
    int concurrentKernels, asyncEngineCount, integrated, ECCEnabled, pciBusID, pciDeviceID;
    std::size_t totalConstMem;
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxBlockDimY = 3,
    cudaDevAttrMaxBlockDimZ = 4,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxGridDimY = 6,
    cudaDevAttrMaxGridDimZ = 7,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrTotalConstantMemory = 9,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrMaxRegistersPerBlock = 12,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrConcurrentKernels = 31,
    cudaDevAttrEccEnabled = 32,
    cudaDevAttrPciBusId = 33,
    cudaDevAttrPciDeviceId = 34,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111,
};
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();  // which frees nothing
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);

// ---- streams and events ----
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
#define cudaStreamLegacy (reinterpret_cast<cudaStream_t>(0x1))
#define cudaStreamPerThread (reinterpret_cast<cudaStream_t>(0x2))
constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2;
constexpr unsigned cudaEventRecordDefault = 0, cudaEventWaitDefault = 0;
cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned flags = cudaEventWaitDefault);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
inline cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned flags) {
    return cudaEventCreateWithFlags(event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// cudaErrorNotSupported between two events that were recorded: the CPU device has no times that are a GPU's.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

// ---- memory ----
enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4,
};
cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream);
template <class T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <class T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
/// Memory of the host, and memory that the host may use as the device does.
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags);
constexpr unsigned cudaHostAllocDefault = 0, cudaMemAttachGlobal = 1;
template <class T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes, unsigned flags = cudaHostAllocDefault) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <class T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned flags) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
cudaError_t cudaFreeHost(void* pointer);
template <class T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned = cudaMemAttachGlobal) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height);
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int byte, std::size_t width,
                              std::size_t height, cudaStream_t stream = nullptr);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

// ---- variables of the device ----
namespace cpu_device {
/// The address of a variable of `bytes` bytes, or CUDA's error where it is no __device__ or __constant__ one.
cudaError_t symbol_address(void** address, const void* variable, std::size_t bytes);
cudaError_t copy_to_symbol(const void* variable, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t copy_from_symbol(void* to, const void* variable, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream);
}  // namespace cpu_device
template <class T>
cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
    return ::cpu_device::symbol_address(pointer, &symbol, sizeof(T));
}
template <class T>
cudaError_t cudaGetSymbolSize(std::size_t* bytes, const T& symbol) {
    void* address = nullptr;
    const cudaError_t status = ::cpu_device::symbol_address(&address, &symbol, sizeof(T));
    if (status == cudaSuccess) *bytes = sizeof(T);
    return status;
}
template <class T>
cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cpu_device::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, nullptr);
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* from, std::size_t bytes,
                                    std::size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
    return ::cpu_device::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, stream);
}
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                 cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cpu_device::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, nullptr);
}
template <class T>
cudaError_t cudaMemcpyFromSymbolAsync(void* to, const T& symbol, std::size_t bytes, std::size_t offset = 0,
                                      cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
    return ::cpu_device::copy_from_symbol(to, &symbol, sizeof(T), bytes, offset, kind, stream);
}

// ---- launches ----
enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
};
union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative;  // not 0: all blocks are resident at once, or the launch is refused
    struct {
        unsigned int x, y, z;
    } clusterDim;  // blocks
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    char pad[8 - sizeof(cudaLaunchAttributeID)];
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 config_gridDim,
        config_blockDim;  // gridDim and blockDim: translate.py says it so, for they are macros
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
    cudaLaunchAttribute* attrs = nullptr;
    unsigned int numAttrs = 0;
};

// ---- functions ----
struct cudaFuncAttributes {
    std::size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;  // always 0 here: only ptxas knows
    int maxDynamicSharedSizeBytes;
};
enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14,
};
enum cudaSharedCarveout {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxL1 = 0,
    cudaSharedmemCarveoutMaxShared = 100,
};
enum cudaFuncCache {
    cudaFuncCachePreferNone,
    cudaFuncCachePreferShared,
    cudaFuncCachePreferL1,
    cudaFuncCachePreferEqual,
};
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
/// How many blocks an SM of the GPU whose limits hold has room for, by threads, blocks and shared memory;
/// registers, which only ptxas knows, may leave room for fewer.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t dynamic_shared_bytes);
/// How many clusters of a launch the GPU whose limits hold has room for at once, as far as its SMs can be
/// shared out without a remainder: how many of them lie together in a GPC only a GPU knows.
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config);
template <class... P>
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, void (*function)(P...),
                                           const cudaLaunchConfig_t* config) {
    return cudaOccupancyMaxActiveClusters(clusters, reinterpret_cast<const void*>(function), config);
}
template <class... P>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*function)(P...)) {
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <class... P>
cudaError_t cudaFuncSetAttribute(void (*function)(P...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <class... P>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*function)(P...), int threads,
                                                          std::size_t dynamic_shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function),
                                                         threads, dynamic_shared_bytes);
}
/// A hint, here as on a GPU.
template <class F>
cudaError_t cudaFuncSetCacheConfig(F*, cudaFuncCache) {
    return cudaSuccess;
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
    return cudaSuccess;
}
/// The block with which most threads are resident on an SM, and how many blocks fill the GPU, as far as
/// threads, blocks and shared memory decide; registers, which only ptxas knows, may make it smaller.
template <class... P>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid, int* block, void (*function)(P...),
                                               std::size_t dynamic_shared_bytes = 0, int most_threads = 0) {
    int best = 0, multiprocessors = 0;
    for (int threads = most_threads > 0 ? most_threads : 1024; threads >= 32; threads -= 32) {
        int blocks = 0;
        const cudaError_t status =
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, dynamic_shared_bytes);
        if (status != cudaSuccess) return status;
        if (blocks * threads <= best) continue;
        best = blocks * threads;
        *grid = blocks;
        *block = threads;
    }
    if (best == 0) return cudaErrorInvalidValue;
    const cudaError_t status = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0);
    *grid *= multiprocessors;
    return status;
}

// ---- the driver's functions ----
enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1,
    cudaDriverEntryPointVersionNotSufficent = 2,
};
constexpr unsigned long long cudaEnableDefault = 0;
/// cuTensorMapEncodeTiled, which is all that the CPU device has of them.
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* found = nullptr);
inline cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned,
                                                    unsigned long long flags,
                                                    cudaDriverEntryPointQueryResult* found = nullptr) {
    return cudaGetDriverEntryPoint(name, function, flags, found);
}
