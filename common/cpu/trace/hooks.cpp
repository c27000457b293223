// The access hooks: gcc's -fsanitize=thread calls a function before every access to memory; linked with these
// instead of libtsan, each access of a kernel comes here with its address. And what the scheduler tells.
#include "common/cpu/trace/hooks.hpp"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/tolerance.hpp"
#include "common/cpu/trace/block_trace.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

bool hooked = false;

namespace {

struct alignas(64) Local {
    std::array<char, 65536> below;
    Requests::Here here;              // of the running thread, while its accesses are recorded; else nowhere
    BlockTrace* trace;                // while a block runs, but for the time that tracing itself takes
    BlockTrace* failed;               // that which was recording when a mistake was put into words
    BlockTrace* own;                  // of the clusters that the worker has side by side, that which runs
    std::vector<BlockTrace*>* sides;  // of all of them, once it has had some; it keeps them
    unsigned side;                    // which runs
    bool running;                     // a block
    // The stacks of the block's threads: most of what a kernel compiled for tracing accesses are its own
    // local variables, which nobody records.
    Address stacks, stacks_bytes;
    std::array<char, 65536> above;
};
// Padded like the scheduler's: an overflowing array must not reach the pointers.
constinit thread_local Local local{};

/// The hooks leave everything alone from here on. Whoever was recording; null for nobody.
BlockTrace* stop_recording() {
    BlockTrace* const was = local.trace;
    if (was == nullptr) return nullptr;
    was->here() = local.here;
    local.here = {};
    local.trace = nullptr;
    return was;
}
void record_with(BlockTrace* trace) {
    if (trace == nullptr) return;
    local.here = trace->here();
    local.trace = trace;
}

/// Nothing is recorded while it lives. The linker may take an inline function that a traced kernel and this
/// program share (std::string's) from the kernel's object, with hooks in it.
class Quiet {
  public:
    Quiet() : was_(stop_recording()) {}
    ~Quiet() { record_with(was_); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;
    /// Whoever was recording.
    BlockTrace* operator->() const { return was_; }

  private:
    BlockTrace* was_;
};

/// Whose threads run from here on.
void use_stacks(const BlockView& view) {
    local.stacks = address_of(view.stacks);
    local.stacks_bytes = address_of(view.stacks_end) - local.stacks;
}

class Tracer final : public Observer {
  public:
    void launch_begins(const Grid& grid, std::uint64_t blocks) override {
        session->launch_begins(grid, blocks);
    }
    void blocks_begin(const std::vector<BlockView>& views) override {
        stop_recording();
        local.failed = nullptr;
        // On the heap: what an overflowing shared array finds behind it are pads.
        if (local.sides == nullptr) local.sides = new std::vector<BlockTrace*>;
        while (local.sides->size() <= local.side) local.sides->push_back(new BlockTrace);
        local.own = (*local.sides)[local.side];
        local.own->begin(views);
        use_stacks(views.front());
        record_with(local.own);
        local.running = true;
    }
    void side_runs(unsigned number) override {
        stop_recording();
        local.side = number;
        local.running =
            local.sides != nullptr && number < local.sides->size() && (*local.sides)[number]->in_block();
        if (!local.running) return;
        local.own = (*local.sides)[number];
        use_stacks(local.own->view());
        record_with(local.own);
    }
    void block_runs(unsigned rank) override {
        const Quiet quiet;
        local.own->block_runs(rank);
        use_stacks(local.own->view());
    }
    void block_live(unsigned rank) override {
        const Quiet quiet;
        if (local.running) local.own->block_live(rank);
    }
    void block_left(unsigned rank) override {
        const Quiet quiet;
        local.own->block_left(rank);
    }
    void at_cluster_barrier(AtCluster what) override {
        const Quiet quiet;
        local.own->at_cluster_barrier(what);
    }
    void thread_runs(int thread) override {
        const Quiet quiet;
        local.own->run(thread);
    }
    void warp_paused(int first, int, bool returned) override {
        const Quiet quiet;
        local.own->warp_paused(first, returned);
    }
    void warp_met(int first, unsigned lanes) override {
        const Quiet quiet;
        local.own->warp_met(first, lanes);
    }
    void barrier_reached(const Site& site) override {
        if (!local.own->keeps_history()) return;
        const Quiet quiet;
        local.own->barrier_reached(site);
    }
    void barrier_met() override {
        const Quiet quiet;
        local.own->barrier_met();
    }
    void some_met(const std::vector<int>& threads) override {
        const Quiet quiet;
        local.own->some_met(threads);
    }
    void warp_executes(const Site& site) override {
        if (!local.own->keeps_history()) return;
        const Quiet quiet;
        local.own->warp_executes(site);
    }
    void warp_accesses(const void* caller, const void* address, int bytes, bool writes) override {
        const Quiet quiet;
        local.own->warp_accesses(caller, address_of(address), bytes, writes);
    }
    void atomic(const void* caller, const void* address, int bytes) override {
        const Quiet quiet;
        local.own->atomic(caller, address_of(address), bytes);
    }
    void flag(AtFlag what, const void* caller, const void* address) override {
        const Quiet quiet;
        local.own->flag(what, caller, address_of(address));
    }
    void copy_begins(const void* caller, void* shared, const void* global, int bytes, int valid) override {
        const Quiet quiet;
        local.own->copy_begins(caller, address_of(shared), address_of(global), bytes, valid);
    }
    void copy_ends(const void* caller, void* shared, int bytes) override {
        const Quiet quiet;
        local.own->copy_ends(caller, address_of(shared), bytes);
    }
    void copies_committed() override {
        if (!local.own->keeps_history()) return;
        const Quiet quiet;
        local.own->copies_committed();
    }
    void copies_waited(int groups) override {
        if (!local.own->keeps_history()) return;
        const Quiet quiet;
        local.own->copies_waited(groups);
    }
    void at_mbarrier(AtMbarrier what, const void* caller, const void* mbarrier,
                     std::uint64_t count) override {
        const Quiet quiet;
        local.own->at_mbarrier(what, caller, mbarrier, count);
    }
    void mbarriers_fenced() override {
        const Quiet quiet;
        local.own->mbarriers_fenced();
    }
    void bulk_copy_begins(const BulkCopy& copy, bool again) override {
        const Quiet quiet;
        local.own->bulk_copy_begins(copy, again);
    }
    void bulk_copy_lands(const BulkCopy& copy) override {
        if (!local.own->keeps_history()) return;
        const Quiet quiet;
        local.own->bulk_copy_lands(copy);
    }
    void bulk_copies_read(std::uint64_t group) override {
        const Quiet quiet;
        local.own->bulk_copies_read(group);
    }
    void wgmma_begins(const void* caller, const WgmmaMultiply& call, const std::vector<const void*>& places,
                      int warpgroup, std::uint64_t batch) override {
        const Quiet quiet;
        local.own->wgmma_begins(caller, call, places, warpgroup, batch);
    }
    void wgmma_waited(int warpgroup, std::uint64_t batch) override {
        const Quiet quiet;
        local.own->wgmma_waited(warpgroup, batch);
    }
    void proxy_fenced() override {
        const Quiet quiet;
        local.own->proxy_fenced();
    }
    void fenced() override {
        session->fenced = true;
        const Quiet quiet;
        local.own->fenced();
    }
    void host_writes(const void* start, std::size_t bytes) override {
        session->host_writes(address_of(start), bytes);
    }
    std::string line_of(const void* instruction) override {
        const Quiet quiet;
        return place_of(site_of(static_cast<const char*>(instruction) + 1))
            .text();  // as if it had returned there
    }
    void fails() override {
        if (BlockTrace* const was = stop_recording()) {
            was->fails();
            local.failed = was;
        }
    }
    void goes_on() override {
        BlockTrace* const was = std::exchange(local.failed, nullptr);
        if (was == nullptr || was != local.own || !local.running) return;
        was->goes_on();
        record_with(was);
    }
    void blocks_end() override {
        stop_recording();
        if (!local.running) return;
        local.running = false;
        local.own->end();
    }
};

/// Out of line, and looks again for what its caller knows: so that record() keeps nothing across a call.
[[gnu::noinline]] void look(void* return_address, Address address, int width, std::uint8_t flags) {
    const Quiet recording;
    recording->access(return_address, address, width, flags);
}
[[gnu::noinline]] void look_at_block(void* return_address) {
    const Quiet recording;
    recording->step(return_address);
}

/// What is no local variable.
[[gnu::noinline]] void record_outside(void* return_address, Address at, int width, std::uint8_t flags) {
    if (local.here.key == nullptr) return;
    if (lanes_in_step()) running_block().step(return_address, reinterpret_cast<const void*>(at));
    if (local.here.leads_to(Requests::Key::access(return_address, width, flags), at, width) &&
        local.trace->follows(local.here, at, width, flags & kStore)) {
        return;
    }
    look(return_address, at, width, flags);
}

inline void record(void* return_address, const void* address, int width, std::uint8_t flags) {
    const Address at = address_of(address);
    if (at - local.stacks >= local.stacks_bytes) record_outside(return_address, at, width, flags);
}

/// A struct (float3, eight floats): no instruction moves it in one; in the widest pieces that its size and
/// its place allow.
inline void record_range(void* return_address, const void* address, std::size_t bytes, std::uint8_t flags) {
    if (local.trace == nullptr) return;
    const std::size_t place = bytes | reinterpret_cast<std::size_t>(address) | 16;
    const std::size_t piece = place & (~place + 1);
    for (std::size_t at = 0; at < bytes; at += piece) {
        record(return_address, static_cast<const char*>(address) + at, static_cast<int>(piece), flags);
    }
}

}  // namespace

Observer& tracer() {
    static Tracer tracer;
    return tracer;
}

void record_atomic(void* return_address, const volatile void* address, int width, bool store) {
    record(return_address, const_cast<const void*>(address), width,
           static_cast<std::uint8_t>(store ? kStore | kAtomic : kAtomic));
}

void record_fence() {
    if (local.trace != nullptr) session->fenced = true;
}

// ---- what gcc calls ----

extern "C" {
#define ACCESS_HOOKS(width)                                    \
    void __tsan_read##width(void* p) {                         \
        record(__builtin_return_address(0), p, width, 0);      \
    }                                                          \
    void __tsan_write##width(void* p) {                        \
        record(__builtin_return_address(0), p, width, kStore); \
    }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)
#undef ACCESS_HOOKS
#define UNALIGNED_HOOKS(width)                                 \
    void __tsan_unaligned_read##width(void* p) {               \
        record(__builtin_return_address(0), p, width, 0);      \
    }                                                          \
    void __tsan_unaligned_write##width(void* p) {              \
        record(__builtin_return_address(0), p, width, kStore); \
    }
UNALIGNED_HOOKS(2)
UNALIGNED_HOOKS(4)
UNALIGNED_HOOKS(8)
UNALIGNED_HOOKS(16)
#undef UNALIGNED_HOOKS
void __tsan_read_range(void* p, unsigned long bytes) {
    record_range(__builtin_return_address(0), p, bytes, 0);
}
void __tsan_write_range(void* p, unsigned long bytes) {
    record_range(__builtin_return_address(0), p, bytes, kStore);
}
// What memcpy() and its like are in traced code (cuda_runtime.h).
void* cpu_device_traced_memcpy(void* to, const void* from, std::size_t bytes) {
    record_range(__builtin_return_address(0), from, bytes, 0);
    record_range(__builtin_return_address(0), to, bytes, kStore);
    return std::memcpy(to, from, bytes);
}
void* cpu_device_traced_memmove(void* to, const void* from, std::size_t bytes) {
    record_range(__builtin_return_address(0), from, bytes, 0);
    record_range(__builtin_return_address(0), to, bytes, kStore);
    return std::memmove(to, from, bytes);
}
void* cpu_device_traced_memset(void* to, int byte, std::size_t bytes) {
    record_range(__builtin_return_address(0), to, bytes, kStore);
    return std::memset(to, byte, bytes);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __sanitizer_cov_trace_pc() {
    void* const caller = __builtin_return_address(0);
    if (local.here.key != nullptr && !local.here.enters(Requests::Key::block(caller))) look_at_block(caller);
}
void __tsan_init() {
    hooked = true;
}
}  // extern "C"

}  // namespace cpu_device::trace
