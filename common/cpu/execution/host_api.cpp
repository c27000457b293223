// The host side of the CPU device: what it is, what it can be told, and what CUDA checks before a launch. Its
// memory is in memory.cpp, streams and events in streams.cpp.
#include "common/cpu/execution/host_api.hpp"

#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/error.hpp"
#include "common/host_memory.hpp"

namespace cpu_device {
namespace {

constexpr std::size_t kSharedWithoutOptin = 48 * 1024;
constexpr unsigned kMostBlockThreads = 1024;
constexpr dim3 kMostBlock{1024, 1024, 64}, kMostGrid{0x7fffffffu, 65535, 65535};

constexpr Limits kLimits[] = {
#include "common/machines.inc"
};

thread_local cudaError_t last_error = cudaSuccess;
thread_local std::string last_refusal;  // why the launch that last_error is about was refused

struct FailedCall {
    const char* function = "";
    cudaError_t error = cudaSuccess;
    std::string why;  // of a refused launch
};

struct State {
    std::mutex mutex;
    const Limits* limits = &kLimits[5];  // sm_90: what the published figures were measured on
    int multiprocessors = 0;             // 0: as many as the limits' GPU has
    RunOptions options;
    std::map<const void*, std::size_t> dynamic_optin;  // bytes granted by cudaFuncSetAttribute
    std::set<const void*> large_clusters;  // kernels to which it has allowed more than 8 blocks a cluster
    FailedCall failed;                     // the last one, of any thread
};
State& state() {
    static State s;
    return s;
}

std::size_t static_shared_bytes(const void* function) {
    std::size_t bytes = 0;
    for (const SharedArray& array : shared_arrays(function)) bytes += array.own ? array.bytes : 0;
    return bytes;
}

std::string text(dim3 v) {
    return std::to_string(v.x) + "×" + std::to_string(v.y) + "×" + std::to_string(v.z);
}

/// How many blocks a cluster of the kernel may have. Every GPU with clusters takes 8 (the portable size); an
/// H100 and a B200 take 16 of a kernel that asks for it (Hopper and Blackwell Tuning Guides, "Thread Block
/// Clusters").
unsigned most_cluster_blocks(const void* function) {
    constexpr unsigned kPortable = 8, kMost = 16;
    if (limits().sm != 90 && limits().sm != 100) return kPortable;
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    return s.large_clusters.count(function) > 0 ? kMost : kPortable;
}

/// The same about its clusters.
std::string why_cluster_refused(const void* function, dim3 grid, dim3 cluster) {
    const std::uint64_t blocks = std::uint64_t{cluster.x} * cluster.y * cluster.z;
    if (blocks == 1) return {};
    if (limits().sm < 90)
        return "clusters of " + text(cluster) + " blocks, but sm_" + std::to_string(limits().sm) +
               " has none";
    if (blocks == 0) return "clusters of 0 blocks (" + text(cluster) + ")";
    if (const unsigned most = most_cluster_blocks(function); blocks > most)
        return "clusters of " + std::to_string(blocks) + " blocks (" + text(cluster) + "), but " +
               std::to_string(most) + " is the most";
    if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
        return "a grid of " + text(grid) + " blocks, which is not a multiple of its clusters of " +
               text(cluster);
    return {};
}

/// The same about a cooperative launch (CUDA Runtime API, cudaLaunchCooperativeKernel), in clusters or not:
/// the CPU device's SMs are in no groups, where a GPU may have no room for as many clusters.
std::string why_too_large(dim3 grid, int resident) {
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    const std::uint64_t room =
        static_cast<std::uint64_t>(resident) * static_cast<std::uint64_t>(multiprocessors());
    if (blocks <= room) return {};
    return "a cooperative launch of " + std::to_string(blocks) + " blocks, but the device holds " +
           std::to_string(room) + " at once (" + std::to_string(multiprocessors()) +
           (multiprocessors() == 1 ? " SM" : " SMs") + " with room for " + std::to_string(resident) +
           " each)";
}

/// What CUDA would refuse about the launch, as a clause; empty if nothing.
std::string why_refused(const void* function, dim3 grid, dim3 block, std::size_t dynamic_bytes) {
    const auto count = [](dim3 v) { return std::uint64_t{v.x} * v.y * v.z; };
    const auto within = [](dim3 v, dim3 most) { return v.x <= most.x && v.y <= most.y && v.z <= most.z; };
    if (count(grid) == 0) return "a grid of 0 blocks (" + text(grid) + ")";
    if (!within(grid, kMostGrid))
        return "a grid of " + text(grid) + ", but " + text(kMostGrid) + " is the most";
    if (count(block) == 0) return "0 threads per block (" + text(block) + ")";
    if (count(block) > kMostBlockThreads) {
        return std::to_string(count(block)) + " threads per block (" + text(block) + "), but " +
               std::to_string(kMostBlockThreads) + " is the most";
    }
    if (!within(block, kMostBlock)) {
        return "a block of " + text(block) + " threads, but " + text(kMostBlock) +
               " is the most in each direction";
    }
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    const auto granted = s.dynamic_optin.find(function);
    const std::size_t fixed = static_shared_bytes(function);
    const std::size_t most =
        std::max(granted == s.dynamic_optin.end() ? 0 : granted->second, kSharedWithoutOptin - fixed);
    if (dynamic_bytes <= most) return {};
    return std::to_string(dynamic_bytes) + " bytes of dynamic shared memory, but " + std::to_string(most) +
           " is the most" +
           (fixed > 0 ? " besides " + std::to_string(fixed) + " bytes of __shared__ arrays" : "") +
           (granted == s.dynamic_optin.end() ? " without cudaFuncSetAttribute" : "");
}

}  // namespace

cudaError_t remember(cudaError_t error, const char* function) {
    if (error != cudaSuccess) {
        last_error = error;
        last_refusal.clear();
        const std::scoped_lock lock(state().mutex);
        state().failed = {function, error, {}};
    }
    return error;
}

namespace {
cudaError_t refuse(cudaError_t error, std::string why) {
    remember(error, "");
    const std::scoped_lock lock(state().mutex);
    state().failed.why = why;
    last_refusal = std::move(why);
    return error;
}
}  // namespace

std::string last_failed_call() {
    const std::scoped_lock lock(state().mutex);
    const auto& [function, error, why] = state().failed;
    if (error == cudaSuccess) return {};
    const std::string name = function;
    return (name.starts_with("cuda") ? name + "()" : "a kernel's launch") + ", with " +
           cudaGetErrorName(error) + (why.empty() ? "" : " (" + why + ")");
}

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

void set_multiprocessors(int count) {
    state().multiprocessors = count;
}

int multiprocessors() {
    return state().multiprocessors > 0 ? state().multiprocessors : limits().multiprocessors;
}

void set_progress(std::function<void(std::uint64_t, std::uint64_t)> progress) {
    state().options.progress = std::move(progress);
}

void set_block_filter(std::function<bool(std::uint64_t)> filter) {
    state().options.filter = std::move(filter);
}

bool passes_filter(std::uint64_t block) {
    const State& s = state();
    return !s.options.filter || s.options.filter(block);
}

void set_blocks(std::vector<std::uint64_t> blocks) {
    set_block_filter([blocks = std::move(blocks)](std::uint64_t block) {
        return std::find(blocks.begin(), blocks.end(), block) != blocks.end();
    });
}

void set_hang_seconds(double seconds) {
    state().options.hang_seconds = seconds;
}

void set_schedule_seed(std::uint64_t seed) {
    state().options.seed = seed;
}
std::uint64_t schedule_seed() {
    return state().options.seed;
}

std::string refusal() {
    return last_refusal;
}

namespace {
cudaStream_t expected_stream = nullptr;
bool met_expected = false, met_another = false;
}  // namespace

void expect_stream(cudaStream_t stream) {
    expected_stream = stream;
    met_expected = met_another = false;
}
bool strayed() {
    return met_expected && met_another;
}
void in_stream(cudaStream_t stream) {
    if (expected_stream != nullptr) (stream == expected_stream ? met_expected : met_another) = true;
}

Steps& steps_taken() {
    static Steps taken;
    return taken;
}
Steps steps() {
    return steps_taken();
}

cudaError_t launch(const char* name, const void* function, dim3 grid, dim3 block,
                   std::size_t dynamic_shared_bytes, Call call, const void* context,
                   std::size_t context_bytes, const LaunchAttributes& attributes, bool blocks_wait) {
    const auto& shared = shared_arrays(function);
    if (const std::size_t bytes = static_shared_bytes(function); bytes > kSharedWithoutOptin) {
        throw gemm::Error(std::string("kernel ") + name + ": its __shared__ arrays take " +
                          std::to_string(bytes) +
                          " bytes, but a kernel may declare only 49152; nvcc would refuse to compile it.");
    }
    if (std::string why = why_refused(function, grid, block, dynamic_shared_bytes); !why.empty()) {
        // What CUDA 13.0 answered on an H200, where CUDA 12 documents cudaErrorInvalidConfiguration for grids
        // and blocks.
        return refuse(cudaErrorInvalidValue, std::move(why));
    }
    if (std::string why = why_cluster_refused(function, grid, attributes.cluster); !why.empty())
        return refuse(cudaErrorInvalidClusterSize, std::move(why));
    int resident = 0;
    (void)cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, function, static_cast<int>(block.x * block.y * block.z), dynamic_shared_bytes);
    if (attributes.cooperative) {
        if (std::string why = why_too_large(grid, resident); !why.empty())
            return refuse(cudaErrorCooperativeLaunchTooLarge, std::move(why));
    }
    ++steps_taken().launches;
    const Reach reach;
    std::uint32_t came_to_barrier = 0;
    run_grid({name, function, grid, block, dynamic_shared_bytes, &shared, call, context, context_bytes,
              attributes.cluster, blocks_wait || attributes.cooperative, resident,
              attributes.cooperative ? &came_to_barrier : nullptr},
             state().options);
    return cudaSuccess;
}

LaunchAttributes attributes_of(const cudaLaunchConfig_t& config) {
    LaunchAttributes attributes;
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const cudaLaunchAttribute& a = config.attrs[i];
        if (a.id == cudaLaunchAttributeClusterDimension)
            attributes.cluster = {a.val.clusterDim.x, a.val.clusterDim.y, a.val.clusterDim.z};
        if (a.id == cudaLaunchAttributeCooperative) attributes.cooperative = a.val.cooperative != 0;
    }
    return attributes;
}

}  // namespace cpu_device

using namespace cpu_device;  // what follows is CUDA's global namespace

namespace {
struct ErrorText {
    cudaError_t error;
    const char *name, *text;
};
#define ERROR_TEXT(error, text) \
    { error, #error, text }
constexpr ErrorText kErrors[] = {
    ERROR_TEXT(cudaSuccess, "no error"),
    ERROR_TEXT(cudaErrorInvalidValue, "invalid argument"),
    ERROR_TEXT(cudaErrorMemoryAllocation, "out of memory"),
    ERROR_TEXT(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ERROR_TEXT(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    ERROR_TEXT(cudaErrorInvalidSymbol, "invalid device symbol"),
    ERROR_TEXT(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ERROR_TEXT(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ERROR_TEXT(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ERROR_TEXT(cudaErrorInvalidDevice, "invalid device ordinal"),
    ERROR_TEXT(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ERROR_TEXT(cudaErrorNotReady, "device not ready"),
    ERROR_TEXT(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    ERROR_TEXT(cudaErrorNotSupported, "operation not supported"),
    ERROR_TEXT(cudaErrorInvalidClusterSize, "cluster misconfiguration"),
};
#undef ERROR_TEXT
/// All but how much memory there is, which the system has to be asked for: a lesson's owner() asks for the
/// number of SMs once an element.
cudaDeviceProp properties() {
    cudaDeviceProp p{};
    std::snprintf(p.name, sizeof p.name, "CPU device (limits of sm_%d)", limits().sm);
    p.sharedMemPerBlock = kSharedWithoutOptin;
    p.sharedMemPerBlockOptin = limits().shared_per_block_optin();
    p.major = limits().sm / 10;
    p.minor = limits().sm % 10;
    p.sharedMemPerMultiprocessor = limits().sm_shared();
    p.multiProcessorCount = multiprocessors();
    p.warpSize = 32;
    p.maxThreadsPerBlock = kMostBlockThreads;
    p.maxThreadsPerMultiProcessor = limits().sm_threads;
    p.maxBlocksPerMultiProcessor = limits().sm_blocks;
    p.cooperativeLaunch = 1;
    const dim3 block = kMostBlock, grid = kMostGrid;
    const unsigned blocks[] = {block.x, block.y, block.z}, grids[] = {grid.x, grid.y, grid.z};
    for (int i = 0; i < 3; ++i) {
        p.maxThreadsDim[i] = static_cast<int>(blocks[i]);
        p.maxGridSize[i] = static_cast<int>(grids[i]);
    }
    return p;
}

}  // namespace
const char* cudaGetErrorName(cudaError_t error) {
    for (const ErrorText& known : kErrors) {
        if (known.error == error) return known.name;
    }
    return "unrecognized error code";
}
const char* cudaGetErrorString(cudaError_t error) {
    for (const ErrorText& known : kErrors) {
        if (known.error == error) return known.text;
    }
    return "unrecognized error code";
}
cudaError_t cudaGetLastError() {
    const cudaError_t error = cudaPeekAtLastError();
    last_refusal.clear();
    last_error = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError() {
    return last_error;
}

cudaError_t cudaGetDeviceCount(int* count) {
    if (count == nullptr) return remember(cudaErrorInvalidValue);
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
    return remember(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaGetDevice(int* device) {
    if (device == nullptr) return remember(cudaErrorInvalidValue);
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
    if (p == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    *p = properties();
    p->totalGlobalMem = gemm::available_host_memory();
    return cudaSuccess;
}
cudaError_t cudaDeviceReset() {
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
    if (version == nullptr) return remember(cudaErrorInvalidValue);
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
    return remember(cudaRuntimeGetVersion(version));
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* found) {
    if (name == nullptr || function == nullptr) return remember(cudaErrorInvalidValue);
    const bool has = std::string_view(name) == "cuTensorMapEncodeTiled";
    *function = has ? reinterpret_cast<void*>(&cuTensorMapEncodeTiled) : nullptr;
    if (found != nullptr) *found = has ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (value == nullptr) return remember(cudaErrorInvalidValue);
    if (device != 0) return remember(cudaErrorInvalidDevice);
    const cudaDeviceProp p = properties();
    const auto as_int = [](std::size_t bytes) { return static_cast<int>(bytes); };
    const std::pair<cudaDeviceAttr, int> known[] = {
        {cudaDevAttrMaxThreadsPerBlock, p.maxThreadsPerBlock},
        {cudaDevAttrMaxBlockDimX, p.maxThreadsDim[0]},
        {cudaDevAttrMaxBlockDimY, p.maxThreadsDim[1]},
        {cudaDevAttrMaxBlockDimZ, p.maxThreadsDim[2]},
        {cudaDevAttrMaxGridDimX, p.maxGridSize[0]},
        {cudaDevAttrMaxGridDimY, p.maxGridSize[1]},
        {cudaDevAttrMaxGridDimZ, p.maxGridSize[2]},
        {cudaDevAttrMaxSharedMemoryPerBlock, as_int(p.sharedMemPerBlock)},
        {cudaDevAttrTotalConstantMemory, as_int(p.totalConstMem)},
        {cudaDevAttrWarpSize, p.warpSize},
        {cudaDevAttrMaxRegistersPerBlock, p.regsPerBlock},
        {cudaDevAttrClockRate, p.clockRate},
        {cudaDevAttrMultiProcessorCount, p.multiProcessorCount},
        {cudaDevAttrIntegrated, p.integrated},
        {cudaDevAttrConcurrentKernels, p.concurrentKernels},
        {cudaDevAttrEccEnabled, p.ECCEnabled},
        {cudaDevAttrPciBusId, p.pciBusID},
        {cudaDevAttrPciDeviceId, p.pciDeviceID},
        {cudaDevAttrMemoryClockRate, p.memoryClockRate},
        {cudaDevAttrGlobalMemoryBusWidth, p.memoryBusWidth},
        {cudaDevAttrL2CacheSize, p.l2CacheSize},
        {cudaDevAttrMaxThreadsPerMultiProcessor, p.maxThreadsPerMultiProcessor},
        {cudaDevAttrAsyncEngineCount, p.asyncEngineCount},
        {cudaDevAttrComputeCapabilityMajor, p.major},
        {cudaDevAttrComputeCapabilityMinor, p.minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, as_int(p.sharedMemPerMultiprocessor)},
        {cudaDevAttrMaxRegistersPerMultiprocessor, p.regsPerMultiprocessor},
        {cudaDevAttrCooperativeLaunch, p.cooperativeLaunch},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, as_int(p.sharedMemPerBlockOptin)},
        {cudaDevAttrMaxBlocksPerMultiprocessor, p.maxBlocksPerMultiProcessor},
        {cudaDevAttrReservedSharedMemoryPerBlock, as_int(limits().shared_reserved())},
    };
    for (const auto& [id, answer] : known) {
        if (id != attribute) continue;
        *value = answer;
        return cudaSuccess;
    }
    return remember(cudaErrorInvalidValue);
}
cudaError_t cudaDeviceSynchronize() {
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* a, const void* function) {
    if (a == nullptr) return remember(cudaErrorInvalidValue);
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
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;  // a hint
    if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed) {
        State& s = state();
        const std::scoped_lock lock(s.mutex);
        if (value != 0) {  // 2 is as good as 1, as an H200's driver has it
            s.large_clusters.insert(function);
        } else {
            s.large_clusters.erase(function);
        }
        return cudaSuccess;
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return remember(cudaErrorInvalidValue);
    const std::size_t most = limits().shared_per_block_optin() - static_shared_bytes(function);
    if (value < 0 || static_cast<std::size_t>(value) > most) return remember(cudaErrorInvalidValue);
    State& s = state();
    const std::scoped_lock lock(s.mutex);
    s.dynamic_optin[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t dynamic_shared_bytes) {
    if (blocks == nullptr || threads < 1) return remember(cudaErrorInvalidValue);
    const int warps = (threads + 31) / 32;
    const std::size_t shared =
        static_shared_bytes(function) + dynamic_shared_bytes + limits().shared_reserved();
    *blocks = threads > static_cast<int>(kMostBlockThreads)
                  ? 0
                  : std::min(limits().sm_blocks, limits().sm_threads / (32 * warps));
    if (shared > 0)
        *blocks =
            static_cast<int>(std::min(static_cast<std::size_t>(*blocks), limits().sm_shared() / shared));
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function,
                                           const cudaLaunchConfig_t* config) {
    if (clusters == nullptr || config == nullptr) return remember(cudaErrorInvalidValue);
    const dim3 size = attributes_of(*config).cluster, block = config->config_blockDim;
    if (std::string why = why_cluster_refused(function, size, size); !why.empty())
        return remember(cudaErrorInvalidClusterSize);
    int blocks = 0;
    const cudaError_t status = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &blocks, function, static_cast<int>(block.x * block.y * block.z), config->dynamicSmemBytes);
    if (status == cudaSuccess)
        *clusters = blocks * multiprocessors() / static_cast<int>(size.x * size.y * size.z);
    return status;
}
