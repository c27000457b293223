#include "common/cpu/execution/block.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/tolerance.hpp"
#include "common/error.hpp"

namespace cpu_device {

namespace context = boost::context;

std::string text(dim3 v) {
    return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")";
}
std::string text(const Site& site) {
    stop_observing();
    return std::string(site.what) + " at " + site.file + ":" + std::to_string(site.line);
}
std::string seconds(double s) {
    stop_observing();
    return std::to_string(static_cast<long>(s)) + (s == 1 ? " second" : " seconds");
}
dim3 unflatten(std::uint64_t i, dim3 extent) {
    return {static_cast<unsigned>(i % extent.x), static_cast<unsigned>(i / extent.x % extent.y),
            static_cast<unsigned>(i / extent.x / extent.y)};
}

namespace {
bool same_place(const Site& a, const Site& b) {
    return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}
}  // namespace

void Block::prepare(const Grid& grid, double hang_seconds, std::uint64_t seed) {
    // The first block of a worker is often the only one; others have stacks as they need them.
    count_ = grid.threads();
    if (!stacks_ || stacks_->size() < static_cast<std::size_t>(count_)) forget_fibers();
    grid_ = &grid;
    hang_seconds_ = hang_seconds;
    seed_ = seed;
    registers_.block_dim = grid.block;
    registers_.grid_dim = grid.grid;
    const auto count = static_cast<std::size_t>(count_);
    threads_.resize(count);
    indices_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const dim3 index = unflatten(i, grid.block);
        indices_[i] = {index.x, index.y, index.z};
    }
    // Pads: a kernel that leaves its shared memory must not break the heap.
    const std::uintptr_t declared = std::max<std::uintptr_t>(dynamic_alignment(), 16);
    const std::uintptr_t aligned = std::max<std::uintptr_t>(2 * declared, 1024);
    dynamic_storage_.resize(grid.dynamic_shared_bytes + 2 * aligned + 2 * kSharedPad);
    std::uintptr_t start = reinterpret_cast<std::uintptr_t>(dynamic_storage_.data()) + kSharedPad;
    start = (start + aligned - 1) / aligned * aligned;
    dynamic_shared_ = reinterpret_cast<void*>(least_aligned() ? start + declared : start);
    if (cluster_.size() > 1) statics_.prepare(*grid.shared);
    static_shared_ = thread_local_start();
    static_shared_bytes_ = thread_local_bytes();
}

void Block::begin(std::uint64_t index) {
    const dim3 at = unflatten(index, grid_->grid);
    index_ = {at.x, at.y, at.z};
    linear_index_ = index;
    async_ = false;
    states_.assign(static_cast<std::size_t>(count_), State::not_started);
    gathered_.assign(static_cast<std::size_t>((count_ + kWarp - 1) / kWarp), 0);
    copies_.begin_block(static_cast<std::size_t>(count_));
    done_ = at_barrier_ = 0;
    polling_ = 0;
    polls_used_ = false;
    named_.fill({});
    error_.reset();
    pulse_.interrupted = false;
    pulse_.give_up = false;

    // As on a GPU, shared memory starts with what was there before; a NaN shows whoever reads it unwritten.
    for (const SharedArray& array : *grid_->shared) {
        std::memset(shared_array_address(array), kGarbage, array.bytes);
    }
    std::memset(dynamic_shared_, kGarbage, grid_->dynamic_shared_bytes);

    const dim3 dim = grid_->cluster, blocks = grid_->grid;
    place_ = {.rank = rank_,
              .size = cluster_.size(),
              .block = {at.x % dim.x, at.y % dim.y, at.z % dim.z},
              .dim = dim,
              .id = {at.x / dim.x, at.y / dim.y, at.z / dim.z},
              .count = {blocks.x / dim.x, blocks.y / dim.y, blocks.z / dim.z}};
}

BlockView Block::view() const {
    return {grid_,
            linear_index_,
            &registers_.running_thread,
            stacks_->begin(),
            stacks_->end(),
            reinterpret_cast<const std::byte*>(&registers_),
            reinterpret_cast<const std::byte*>(&registers_ + 1),
            static_cast<std::byte*>(dynamic_shared_),
            &pulse_.interrupted,
            &statics_.homes()};
}

void Block::give_up_memory() {
    for (const SharedArray& array : *grid_->shared)
        std::memset(shared_array_address(array), kGarbage, array.bytes);
    std::memset(dynamic_shared_, kGarbage, grid_->dynamic_shared_bytes);
}

Block::Progress Block::advance(bool held) {
    if (pulse_.give_up) hanging();
    registers_.block = this;
    registers_.block_idx = index_;
    registers_.cluster_place = place_;
    if (polling_ > 0) wake_polling();
    bool moved = false;
    // Where warps wait for each other at mbarriers, any of them may be the first to go on.
    const int turn = async_ ? static_cast<int>(dice_.below(static_cast<std::size_t>(warps()))) : 0;
    for (int i = 0; i < warps(); ++i) {
        const int warp = (i + turn) % warps(), first = warp * kWarp, last = std::min(first + kWarp, count_);
        if (held != (warp == held_)) continue;
        // Who is held back goes on until it has made way for others, perhaps with lanes that could go on,
        // too; under a tracer, which counts together what a warp does between two pauses, until it pauses.
        Observer* const o = observer();
        bool made_way = false;
        while (!made_way && (sweep_warp(first, last) || release_lanes(first, last))) {
            moved = true;
            made_way = held && o == nullptr && others_ready(first, last);
        }
        if (o != nullptr) {
            const auto begin = states_.begin() + first, end = states_.begin() + last;
            o->warp_paused(first, last, std::count(begin, end, State::done) == last - first);
        }
    }
    if (done_ == count_) {
        if (async_) check_nothing_left();
        return Progress::done;
    }
    if (at_barrier_ > 0 && at_barrier_ + done_ == count_) {
        release_barrier();
        return Progress::moved;
    }
    return moved ? Progress::moved : Progress::stuck;
}

/// Whether a thread can run that is not of this warp.
bool Block::others_ready(int first, int last) const {
    const auto is_ready = [](State state) { return state == State::ready; };
    return std::any_of(states_.begin(), states_.begin() + first, is_ready) ||
           std::any_of(states_.begin() + last, states_.end(), is_ready);
}

/// Runs every lane of a warp that can run; false when none could.
bool Block::sweep_warp(int first, int last) {
    bool moved = false;
    sweep_end_ = last;
    for (cursor_ = first; cursor_ < last; ++cursor_) {
        if (state(cursor_) != State::not_started && state(cursor_) != State::ready) continue;
        moved = true;
        resume(cursor_);  // advances cursor_ over the threads that its fiber runs on the way
        if (!guarded_) check_stack();
        if (error_) throw *error_;
    }
    return moved;
}

void Block::enter(int i) {
    registers_.running_thread = i;
    registers_.thread_idx = indices_[static_cast<std::size_t>(i)];
    Pulse::beat(pulse_.heartbeat);
    if (Observer* o = observer()) o->thread_runs(i);
}

void Block::resume(int i) {
    if (state(i) == State::ready) {
        running_ = thread(i).fiber;
    } else {
        if (idle_.empty()) idle_.push_back(fresh_fiber());
        running_ = idle_.back();
        idle_.pop_back();
        running_->thread = i;
    }
    state(i) = State::ready;
    enter(i);
    Fiber* const fiber = running_;
    {
        const OnOtherStack there(fiber->stack);
        context::fiber suspended = std::move(fiber->self).resume();
        fiber->self = std::move(suspended);
    }
    running_ = nullptr;
}

/// A fiber comes back that has run a thread: whether it has kept to its stack.
[[gnu::noinline]] void Block::check_stack() {
    const int i = registers_.running_thread;
    const Fiber* const fiber = state(i) == State::done ? idle_.back() : thread(i).fiber;
    if (!stacks_->intact(fiber->stack.bottom))
        error_ = {FaultId::stack_overflow, where(i) + stack_overflow_text()};
}

Block::Fiber* Block::fresh_fiber() {
    Fiber& fresh = fibers_.emplace_back();
    StackAllocator allocator{&*stacks_};
    const context::stack_context stack = allocator.allocate();
    fresh.stack = {static_cast<char*>(stack.sp) - stack.size, stack.size};
    const context::preallocated here(stack.sp, stack.size, stack);
    fresh.self = context::fiber(std::allocator_arg, here, allocator, [this, &fresh](context::fiber&& back) {
        const NewStack used(fresh.worker);
        fresh.back = std::move(back);
        fiber_main(fresh);
        return std::move(fresh.back);
    });
    return &fresh;
}

/// A fiber's life: runs CUDA threads, then rests in the pool until it gets another.
void Block::fiber_main(Fiber& fiber) {
    for (;;) {
        run_thread(fiber.thread);
        // The sweep goes on here as long as the next lane has not started: no switch needed.
        const int next = cursor_ + 1;
        if (!error_ && next < sweep_end_ && state(next) == State::not_started) {
            cursor_ = fiber.thread = next;
            enter(next);
            continue;
        }
        idle_.push_back(&fiber);
        suspend(fiber);
    }
}

void Block::run_thread(int i) {
    try {
        grid_->call(grid_->context);
    } catch (const context::detail::forced_unwind&) {
        throw;  // the fiber is being destroyed
    } catch (const BlockFailure& failure) {
        error_ = failure;
    } catch (const Trapped& trapped) {
        error_ = {FaultId::trap, where(i) + text(trapped.site) + " ended the kernel."};
    } catch (const std::exception& e) {
        std::string message = where(i) + "an exception left the kernel: " + e.what();
        if (message.back() != '.') message += '.';
        error_ = {FaultId::kernel_threw, std::move(message)};
    } catch (...) {
        error_ = {FaultId::kernel_threw, where(i) + "an exception left the kernel."};
    }
    state(i) = State::done;
    ++done_;
    cluster_.returned(thread(i).cluster_phase);
    ++registers_.effects.strong;
    Pulse::beat(pulse_.returned);
}

void Block::wait_as(State waiting) {
    Fiber& fiber = *running_;
    state(fiber.thread) = waiting;
    current().fiber = &fiber;
    if (waiting == State::at_barrier) ++at_barrier_;
    suspend(fiber);
}

/// Until it is resumed.
void Block::suspend(Fiber& fiber) {
    const OnOtherStack there(fiber.worker);
    fiber.back = std::move(fiber.back).resume();
}

int Block::barrier(Site site, bool predicate) {
    Thread& t = current();
    t.site = site;
    t.in = predicate ? 1 : 0;
    if (Observer* o = observer()) o->barrier_reached(site);
    wait_as(State::at_barrier);
    return static_cast<int>(t.out);
}

void Block::named_barrier(unsigned id, unsigned threads, const Site& site, bool waits) {
    use_async();
    // (0 is that of __syncthreads(), which no wrapper of the house gives to some threads.)
    if ((id == 0 && !tolerant()) || id >= named_.size())
        wrong(FaultId::divergent_barrier, site,
              "names barrier " + std::to_string(id) + ", but those for some threads are 1 to 15");
    if (threads == 0 || threads % kWarp != 0 || threads > static_cast<unsigned>(count_))
        wrong(FaultId::divergent_barrier, site,
              "waits for " + std::to_string(threads) + " threads, which are no whole warps of the block");
    Named& barrier = named_[id];
    if (barrier.came > 0 && barrier.wanted != threads)
        wrong(FaultId::divergent_barrier, site,
              "waits for " + std::to_string(threads) + " threads at barrier " + std::to_string(id) +
                  ", where others wait for " + std::to_string(barrier.wanted));
    const int self = running_->thread, first = self / kWarp * kWarp, last = std::min(first + kWarp, count_);
    const auto here = [&](int i) { return state(i) == State::at_named && thread(i).named == id; };
    Thread& t = current();
    t.site = site;
    t.named = id;
    barrier.wanted = threads;
    Observer* const seen = observer();
    bool whole = waits;
    for (int i = first; i < last; ++i) whole = whole && (i == self || here(i));
    if (whole && seen != nullptr) seen->warp_executes(site);
    if (!waits) barrier.passed.push_back(self);
    if (++barrier.came < threads) {
        if (waits) wait_as(State::at_named);
        return;
    }
    // (Who has passed counts as if it had met the others: it may be told of too few races, and of none that
    // is not there.)
    std::vector<int> met = std::move(barrier.passed);
    for (int i = 0; i < count_; ++i) {
        if (!here(i) && !(waits && i == self)) continue;
        met.push_back(i);
        state(i) = State::ready;
    }
    barrier = {};
    if (seen != nullptr) seen->some_met(met);
}

/// Everyone who still lives waits at a barrier: let them go, if it is one barrier and everyone lives.
void Block::release_barrier() {
    int waiting = 0;
    while (state(waiting) != State::at_barrier) ++waiting;
    const Site site = thread(waiting).site;
    std::uint64_t holds = 0;  // for how many threads the barrier's predicate does
    for (const Thread& t : threads_) holds += t.in;
    // The hardware counts threads that arrive, wherever, and those that have returned do not count.
    const auto refuse = [&](InWords& words, const std::string& place, const std::string& why,
                            const char* rule) {
        if (words.goes_on(tolerates(FaultId::divergent_barrier, text(site) + place, why + rule))) return;
        throw BlockFailure{FaultId::divergent_barrier, why + "."};
    };
    for (int i = 0; i < count_; ++i) {
        Thread& t = thread(i);
        if (state(i) == State::done) {
            InWords words;
            refuse(words, {},
                   thread_place(i) + "divergent barrier: it returned without reaching the " + text(site) +
                       " where " + who(waiting) + " waits",
                   " (CUDA's guide has it wait for \"all non-exited threads\" of the block: a GPU goes on).");
            continue;
        }
        if (!same_place(t.site, site)) {
            InWords words;
            refuse(
                words, text(t.site),
                thread_place(i) + "divergent barrier: it waits at " + text(t.site) + ", while " +
                    who(waiting) + " waits at " + text(site),
                " (a GPU counts who arrives and goes on; CUDA's guide allows a barrier in conditional code "
                "only where the condition is the same for the whole block).");
        }
        state(i) = State::ready;
        t.out = holds;
    }
    at_barrier_ = 0;
    ++registers_.effects.weak;
    if (Observer* o = observer()) o->barrier_met();
}

void Block::hanging() const {
    int i = 0;
    while (i + 1 < count_ && state(i) == State::done) ++i;
    throw BlockFailure{FaultId::endless_loop, where(i) + "no thread of its block has returned for " +
                                                  seconds(kBarrierPatience * hang_seconds_) +
                                                  ", and it has just met the others at the " +
                                                  text(thread(i).site) + ": probably an endless loop."};
}

void Block::deadlock() const {
    const auto waits = std::find(states_.begin(), states_.end(), State::at_warpgroup);
    if (async_ && waits != states_.end()) warpgroup_deadlock(static_cast<int>(waits - states_.begin()));
    for (int i = 0; i < count_; ++i) {
        if (state(i) != State::at_named) continue;
        const Named& barrier = named_[thread(i).named];
        throw BlockFailure{FaultId::divergent_barrier,
                           where(i) + "deadlock: it waits at " + text(thread(i).site) + " for " +
                               std::to_string(barrier.wanted) + " threads, of which " +
                               std::to_string(barrier.came) + " have come, and no other can."};
    }
    // Somebody waits for lanes that will not come.
    for (int i = 0; i < count_; ++i) {
        if (state(i) != State::at_collective) continue;
        const Thread& t = thread(i);
        const int first = i / kWarp * kWarp;
        for (int lane = 0; lane < kWarp && first + lane < count_; ++lane) {
            const int other = first + lane;
            const Thread& o = thread(other);
            if ((t.mask >> lane & 1u) == 0 || state(other) == State::done ||
                (state(other) == State::at_collective && o.site.line == t.site.line &&
                 o.compute == t.compute))
                continue;
            throw BlockFailure{FaultId::deadlock, where(i) + "deadlock: it waits at " + text(t.site) +
                                                      " for " + who(other) + ", which waits at " +
                                                      text(o.site) + "."};
        }
        throw BlockFailure{FaultId::deadlock, where(i) + "deadlock: the lanes that meet at " + text(t.site) +
                                                  " name different masks."};
    }
}

bool Block::same_collective(int a, int b) const {
    const Thread &x = thread(a), &y = thread(b);
    return x.mask == y.mask && x.compute == y.compute && same_place(x.site, y.site);
}

void Block::unwind() {
    idle_.clear();
    for (Fiber& fiber : fibers_) {
        if (!fiber.self) continue;
        const OnOtherStack there(fiber.stack);
        fiber.self = {};  // unwinds it
    }
    fibers_.clear();
}

void Block::forget_fibers() {
    // Of fibers whose stacks another one has overrun nobody knows what unwinding them would do.
    const bool overrun = stacks_ && std::any_of(fibers_.begin(), fibers_.end(), [&](const Fiber& fiber) {
                             return !stacks_->intact(fiber.stack.bottom);
                         });
    for (Fiber& fiber : fibers_) {
        if (overrun && fiber.self) (void)new context::fiber(std::move(fiber.self));
    }
    unwind();
    stacks_.reset();  // a crashed fiber never gives its stack back
    stacks_ = std::make_unique<StackPool>(
        rank_ == 0 && guarded_ ? kMostThreads : static_cast<std::size_t>(count_), guarded_);
}

std::string Block::abandon() {
    jumped_to(crashed_->worker);
    (void)new context::fiber(std::move(crashed_->back));
    return where(crashed_->thread);
}

std::string Block::who(int thread) const {
    stop_observing();
    return "thread " + text(unflatten(static_cast<std::uint64_t>(thread), grid_->block));
}

std::string Block::where(int thread) const {
    stop_observing();
    return thread_place(thread);
}

std::string Block::thread_place(int thread) const {
    return std::string("kernel ") + grid_->kernel + ", block " + text({index_.x, index_.y, index_.z}) + ", " +
           who(thread) + ": ";
}

}  // namespace cpu_device
