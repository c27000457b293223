// The CPU device as its host sees it: whose limits it keeps, and what it can be told beside a launch.
// Kernels see common/cpu/include/cuda_runtime.h instead.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cpu_device {

/// Launch limits of a compute capability, a line of common/machines.inc. The grid, block and static limits
/// are the same for all that are listed.
struct Limits {
    int sm;  // 10·major + minor
    const char* gpu;
    int multiprocessors;        // of that GPU
    int sm_threads, sm_blocks;  // that an SM has room for
    std::size_t sm_shared_kib, shared_reserved_kib, shared_unit;

    constexpr std::size_t sm_shared() const { return 1024 * sm_shared_kib; }  // bytes
    /// Bytes of a block's shared memory that CUDA takes for itself.
    constexpr std::size_t shared_reserved() const { return 1024 * shared_reserved_kib; }
    /// Bytes a block at most, static and dynamic together, after cudaFuncSetAttribute.
    constexpr std::size_t shared_per_block_optin() const { return sm_shared() - shared_reserved(); }
};

/// "sm_86" → its limits become those that launches are held against. Throws gemm::Error for one that is not
/// listed.
void set_like(const std::string& like);
const Limits& limits();

/// How many SMs a kernel is told that the device has, whatever the host has: a launch of one block an SM
/// gives its blocks several tiles where there are few. 0: as many as the GPU whose limits hold, which is so
/// unless told.
void set_multiprocessors(int count);
int multiprocessors();
/// What kernels are checked with: so few that a launch of one block an SM has several tiles a block soon.
constexpr int kFewMultiprocessors = 2;

/// Runs `code` as the host of a GPU does: device memory, but for its variables, is out of its reach, and
/// within that of the kernels that it launches and the copies that it asks for. Throws gemm::Fault
/// (host_access) where it reads or writes it nevertheless, and then forgets what `code` has on its stack;
/// also where it copies from there to the host, which is how a host would compute what kernels are to
/// compute.
void run_on_host(const char* what, const std::function<void()>& code);

/// Called every half second while a launch runs longer than two seconds: blocks done, blocks in all. Empty:
/// nothing.
void set_progress(std::function<void(std::uint64_t done, std::uint64_t total)> progress);

/// Runs only the blocks whose index in the grid (x fastest) passes, and those that they can't run without:
/// the others of a cluster, and all where blocks wait for each other. Empty: all of them.
void set_block_filter(std::function<bool(std::uint64_t block)> filter);
/// Whether a block passes.
bool passes_filter(std::uint64_t block);
/// Runs only these.
void set_blocks(std::vector<std::uint64_t> blocks);

/// How often a kernel was launched, and how often the host wrote to the device's memory, since the program
/// began.
struct Steps {
    std::uint64_t launches = 0, host_writes = 0;
};
Steps steps();

/// After this many seconds of computing in which one kernel thread neither returned nor met another, or twice
/// as many in which no thread of a block returned, the launch is given up with an error instead of hanging.
/// 60 unless told.
void set_hang_seconds(double seconds);

/// Decides what a GPU leaves open, from launches on: the order in which bytes of the copy engine come, when
/// stores read, and which warp goes on first where several can. An odd one also holds a warp of each cluster
/// back until nobody else can go on, and one whose second bit is set lets half of the arrivals at other
/// blocks' mbarriers come late. 0 unless told; the same seed gives the same order.
void set_schedule_seed(std::uint64_t seed);
std::uint64_t schedule_seed();

/// From now on kernels may all be launched into this stream, or all into others; nullptr: into any.
void expect_stream(cudaStream_t stream);
/// Whether some have been launched into it since, and some have not: they do not wait for each other.
bool strayed();

/// Why the launch that cudaPeekAtLastError() still speaks of was refused, with the numbers, as a clause ("a
/// grid of 0 blocks"); empty where nothing is left of a refused launch.
std::string refusal();
/// The last call of the runtime that failed, as a clause ("cudaMalloc(), with cudaErrorMemoryAllocation"),
/// whether or not cudaGetLastError() was called since; empty where none did.
std::string last_failed_call();

/// cudaMalloc without a question whether there is so much memory: for what is hardly touched.
cudaError_t reserve(void** pointer, std::size_t bytes);

/// What cudaMalloc has given out and cudaFree not taken back, by address.
struct Allocation {
    const std::byte* start;
    std::size_t bytes;
};
std::vector<Allocation> allocations();
/// Whether the address lies in the range that cudaMalloc gives out of, allocated or not, or among the
/// device's variables.
bool is_device_memory(const void* address);
/// Whether it is in what cudaMalloc gave and nobody has freed, or in a variable of the device.
bool is_allocated(const void* address);

/// A __device__, __constant__ or __managed__ variable of the program, or a static one of a kernel or of a
/// function that it may call.
struct Variable {
    std::string name;
    const std::byte* start;
    std::size_t bytes;
};
/// All of them, but for those that are static in another kernel than this one.
const std::vector<Variable>& device_variables(const void* kernel);

/// A __shared__ array of a kernel in this program.
struct SharedArray {
    std::string name;
    std::size_t tls_offset;  // in the program's thread-local block, see symbols.cpp
    std::size_t bytes;
    bool own = true;  // declared by the kernel itself, not by a function that it may call
};
/// The largest that a kernel of the program declares of its dynamic shared memory, in bytes.
std::size_t dynamic_alignment();
/// For a program whose kernels may call functions with __shared__ arrays: they count as every kernel's, and
/// so do those of its other kernels, but for no kernel's limit of shared memory. A lesson's kernels declare
/// theirs themselves. Returns true.
bool helpers_may_share();
/// The kernel's static shared arrays, in the order of their addresses. Throws gemm::Error when the program
/// was stripped of its symbols.
const std::vector<SharedArray>& shared_arrays(const void* kernel);
/// The program's thread-local block of the calling OS thread, in which all static shared arrays lie.
std::byte* thread_local_start();
std::size_t thread_local_bytes();
/// Where the array lies for the calling OS thread.
std::byte* shared_array_address(const SharedArray& array);

}  // namespace cpu_device
