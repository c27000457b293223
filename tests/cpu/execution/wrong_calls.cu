// Calls of the CUDA runtime with arguments that are wrong, and the codes that its reference manual names for
// them (CUDA Runtime API: Device, Stream, Event, Memory Management; Execution Control; Occupancy). Nothing
// here hands over a handle or a pointer that CUDA leaves undefined.
#include <cstddef>
#include <vector>

#include "tests/cpu/execution/kernels.hpp"

namespace kernels {
namespace {

__device__ float four[4];
float of_host[4];

__global__ void fill(float* out) {
    __shared__ float values[4];
    values[threadIdx.x % 4] = four[threadIdx.x % 4];
    out[threadIdx.x] = values[threadIdx.x % 4];
}

class Calls {
  public:
    void add(const char* text, cudaError_t answer, cudaError_t documented) {
        all.push_back({text, answer, cudaGetLastError(), documented});
    }
    std::vector<WrongCall> all;
};
#define CALL(call, documented) calls.add(#call, call, documented)

void about_devices(Calls& calls) {
    int value = 0;
    cudaDeviceProp properties;
    CALL(cudaSetDevice(1'000'000), cudaErrorInvalidDevice);
    CALL(cudaSetDevice(-1), cudaErrorInvalidDevice);
    CALL(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    CALL(cudaGetDeviceCount(nullptr), cudaErrorInvalidValue);
    CALL(cudaGetDeviceProperties(&properties, 1'000'000), cudaErrorInvalidDevice);
    CALL(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1'000'000), cudaErrorInvalidDevice);
    CALL(cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0), cudaErrorInvalidValue);
    CALL(cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(100'000), 0), cudaErrorInvalidValue);
}

void about_streams_and_events(Calls& calls) {
    cudaStream_t stream = nullptr;
    cudaEvent_t recorded = nullptr, fresh = nullptr, untimed = nullptr, never = nullptr;
    float milliseconds = 0;
    CALL(cudaEventCreate(&recorded), cudaSuccess);
    CALL(cudaEventCreate(&fresh), cudaSuccess);
    CALL(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
    CALL(cudaEventRecord(recorded), cudaSuccess);
    CALL(cudaEventRecord(untimed), cudaSuccess);
    CALL(cudaEventSynchronize(recorded), cudaSuccess);
    CALL(cudaEventSynchronize(untimed), cudaSuccess);

    CALL(cudaStreamCreate(nullptr), cudaErrorInvalidValue);
    CALL(cudaStreamCreateWithFlags(nullptr, cudaStreamNonBlocking), cudaErrorInvalidValue);
    CALL(cudaStreamCreateWithFlags(&stream, 77), cudaErrorInvalidValue);
    CALL(cudaStreamWaitEvent(nullptr, nullptr, 0), cudaErrorInvalidResourceHandle);
    CALL(cudaStreamWaitEvent(nullptr, fresh, 0), cudaSuccess);  // an event that was never recorded is over
    CALL(cudaEventCreate(nullptr), cudaErrorInvalidValue);
    CALL(cudaEventCreateWithFlags(&never, 0x100), cudaErrorInvalidValue);
    CALL(cudaEventRecord(nullptr), cudaErrorInvalidResourceHandle);
    CALL(cudaEventQuery(nullptr), cudaErrorInvalidResourceHandle);
    CALL(cudaEventSynchronize(nullptr), cudaErrorInvalidResourceHandle);
    CALL(cudaEventQuery(fresh), cudaSuccess);
    CALL(cudaEventElapsedTime(nullptr, recorded, recorded), cudaErrorInvalidValue);
    CALL(cudaEventElapsedTime(&milliseconds, recorded, fresh), cudaErrorInvalidResourceHandle);
    CALL(cudaEventElapsedTime(&milliseconds, recorded, untimed), cudaErrorInvalidResourceHandle);

    CALL(cudaEventDestroy(recorded), cudaSuccess);
    CALL(cudaEventDestroy(fresh), cudaSuccess);
    CALL(cudaEventDestroy(untimed), cudaSuccess);
}

void about_memory(Calls& calls) {
    void *memory = nullptr, *more = nullptr;
    float host[16] = {};
    const auto neither = static_cast<cudaMemcpyKind>(9);
    CALL(cudaMalloc(&memory, 64), cudaSuccess);
    CALL(cudaMalloc(static_cast<void**>(nullptr), 64), cudaErrorInvalidValue);
    CALL(cudaMalloc(&more, std::size_t{1} << 60), cudaErrorMemoryAllocation);
    CALL(cudaFree(nullptr), cudaSuccess);
    CALL(cudaFree(host), cudaErrorInvalidValue);
    CALL(cudaMemcpy(memory, host, 64, neither), cudaErrorInvalidMemcpyDirection);
    CALL(cudaMemcpyAsync(memory, host, 64, neither), cudaErrorInvalidMemcpyDirection);
    CALL(cudaMemcpy(nullptr, host, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    CALL(cudaMemcpyAsync(nullptr, memory, 64, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    CALL(cudaMemcpy2D(memory, 4, host, 16, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    CALL(cudaMemcpy2DAsync(memory, 16, host, 4, 8, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
    CALL(cudaMemset(nullptr, 0, 64), cudaErrorInvalidValue);
    CALL(cudaMemsetAsync(nullptr, 0, 64), cudaErrorInvalidValue);
    CALL(cudaMemset2D(memory, 4, 0, 8, 2), cudaErrorInvalidValue);
    CALL(cudaMemset2DAsync(memory, 4, 0, 8, 2), cudaErrorInvalidValue);
    CALL(cudaFree(memory), cudaSuccess);
}

void about_symbols(Calls& calls) {
    float values[8] = {};
    void* address = nullptr;
    std::size_t bytes = 0;
    CALL(cudaMemcpyToSymbol(four, values, sizeof four), cudaSuccess);
    CALL(cudaMemcpyToSymbol(four, values, 5 * sizeof(float)), cudaErrorInvalidValue);
    CALL(cudaMemcpyToSymbol(four, values, sizeof(float), 4 * sizeof(float)), cudaErrorInvalidValue);
    CALL(cudaMemcpyToSymbol(four, values, 4, 0, cudaMemcpyDeviceToHost), cudaErrorInvalidMemcpyDirection);
    CALL(cudaMemcpyToSymbol(of_host, values, sizeof(float)), cudaErrorInvalidSymbol);
    CALL(cudaMemcpyToSymbolAsync(of_host, values, sizeof(float)), cudaErrorInvalidSymbol);
    CALL(cudaMemcpyFromSymbol(values, four, 5 * sizeof(float)), cudaErrorInvalidValue);
    CALL(cudaMemcpyFromSymbol(values, four, 4, 0, cudaMemcpyHostToDevice), cudaErrorInvalidMemcpyDirection);
    CALL(cudaMemcpyFromSymbol(values, of_host, sizeof(float)), cudaErrorInvalidSymbol);
    CALL(cudaMemcpyFromSymbolAsync(values, of_host, sizeof(float)), cudaErrorInvalidSymbol);
    CALL(cudaGetSymbolAddress(&address, of_host), cudaErrorInvalidSymbol);
    CALL(cudaGetSymbolSize(&bytes, of_host), cudaErrorInvalidSymbol);
}

void about_kernels(Calls& calls) {
    constexpr auto kShared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    int blocks = 0;
    CALL(cudaFuncSetAttribute(fill, kShared, 1 << 24), cudaErrorInvalidValue);
    CALL(cudaFuncSetAttribute(fill, static_cast<cudaFuncAttribute>(1000), 1), cudaErrorInvalidValue);
    CALL(cudaFuncSetAttribute(fill, cudaFuncAttributeNonPortableClusterSizeAllowed, 2), cudaSuccess);
    CALL(cudaFuncSetAttribute(fill, cudaFuncAttributePreferredSharedMemoryCarveout, 50), cudaSuccess);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, fill, 32, 0), cudaErrorInvalidValue);
    CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 0, 0), cudaErrorInvalidValue);
}

}  // namespace

std::vector<WrongCall> wrong_calls() {
    Calls calls;
    (void)cudaGetLastError();
    about_devices(calls);
    about_streams_and_events(calls);
    about_memory(calls);
    about_symbols(calls);
    about_kernels(calls);
    return calls.all;
}

}  // namespace kernels
