// The host side of the CPU device: the runtime API that the harness calls, and what CUDA checks before a
// launch.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/error.hpp"
#include "common/host_memory.hpp"

namespace cpu_device {
namespace {

constexpr std::size_t KiB = 1024;
constexpr std::size_t kSharedWithoutOptin = 48 * KiB;
constexpr unsigned kMostBlockThreads = 1024;
constexpr dim3 kMostBlock{1024, 1024, 64}, kMostGrid{0x7fffffffu, 65535, 65535};

// Per-block maximum, CUDA C++ Programming Guide, "Technical specifications per compute capability".
constexpr Limits kLimits[] = {{75, 64 * KiB}, {80, 163 * KiB}, {86, 99 * KiB},   {87, 163 * KiB},
                              {89, 99 * KiB}, {90, 227 * KiB}, {100, 227 * KiB}, {120, 99 * KiB}};

thread_local cudaError_t last_error = cudaSuccess;
thread_local std::string last_refusal;  // why the launch that last_error is about was refused

cudaError_t remember(cudaError_t error) {
    if (error != cudaSuccess) {
        last_error = error;
        last_refusal.clear();
    }
    return error;
}

struct State {
    std::mutex mutex;
    const Limits* limits = &kLimits[5];  // sm_90: what the published figures were measured on
    RunOptions options;
    std::map<const void*, std::size_t> dynamic_optin;  // bytes granted by cudaFuncSetAttribute
};
State& state() {
    static State s;
    return s;
}

std::size_t static_shared_bytes(const void* function) {
    std::size_t bytes = 0;
    for (const SharedArray& array : shared_arrays(function)) bytes += array.bytes;
    return bytes;
}

std::string text(dim3 v) {
    return std::to_string(v.x) + "×" + std::to_string(v.y) + "×" + std::to_string(v.z);
}

/// What CUDA would refuse about the launch, as a clause; empty if nothing.
std::string why_refused(const void* function, dim3 grid, dim3 block, std::size_t dynamic_bytes) {
    const auto count = [](dim3 v) { return std::uint64_t{v.x} * v.y * v.z; };
    const auto within = [](dim3 v, dim3 most) { return v.x <= most.x && v.y <= most.y && v.z <= most.z; };
    if (count(grid) == 0) return "a grid of 0 blocks (" + text(grid) + ")";
    if (!within(grid, kMostGrid))
        return "a grid of " + text(grid) + ", and " + text(kMostGrid) + " is the most";
    if (count(block) == 0) return "0 threads a block (" + text(block) + ")";
    if (count(block) > kMostBlockThreads) {
        return std::to_string(count(block)) + " threads a block (" + text(block) + "), and " +
               std::to_string(kMostBlockThreads) + " is the most";
    }
    if (!within(block, kMostBlock)) {
        return "a block of " + text(block) + " threads, and " + text(kMostBlock) +
               " is the most in each direction";
    }
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    const auto granted = s.dynamic_optin.find(function);
    const std::size_t fixed = static_shared_bytes(function);
    const std::size_t most =
        std::max(granted == s.dynamic_optin.end() ? 0 : granted->second, kSharedWithoutOptin - fixed);
    if (dynamic_bytes <= most) return {};
    return std::to_string(dynamic_bytes) + " bytes of dynamic shared memory, and " + std::to_string(most) +
           " is the most" +
           (fixed > 0 ? " beside " + std::to_string(fixed) + " bytes of __shared__ arrays" : "") +
           (granted == s.dynamic_optin.end() ? " without cudaFuncSetAttribute" : "");
}

/// Device memory is a range of addresses of its own, so that a host pointer in a kernel can be told from it,
/// and no address is used twice, so that a pointer to freed memory crashes instead of finding something else.
class DeviceMemory {
  public:
    DeviceMemory() {
        void* range = MAP_FAILED;
        // 39 bits are all the addresses that some kernels for aarch64 give a program.
        for (range_ = kMostRange; range_ >= kLeastRange; range_ /= 2) {
            range = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range != MAP_FAILED) break;
        }
        if (range == MAP_FAILED)
            throw gemm::Error("The address space is too small for the CPU device (ulimit -v?).");
        begin_ = next_ = static_cast<std::byte*>(range);
    }

    void* allocate(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        const std::size_t pages = (bytes + page_ - 1) / page_ * page_;
        if (pages + page_ > static_cast<std::size_t>(begin_ + range_ - next_)) return nullptr;
        if (mprotect(next_, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
        std::byte* const start = next_;
        next_ += pages + page_;  // an unmapped page between any two
        sizes_[start] = bytes;
        return start;
    }
    bool free(void* pointer) {
        const std::scoped_lock lock(mutex_);
        const auto found = sizes_.find(static_cast<std::byte*>(pointer));
        if (found == sizes_.end()) return false;
        const std::size_t pages = (found->second + page_ - 1) / page_ * page_;
        mmap(pointer, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        sizes_.erase(found);
        return true;
    }
    std::vector<Allocation> allocations() {
        const std::scoped_lock lock(mutex_);
        std::vector<Allocation> all;
        for (const auto& [start, bytes] : sizes_) all.push_back({start, bytes});
        return all;
    }
    bool contains(const void* address) const {
        const auto* a = static_cast<const std::byte*>(address);
        return a >= begin_ && a < begin_ + range_;
    }

  private:
    static constexpr std::size_t kMostRange = std::size_t{1} << 44, kLeastRange = std::size_t{1} << 36;
    const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t range_ = 0;
    std::byte *begin_ = nullptr, *next_ = nullptr;
    std::mutex mutex_;
    std::map<std::byte*, std::size_t> sizes_;
};
DeviceMemory& device_memory() {
    static DeviceMemory memory;
    return memory;
}

}  // namespace

void set_like(const std::string& like) {
    std::string known;
    for (const Limits& limits : kLimits) {
        const std::string name = "sm_" + std::to_string(limits.sm);
        if (name == like) {
            state().limits = &limits;
            state().dynamic_optin.clear();  // what one GPU grants, another may not have
            return;
        }
        known += (known.empty() ? "" : ", ") + name;
    }
    throw gemm::Error("The CPU device knows no limits of '" + like + "'; it knows " + known + ".");
}

const Limits& limits() {
    return *state().limits;
}

void set_progress(std::function<void(std::uint64_t, std::uint64_t)> progress) {
    state().options.progress = std::move(progress);
}

void set_block_filter(std::function<bool(std::uint64_t)> filter) {
    state().options.filter = std::move(filter);
}

void set_hang_seconds(double seconds) {
    state().options.hang_seconds = seconds;
}

std::string refusal() {
    return last_refusal;
}

bool is_device_memory(const void* address) {
    return device_memory().contains(address);
}

std::vector<Allocation> allocations() {
    return device_memory().allocations();
}

void launch(const char* name, const void* function, dim3 grid, dim3 block, std::size_t dynamic_shared_bytes,
            Call call, const void* context, std::size_t context_bytes) {
    const auto& shared = shared_arrays(function);
    if (const std::size_t bytes = static_shared_bytes(function); bytes > kSharedWithoutOptin) {
        throw gemm::Error(std::string("kernel ") + name + ": its __shared__ arrays take " +
                          std::to_string(bytes) +
                          " bytes, and a kernel may declare 49152; nvcc would refuse to compile it.");
    }
    if (std::string why = why_refused(function, grid, block, dynamic_shared_bytes); !why.empty()) {
        // What CUDA 13.0 answered on an H200, where CUDA 12 documents cudaErrorInvalidConfiguration for grids
        // and blocks.
        remember(cudaErrorInvalidValue);
        last_refusal = std::move(why);
        return;
    }
    run_grid({name, grid, block, dynamic_shared_bytes, &shared, call, context, context_bytes},
             state().options);
}

}  // namespace cpu_device

using namespace cpu_device;  // what follows is CUDA's global namespace

const char* cudaGetErrorName(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "cudaSuccess";
        case cudaErrorInvalidValue:
            return "cudaErrorInvalidValue";
        case cudaErrorMemoryAllocation:
            return "cudaErrorMemoryAllocation";
        case cudaErrorInvalidConfiguration:
            return "cudaErrorInvalidConfiguration";
        case cudaErrorInvalidDeviceFunction:
            return "cudaErrorInvalidDeviceFunction";
        case cudaErrorNoDevice:
            return "cudaErrorNoDevice";
        case cudaErrorInvalidDevice:
            return "cudaErrorInvalidDevice";
    }
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        case cudaErrorInvalidDeviceFunction:
            return "invalid device function";
        case cudaErrorNoDevice:
            return "no CUDA-capable device is detected";
        case cudaErrorInvalidDevice:
            return "invalid device ordinal";
    }
    return "unrecognized error code";
}
cudaError_t cudaGetLastError() {
    last_refusal.clear();
    return std::exchange(last_error, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}

cudaError_t cudaGetDeviceCount(int* count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *p = {};
    std::snprintf(p->name, sizeof p->name, "CPU device (limits of sm_%d)", limits().sm);
    p->totalGlobalMem = gemm::available_host_memory();
    p->sharedMemPerBlock = kSharedWithoutOptin;
    p->sharedMemPerBlockOptin = limits().shared_per_block_optin;
    p->major = limits().sm / 10;
    p->minor = limits().sm % 10;
    p->multiProcessorCount = static_cast<int>(std::thread::hardware_concurrency());
    p->warpSize = 32;
    p->maxThreadsPerBlock = kMostBlockThreads;
    const dim3 block = kMostBlock, grid = kMostGrid;
    const unsigned blocks[] = {block.x, block.y, block.z}, grids[] = {grid.x, grid.y, grid.z};
    for (int i = 0; i < 3; ++i) {
        p->maxThreadsDim[i] = static_cast<int>(blocks[i]);
        p->maxGridSize[i] = static_cast<int>(grids[i]);
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
    return cudaSuccess;
}

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > gemm::available_host_memory()) return remember(cudaErrorMemoryAllocation);
    *pointer = device_memory().allocate(bytes);
    return remember(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFree(void* pointer) {
    if (pointer == nullptr || device_memory().free(pointer)) return cudaSuccess;
    return remember(cudaErrorInvalidValue);  // a host pointer, or freed twice
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
    if (bytes > 0) std::memmove(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes) {
    if (bytes > 0) std::memset(pointer, byte, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = gemm::available_host_memory();
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* function) {
    *a = {};
    a->sharedSizeBytes = static_shared_bytes(function);
    a->maxThreadsPerBlock = kMostBlockThreads;
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    const auto granted = s.dynamic_optin.find(function);
    a->maxDynamicSharedSizeBytes = static_cast<int>(
        granted == s.dynamic_optin.end() ? kSharedWithoutOptin - a->sharedSizeBytes : granted->second);
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    const std::size_t most = limits().shared_per_block_optin - static_shared_bytes(function);
    if (value < 0 || static_cast<std::size_t>(value) > most) return remember(cudaErrorInvalidValue);
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    s.dynamic_optin[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
}
