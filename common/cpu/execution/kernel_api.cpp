// What kernels call: cuda_runtime.h's, tensor.hpp's, async.hpp's and warpgroup.hpp's functions, passed on to
// the block that runs on this OS thread.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "common/cpu/execution/workers.hpp"
#include "common/cpu/ptx/async.hpp"
#include "common/cpu/ptx/barrier.hpp"
#include "common/cpu/ptx/barrier_object.hpp"
#include "common/cpu/ptx/cluster.hpp"
#include "common/cpu/ptx/flags.hpp"
#include "common/cpu/ptx/shared_numbers.hpp"
#include "common/cpu/ptx/tensor.hpp"
#include "common/cpu/ptx/warpgroup.hpp"
#include "common/cpu/ptx/warpgroup_types.hpp"
#include "common/facts.hpp"

namespace cpu_device {
namespace {

// What a kernel's overflowing shared array can reach lies in pads, not in the pointer that the runtime lives
// by.
struct alignas(64) ThreadLocal {
    std::array<char, 65536> below;
    Worker* worker;
    std::array<char, 65536> above;
};
thread_local ThreadLocal local;

Registers& registers() {
    return local.worker->registers;
}
Block& block() {
    return *registers().block;
}

}  // namespace

Worker* this_worker() {
    return local.worker;
}
void set_this_worker(Worker* worker) {
    local.worker = worker;
}

Block& running_block() {
    return block();
}

const uint3& thread_idx() {
    return registers().thread_idx;
}
const uint3& block_idx() {
    return registers().block_idx;
}
const dim3& block_dim() {
    return registers().block_dim;
}
const dim3& grid_dim() {
    return registers().grid_dim;
}
void* dynamic_shared() {
    return block().dynamic_shared();
}
namespace {
std::size_t& most_declared() {
    static std::size_t bytes = 1;
    return bytes;
}
}  // namespace
bool declare_dynamic_alignment(std::size_t bytes) {
    most_declared() = std::max(most_declared(), bytes);
    return true;
}
std::size_t dynamic_alignment() {
    return most_declared();
}
int barrier(Site site, bool predicate) {
    return block().barrier(site, predicate);
}
void grid_barrier(Site site) {
    block().grid_barrier(__builtin_return_address(0), site);
}
bool is_cooperative() {
    return block().is_cooperative();
}
void named_barrier(unsigned id, unsigned threads, Site site) {
    block().named_barrier(id, threads, site, true);
}
void named_barrier_arrive(unsigned id, unsigned threads, Site site) {
    block().named_barrier(id, threads, site, false);
}
unsigned active_mask(Site site) {
    return block().active_mask(site);
}
void trap(Site site) {
    if (local.worker == nullptr)
        throw gemm::Fault(gemm::FaultId::trap, std::string(site.what) + " at " + site.file + ":" +
                                                   std::to_string(site.line) +
                                                   ", in code of the host, ended the launch.");
    throw Trapped{site};
}
void stop_kernel(const char* why) {
    if (local.worker != nullptr) local.worker->stop(why);
}
void stop_if_interrupted() {
    if (local.worker != nullptr && local.worker->pulse.interrupted) local.worker->stop(nullptr);
}

void pause(Site site) {
    block().pause(site);
}
void fence() {
    registers().effects.signals = true;
    if (Observer* o = observer()) o->fenced();
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

// A thread that reads the same value three times spins.
constexpr unsigned kPolls = 2;

unsigned load_acquire(const unsigned* flag, Site site) {
    Observer* const o = observer();
    if (o != nullptr) o->flag(Observer::AtFlag::acquires, __builtin_return_address(0), flag);
    unsigned value = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
    if (block().polled(flag, sizeof *flag, value, kPolls, site)) {
        if (o != nullptr) o->flag(Observer::AtFlag::acquires, __builtin_return_address(0), flag);
        value = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
    }
    if (o != nullptr) o->flag(Observer::AtFlag::acquired, __builtin_return_address(0), flag);
    return value;
}
void store_release(unsigned* flag, unsigned value) {
    if (Observer* o = observer()) o->flag(Observer::AtFlag::stores, __builtin_return_address(0), flag);
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
    block().changed(flag);
}
unsigned add_release(unsigned* flag, unsigned value, bool acquire) {
    if (Observer* o = observer())
        o->flag(acquire ? Observer::AtFlag::adds_acquiring : Observer::AtFlag::adds,
                __builtin_return_address(0), flag);
    block().changed(flag);
    return __atomic_fetch_add(flag, value, __ATOMIC_ACQ_REL);
}

void async_copy(void* shared, const void* global, int bytes, int valid) {
    block().step(__builtin_return_address(0), shared);
    block().copies().start(registers().running_thread,
                           {__builtin_return_address(0), shared, global, bytes, valid});
}
void async_commit() {
    block().copies().commit(registers().running_thread);
}
void async_wait(int pending_groups) {
    block().copies().wait(registers().running_thread, pending_groups);
}
std::uint64_t collective(unsigned mask, Collective compute, std::uint64_t in, int argument, int width,
                         Site site) {
    return block().collective(mask, compute, in, argument, width, site, false);
}

void warp_instruction(Collective compute, void* operands, Site site) {
    block().collective(~0u, compute, reinterpret_cast<std::uint64_t>(operands), 0, kWarp, site, true);
}
int lane() {
    return registers().running_thread % kWarp;
}
void read_matrix_row(const void* caller, const void* address, void* to, const Site& site) {
    block().matrix_row(caller, address, to != nullptr, false, site);
    if (to != nullptr) std::memcpy(to, address, 16);
}
void write_matrix_row(const void* caller, void* address, const void* from, const Site& site) {
    block().matrix_row(caller, address, from != nullptr, true, site);
    if (from != nullptr) std::memcpy(address, from, 16);
}

void mbarrier_init(void* barrier, unsigned arrivals, Site site) {
    block().mbarrier_init(__builtin_return_address(0), barrier, arrivals, site);
}
void mbarrier_inval(void* barrier, Site site) {
    block().mbarrier_inval(barrier, site);
}
void mbarrier_expect_tx(void* barrier, unsigned bytes, Site site) {
    block().mbarrier_expect(__builtin_return_address(0), barrier, bytes, site);
}
void mbarrier_arrive(void* barrier, unsigned count, Site site) {
    block().mbarrier_arrive(__builtin_return_address(0), barrier, count, 0, site);
}
void mbarrier_arrive_expect_tx(void* barrier, unsigned bytes, Site site) {
    block().mbarrier_arrive(__builtin_return_address(0), barrier, 1, bytes, site);
}
bool mbarrier_is_complete(void* barrier, unsigned parity, Site site) {
    return block().mbarrier_is_complete(__builtin_return_address(0), barrier, parity, false, site);
}
void mbarrier_wait(void* barrier, unsigned parity, Site site) {
    while (!block().mbarrier_is_complete(__builtin_return_address(0), barrier, parity, false, site)) {
    }
}
void fence_mbarrier_init() {
    block().fence_mbarrier_init();
}
void fence_proxy_async() {
    block().fence_proxy_async();
}
void tensor_load(void* shared, const CUtensorMap& map, const int* at, int rank, void* barrier, Site site) {
    block().tensor_copy(__builtin_return_address(0), true, shared, map, at, rank, barrier, site);
}
void tensor_store(const CUtensorMap& map, const int* at, int rank, const void* shared, Site site) {
    block().tensor_copy(__builtin_return_address(0), false, const_cast<void*>(shared), map, at, rank, nullptr,
                        site);
}
void bulk_load(void* shared, const void* global, unsigned bytes, void* barrier, Site site) {
    block().bulk_copy(__builtin_return_address(0), true, shared, const_cast<void*>(global), bytes, barrier,
                      site);
}
void bulk_store(void* global, const void* shared, unsigned bytes, Site site) {
    block().bulk_copy(__builtin_return_address(0), false, const_cast<void*>(shared), global, bytes, nullptr,
                      site);
}
void bulk_commit() {
    block().bulk_commit();
}
void bulk_wait(int pending_groups, bool read) {
    block().bulk_wait(pending_groups, read);
}

const ClusterPlace& cluster_place() {
    return registers().cluster_place;
}
void cluster_arrive(bool release, Site site) {
    block().cluster_arrive(release, site);
}
void cluster_wait(Site site) {
    block().cluster_wait(site);
}
void* at_rank(const void* shared, unsigned rank, Site site) {
    return block().at_rank(shared, rank, site);
}
void mbarrier_arrive_at(void* barrier, unsigned rank, unsigned count, bool release, Site site) {
    block().mbarrier_arrive_at(__builtin_return_address(0), barrier, rank, count, release, site);
}
void mbarrier_wait_cluster(void* barrier, unsigned parity, Site site) {
    while (!block().mbarrier_is_complete(__builtin_return_address(0), barrier, parity, true, site)) {
    }
}
void tensor_load_multicast(void* shared, const CUtensorMap& map, const int* at, int rank, void* barrier,
                           std::uint16_t blocks, Site site) {
    block().tensor_multicast(__builtin_return_address(0), shared, map, at, rank, barrier, blocks, site);
}

unsigned mbarrier_parity(void* barrier, Site site) {
    return block().mbarrier_parity(barrier, site);
}
unsigned shared_number(const void* generic) {
    return block().shared_number(generic);
}
void* shared_pointer(unsigned long long number) {
    return block().shared_pointer(static_cast<unsigned>(number));
}
void unknown_instruction(Site site) {
    block().unknown_instruction(site);
}
void unknown_call(const char* name) {
    throw gemm::Error(std::string(name) + "() was called, which the CPU device does not have.");
}
unsigned shared_address(const void* shared) {
    return block().shared_address(shared);
}
void wgmma_fence(Site site) {
    block().wgmma_fence(site);
}
void wgmma(const WgmmaCall& call, Site site) {
    const auto input = call.half ? gemm::ptx::WgmmaInput::f16 : gemm::ptx::WgmmaInput::bf16;
    const WgmmaMultiply multiply{.input_a = input,
                                 .input_b = input,
                                 .sums = call.sums,
                                 .count = call.count,
                                 .registers = call.registers,
                                 .a = call.a,
                                 .b = call.b,
                                 .major_a = call.major_a,
                                 .major_b = call.major_b,
                                 .minus_a = call.minus_a,
                                 .minus_b = call.minus_b,
                                 .add = call.add};
    block().wgmma(__builtin_return_address(0), multiply, site);
}
void wgmma(const WgmmaMultiply& multiply, Site site) {
    block().wgmma(__builtin_return_address(0), multiply, site);
}
void wgmma_commit(Site site) {
    block().wgmma_commit(site);
}
void wgmma_wait(int pending_batches, Site site) {
    block().wgmma_wait(pending_batches, site);
}
void set_registers(int count, bool more, Site site) {
    block().set_registers(count, more, site);
}

}  // namespace cpu_device
