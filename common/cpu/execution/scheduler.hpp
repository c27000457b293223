// Between host_api.cpp, which checks a launch, and those who run it (workers.hpp, block.hpp) and observe it
// (the tracer).
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "common/cpu/execution/device.hpp"

namespace cpu_device {

constexpr int kWarp = 32;

struct Grid {
    const char* kernel;
    const void* function;
    dim3 grid, block;
    std::size_t dynamic_shared_bytes;
    const std::vector<SharedArray>* shared;
    Call call;
    const void* context;
    std::size_t context_bytes;  // the kernel and its arguments
    dim3 cluster{};             // blocks that are resident together
    bool blocks_wait = false;   // its blocks may wait for each other
    int resident = 0;           // blocks, by what an SM has room for, of each SM
    /// In a cooperative launch: how many blocks have come to the barrier of the grid since it began.
    std::uint32_t* came_to_barrier = nullptr;

    int threads() const { return static_cast<int>(block.x * block.y * block.z); }  // of a block
    int cluster_blocks() const { return static_cast<int>(cluster.x * cluster.y * cluster.z); }
};

/// What an observer may know about the block that a worker runs.
struct BlockView {
    const Grid* grid;
    std::uint64_t index;                     // in the grid, x fastest
    const int* running;                      // the thread that runs now, linear in the block
    const std::byte *stacks, *stacks_end;    // the fibers' stacks: local variables
    const std::byte *runtime, *runtime_end;  // threadIdx and friends
    std::byte* dynamic_shared;
    const std::atomic<bool>* interrupted;  // the running thread was found to hang: stop_if_interrupted()
    /// Where the block's static shared arrays lie while another block of its cluster has its own there. Empty
    /// without clusters.
    const std::vector<std::byte*>* homes;
};

struct BulkCopy;
struct WgmmaMultiply;

/// Told what happens in a launch, in the worker thread in which it happens. Set by the tracer.
class Observer {
  public:
    virtual void launch_begins(const Grid& grid, std::uint64_t blocks) = 0;
    /// From here on that one of the clusters runs that the worker has side by side, or begins: they are
    /// counted from 0, and a number is another's when its cluster has ended.
    virtual void side_runs(unsigned number) = 0;
    /// The blocks of a cluster, by rank. The first one runs.
    virtual void blocks_begin(const std::vector<BlockView>& blocks) = 0;
    /// From here on threads of that block of the cluster run; and the static shared arrays where the kernel
    /// has them are that block's. Told where a cluster has several blocks.
    virtual void block_runs(unsigned rank) = 0;
    virtual void block_live(unsigned rank) = 0;
    /// All threads of the block have returned. Told where a cluster has several blocks.
    virtual void block_left(unsigned rank) = 0;
    /// At the barrier of the cluster: the running thread arrives, with what it has done to memory or without;
    /// or has seen all arrive; or all have arrived.
    enum class AtCluster { arrives, arrives_relaxed, waited, completes };
    virtual void at_cluster_barrier(AtCluster what) = 0;
    /// From here on that thread of the block runs.
    virtual void thread_runs(int thread) = 0;
    /// Every thread in [first, last), a warp, waits or has returned; `returned`: all have.
    virtual void warp_paused(int first, int last, bool returned) = 0;
    /// The threads of the warp from `first` on that `lanes` names have met (__syncwarp, shuffles, votes).
    virtual void warp_met(int first, unsigned lanes) = 0;
    /// The running thread waits at a barrier of its block from here on; all threads have met there.
    virtual void barrier_reached(const Site& site) = 0;
    virtual void barrier_met() = 0;
    /// These threads of the running block, and no others, have met at a barrier.
    virtual void some_met(const std::vector<int>& threads) = 0;
    /// All lanes of the running thread's warp have come to this instruction.
    virtual void warp_executes(const Site& site) = 0;
    /// The running thread reads or writes `bytes` bytes of shared memory for an instruction of its whole
    /// warp, or takes part in it and does neither (null).
    virtual void warp_accesses(const void* caller, const void* address, int bytes, bool writes) = 0;
    /// The running thread reads and writes what lies at the address, atomically.
    virtual void atomic(const void* caller, const void* address, int bytes) = 0;
    /// The running thread comes to a flag of 4 bytes (common/ptx/flags.hpp): reads it to acquire, which it
    /// may do for long; has read it; stores to it, or adds, and releases; or adds and acquires as well. To
    /// the barrier of the grid, which is no access to memory: arrives, and leaves.
    enum class AtFlag { acquires, acquired, stores, adds, adds_acquiring, arrives, leaves };
    virtual void flag(AtFlag what, const void* caller, const void* address) = 0;
    /// The running thread starts a copy; `caller` is the return address into the kernel.
    virtual void copy_begins(const void* caller, void* shared, const void* global, int bytes, int valid) = 0;
    /// The running thread has waited for it.
    virtual void copy_ends(const void* caller, void* shared, int bytes) = 0;
    /// It has closed a group of its copies; it has waited for so many more groups.
    virtual void copies_committed() = 0;
    virtual void copies_waited(int groups) = 0;
    /// At an mbarrier: the running thread has begun it, makes it expect bytes, arrives, waits from here on,
    /// has seen a phase complete (`caller` is the return address into the kernel); or, whoever has caused it,
    /// a phase is complete. Relaxed: and says nothing of what it has done to memory; of the cluster: and
    /// knows what threads of other blocks did. It is an mbarrier of the block that is live. count: where it
    /// begins, arrivals a phase; the bytes that are expected.
    enum class AtMbarrier {
        begins,
        expects,
        arrives,
        arrives_relaxed,
        waits,
        waited,
        waited_cluster,
        completes
    };
    virtual void at_mbarrier(AtMbarrier what, const void* caller, const void* mbarrier,
                             std::uint64_t count) = 0;
    /// The running thread has made the mbarriers that it has begun visible to the copy engine.
    virtual void mbarriers_fenced() = 0;
    /// The running thread starts a copy of the copy engine, see bulk_copies.hpp. It ends, for
    /// others, with the mbarrier's phase, a store when the thread has waited for its group. again: it is a
    /// part of the one before, that goes to another block.
    virtual void bulk_copy_begins(const BulkCopy& copy, bool again) = 0;
    /// All bytes of a load have come.
    virtual void bulk_copy_lands(const BulkCopy& copy) = 0;
    /// The running thread has waited until its stores of all groups before that one have read shared memory.
    virtual void bulk_copies_read(std::uint64_t group) = 0;
    /// The running thread is the first of a warpgroup to come to a wgmma, which reads 16 bytes from each of
    /// these places of shared memory (null: where no array is), and belongs to that batch.
    virtual void wgmma_begins(const void* caller, const WgmmaMultiply& call,
                              const std::vector<const void*>& places, int warpgroup, std::uint64_t batch) = 0;
    /// The running thread has waited until all batches of its warpgroup before that one have been computed.
    virtual void wgmma_waited(int warpgroup, std::uint64_t batch) = 0;
    /// The running thread has ordered what is known to it for the copy engine.
    virtual void proxy_fenced() = 0;
    /// The running thread orders what it does to memory for other blocks.
    virtual void fenced() = 0;
    /// Where an instruction of the kernel's stands in its source, "file:line"; for words about it.
    virtual std::string line_of(const void* instruction) = 0;
    /// The kernel has made a mistake that ends it: what is computed from here on, to say so, is not its own.
    virtual void fails() = 0;
    /// It was tolerated, and is in words: from here on all is the kernel's own again.
    virtual void goes_on() = 0;
    virtual void blocks_end() = 0;  // also of a cluster that failed
    /// The host has copied to the device's memory, or filled it. In its own thread, between launches.
    virtual void host_writes(const void* start, std::size_t bytes) = 0;

  protected:
    ~Observer() = default;
};

/// In a kernel: an instruction that all 32 lanes of the warp execute together, or the launch fails (PTX ISA,
/// "mma", "ldmatrix", "wmma": .sync.aligned). `compute` gets each lane's `operands` as its 8-byte input, and
/// writes through it. Unlike other collectives it orders no memory accesses.
void warp_instruction(Collective compute, void* operands, Site site);
/// In a kernel, on behalf of an instruction of the whole warp: copies 16 bytes of shared memory, whose
/// address must be a multiple of 16, to `to`; null: takes part, and reads nothing.
void read_matrix_row(const void* caller, const void* address, void* to, const Site& site);
/// The same from `from` to shared memory.
void write_matrix_row(const void* caller, void* address, const void* from, const Site& site);

/// For the tracer, in a kernel: leaves it for good; the launch's error says `why`, which stays valid.
void stop_kernel(const char* why);
/// The same if the running thread was found to hang.
void stop_if_interrupted();

/// The process's observer; null for none. Not set while a launch runs.
void set_observer(Observer* observer);
Observer* observer();

struct RunOptions {
    std::function<void(std::uint64_t, std::uint64_t)> progress;
    std::function<bool(std::uint64_t)> filter;
    double hang_seconds = 60;
    std::uint64_t seed = 0;
};

/// Runs every block of a valid grid on worker threads; throws gemm::Error for the first block that went
/// wrong.
void run_grid(const Grid& grid, const RunOptions& options);

}  // namespace cpu_device
