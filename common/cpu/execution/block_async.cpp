// What of a block goes on beside its threads: mbarriers, and the copy engine.
//
// Unfriendly on purpose, too: a thread that begins mbarriers mostly comes to it last, so that who does not
// wait for it meets none; bytes come when no thread can go on without them, and a thread that completes a
// phase lets those go on first that have waited for it, so that a stage released early is filled again before
// its readers are done.
#include <algorithm>
#include <string>
#include <utility>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/cluster.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/tolerance.hpp"

namespace cpu_device {
namespace {

constexpr int kMostUnanswered = 4;
constexpr unsigned kMostPauses = 16;

using AtMbarrier = Observer::AtMbarrier;

void observe(AtMbarrier what, const void* caller, const void* mbarrier, std::uint64_t count = 0) {
    if (Observer* o = observer()) o->at_mbarrier(what, caller, mbarrier, count);
}

bool multiple(const void* address, std::size_t of) {
    return reinterpret_cast<std::uintptr_t>(address) % of == 0;
}

}  // namespace

void Block::use_async() {
    unanswered_ = 0;
    if (async_) return;
    async_ = true;
    mbarriers_.begin_block();
    warpgroups_.clear();
    register_counts_.clear();
    bulk_.begin_block(*grid_, static_cast<std::byte*>(dynamic_shared_), static_cast<std::size_t>(count_));
    dice_ = Dice(seed_ * 0x9e3779b97f4a7c15u + linear_index_);
    sight_ = Dice(~(seed_ * 0x9e3779b97f4a7c15u + linear_index_));
    for (Thread& t : threads_) t.refused = t.began = false, t.did = {};
}

void Block::wrong(FaultId id, const Site& site, const std::string& what) const {
    throw BlockFailure{id, where(running_->thread) + text(site) + " " + what + "."};
}

void Block::check_shared(const void* address, std::size_t bytes, std::size_t of, const char* what,
                         const Site& site, const std::string& why_so_many) {
    const bool barrier = of == sizeof(std::uint64_t);
    const FaultId id = barrier ? FaultId::mbarrier_misused : FaultId::copy_refused;
    if (!bulk_.in_shared(address, 1))
        wrong(id, site, std::string("gets ") + what + " that is not in shared memory");
    if (!multiple(address, of))
        wrong(id, site,
              std::string("gets ") + what + " at " + name_of(address) + ", but it must be at a multiple of " +
                  std::to_string(of) + " bytes");
    if (!bulk_.in_shared(address, bytes))
        wrong(id, site,
              std::string("gets ") + what + " at " + name_of(address) + ", and its " + std::to_string(bytes) +
                  " bytes reach past the end of the array" + why_so_many);
}

// ---- mbarriers ----

Mbarrier& Block::mbarrier_at(void* address, const Site& site) {
    use_async();
    check_shared(address, sizeof(std::uint64_t), sizeof(std::uint64_t), "an mbarrier", site);
    Mbarrier* found = nullptr;
    if (const std::string why = mbarriers_.find(address, found); !why.empty())
        wrong(FaultId::mbarrier_misused, site, why + ", at " + name_of(address));
    return *found;
}

/// Before a thread's first mbarrier: lets the others go on as far as they can without it, which a seed
/// decides. (The tracer knows who has not waited in any order, and says more.)
void Block::begin_late(const Site& site) {
    Thread& t = current();
    if (t.began || observer() != nullptr) return;
    t.began = true;
    if (sight_.below(4) == 0) return;
    t.site = site;
    wait_as(State::yielded);
}

void Block::pause(const Site& site) {
    use_async();
    use_polls();
    // Whoever goes on like that may wait for another block, by reads that are not seen.
    if (++polls_[static_cast<std::size_t>(running_->thread)].pauses > kMostPauses)
        return wait_polling(site, true);
    current().site = site;
    wait_as(State::yielded);
}

void Block::mbarrier_init(const void* caller, void* address, unsigned arrivals, const Site& site) {
    use_async();
    check_shared(address, sizeof(std::uint64_t), sizeof(std::uint64_t), "an mbarrier", site);
    begin_late(site);
    const std::string why =
        mbarriers_.init(address, arrivals, running_->thread, static_cast<std::size_t>(cluster_.threads()));
    if (!why.empty()) wrong(FaultId::mbarrier_misused, site, why);
    observe(AtMbarrier::begins, caller, address, arrivals);
}

void Block::mbarrier_inval(void* address, const Site& site) {
    (void)mbarrier_at(address, site);
    (void)mbarriers_.inval(address);
}

void Block::mbarrier_expect(const void* caller, void* address, unsigned bytes, const Site& site) {
    Mbarrier& barrier = mbarrier_at(address, site);
    if (const std::string why = Mbarriers::expect(barrier, bytes); !why.empty())
        wrong(FaultId::mbarrier_misused, site, why);
    observe(AtMbarrier::expects, caller, address, bytes);
    current().did = site;
    settle(barrier);
}

unsigned Block::mbarrier_parity(void* address, const Site& site) {
    return static_cast<unsigned>(mbarrier_at(address, site).phase & 1);
}

void Block::mbarrier_arrive(const void* caller, void* address, unsigned count, unsigned bytes,
                            const Site& site) {
    arrive_at(caller, *this, mbarrier_at(address, site), count, bytes, AtMbarrier::arrives, site);
    wait_as(State::arrived);
}

/// At an mbarrier of a block of the cluster, which is live. What is wrong with that, as a clause, or nothing.
std::string Block::count_arrival(int thread, const void* caller, Block& there, Mbarrier& barrier,
                                 unsigned count, unsigned bytes, AtMbarrier how) const {
    std::string why = bytes > 0 ? Mbarriers::expect(barrier, bytes) : std::string();
    if (why.empty()) why = Mbarriers::arrive(barrier, count);
    if (!why.empty()) {
        const std::string open = barrier.pending == 0 && barrier.bytes > 0
                                     ? ": its phase " + std::to_string(barrier.phase) +
                                           " still waits for bytes, so a thread has gone on without waiting "
                                           "for it, or waits for the wrong parity"
                                     : "";
        return why + ", at " + there.name_of(barrier.address) +
               (&there == this ? "" : " of block " + std::to_string(there.rank_)) + open;
    }
    if (bytes > 0) observe(AtMbarrier::expects, caller, barrier.address, bytes);
    observe(how, caller, barrier.address);
    barrier.arrived[number(thread)] = barrier.phase + 1;
    there.woken_ = 0;
    there.settle(barrier);
    return {};
}

/// The same by the running thread, which goes on when others of its warp do.
void Block::arrive_at(const void* caller, Block& there, Mbarrier& barrier, unsigned count, unsigned bytes,
                      AtMbarrier how, const Site& site) {
    const std::string why = count_arrival(running_->thread, caller, there, barrier, count, bytes, how);
    if (!why.empty()) wrong(FaultId::mbarrier_misused, site, why);
    Thread& t = current();
    t.did = site;
    t.site = site;
    t.woke = there.woken_ > 0;
}

/// Of a warp in which nobody can run: lets those go on that have arrived at mbarriers, at once unless they
/// have woken others, who go first. False where there are none, or they are not the first. (Under a tracer
/// nobody goes before some of a warp's lanes: it counts together what a warp does between two pauses, and the
/// other lanes are ahead already.)
bool Block::release_arrived(int first, int last) {
    bool any = false, all = true, woke = false;
    for (int i = first; i < last; ++i) {
        const bool arrived = state(i) == State::arrived;
        any = any || arrived;
        all = all && arrived;
        woke = woke || (arrived && thread(i).woke);
    }
    woke = woke && (all || observer() == nullptr);
    for (int i = first; i < last && any; ++i) {
        if (state(i) == State::arrived) state(i) = woke ? State::yielded : State::ready;
    }
    return any && !woke;
}

/// Where nothing is missing from the phase any more, it is complete, and whoever waits for it can go on.
void Block::settle(Mbarrier& barrier) {
    unanswered_ = 0;
    const std::uint64_t expected = barrier.expected;
    if (!Mbarriers::settle(barrier)) return;
    ++registers_.effects.weak;
    observe(AtMbarrier::completes, nullptr, barrier.address);
    const BulkCopy* copy = nullptr;
    if (const std::uint64_t bytes = bulk_.to_come(barrier.address, copy); copy != nullptr) {
        throw BlockFailure{
            FaultId::phase_too_early,
            copy->by->where(copy->thread) + "phase " + std::to_string(barrier.phase - 1) +
                " of the mbarrier " + name_of(barrier.address) + " is complete while " +
                std::to_string(bytes) + " bytes are still to come to it, of the copy that started at " +
                copy->site.file + ":" + std::to_string(copy->site.line) + ": it was told to expect " +
                std::to_string(expected) + " bytes in this phase."};
    }
    for (int i = 0; i < count_; ++i) {
        Thread& t = thread(i);
        if (state(i) != State::at_mbarrier || t.mbarrier != barrier.address || !barrier.complete(t.parity))
            continue;
        t.out = 1;
        state(i) = State::ready;
        ++woken_;
    }
}

bool Block::mbarrier_is_complete(const void* caller, void* address, unsigned parity, bool cluster,
                                 const Site& site) {
    const int unanswered = unanswered_;
    Mbarrier& barrier = mbarrier_at(address, site);
    unanswered_ = unanswered;  // to ask is no progress
    if (parity > 1)
        wrong(FaultId::mbarrier_misused, site,
              "waits for parity " + std::to_string(parity) + ", but a parity is 0 or 1");
    Thread& t = current();
    while (!barrier.complete(parity)) {
        if (!t.refused) return !(t.refused = true);
        t.site = site;
        t.mbarrier = address;
        t.parity = parity;
        observe(AtMbarrier::waits, caller, address);
        wait_as(State::at_mbarrier);
        if (t.out == 0) return false;
    }
    t.refused = false;
    barrier.seen[number()] = barrier.phase;
    if (barrier.phase == 0) barrier.passed[number()] = true;
    t.did = site;
    observe(cluster ? AtMbarrier::waited_cluster : AtMbarrier::waited, caller, address);
    return true;
}

/// When no thread can go on: lets those that have made way, or brings bytes that somebody waits for. False
/// where neither helps.
bool Block::unblock() {
    if (!async_) return false;
    bool moved = false;
    for (int i = 0; i < count_; ++i) {
        if (state(i) != State::yielded) continue;
        state(i) = State::ready;
        moved = true;
    }
    if (moved) return true;
    woken_ = 0;
    while (woken_ == 0 && bulk_.loads_under_way()) {
        const BulkCopies::Piece piece = bulk_.bring(dice_);
        Mbarrier* barrier = nullptr;
        std::string why = mbarriers_.find(piece.mbarrier, barrier);
        if (why.empty()) why = Mbarriers::bring(*barrier, piece.bytes);
        if (!why.empty()) {
            throw BlockFailure{FaultId::mbarrier_misused, piece.copy->by->where(piece.copy->thread) +
                                                              text(piece.copy->site) + " " + why + ", at " +
                                                              name_of(piece.mbarrier) + "."};
        }
        if (Observer* o = observer(); o != nullptr && piece.copy->moved()) o->bulk_copy_lands(*piece.copy);
        settle(*barrier);
    }
    if (woken_ > 0) return true;
    // A try_wait may end without an answer, too.
    if (++unanswered_ > kMostUnanswered) return false;
    for (int i = 0; i < count_; ++i) {
        if (state(i) != State::at_mbarrier) continue;
        thread(i).out = 0;
        state(i) = State::ready;
        moved = true;
    }
    return moved;
}

// ---- the copy engine ----

void Block::fence_mbarrier_init() {
    use_async();
    mbarriers_.show(running_->thread);
    if (Observer* o = observer()) o->mbarriers_fenced();
}

void Block::fence_proxy_async() {
    use_async();
    bulk_.fence();
    mbarriers_.show_all();
    if (Observer* o = observer()) o->proxy_fenced();
}

/// One that a load signals. What no fence has shown to the copy engine it may see or not, which a seed
/// decides; the tracer sees it always.
void Block::mbarrier_for_engine(void* address, const Site& site) {
    check_seen(mbarrier_at(address, site), site);
}
void Block::check_seen(const Mbarrier& barrier, const Site& site) {
    if (barrier.engine_sees || observer() != nullptr || sight_.below(2) == 0) return;
    wrong(FaultId::mbarrier_misused, site,
          "uses an mbarrier that, as far as the copy engine can see, is not initialised, at " +
              name_of(barrier.address) + ": fence.mbarrier_init must come in between");
}

/// Where it goes.
void Block::check_copy(const BulkCopy& copy, const Site& site) {
    for (const Chunk& c : copy.chunks) {
        if (!bulk_.in_shared(c.shared, kChunk))
            wrong(FaultId::copy_refused, site,
                  "moves " + std::to_string(copy.bytes()) + " bytes, but " +
                      name_of(copy.chunks.front().shared) + " is not followed by so many");
        if (c.to > c.from && !is_device_memory(c.global))
            wrong(FaultId::copy_refused, site, "accesses global memory through a host pointer");
    }
    const auto moved = [](const Chunk& c) { return c.to > c.from; };
    const auto first = std::find_if(copy.chunks.begin(), copy.chunks.end(), moved);
    const auto last = std::find_if(copy.chunks.rbegin(), copy.chunks.rend(), moved);
    if (first != copy.chunks.end() && !(is_allocated(first->global) && is_allocated(last->global)))
        wrong(FaultId::copy_refused, site,
              "accesses memory that cudaMalloc has not given, or that has been freed: is the tensor map, or "
              "the pointer, that of an earlier launch?");
}

void Block::start_copy(BulkCopy copy, const Site& site) {
    check_copy(copy, site);
    current().did = site;
    if (!copy.load) copy.group = bulk_.open_group(copy.thread);
    if (Observer* o = observer()) o->bulk_copy_begins(copy, false);
    if (copy.load) {
        bulk_.start_load(std::move(copy), dice_);
    } else {
        bulk_.start_store(std::move(copy), dice_);
    }
}

void Block::tensor_copy(const void* caller, bool load, void* shared, const CUtensorMap& map, const int* at,
                        int rank, void* mbarrier, const Site& site) {
    if (load) mbarrier_for_engine(mbarrier, site);
    use_async();
    start_copy(tensor_box(caller, load, shared, map, at, rank, mbarrier, site), site);
}

/// What a copy by a tensor map moves.
BulkCopy Block::tensor_box(const void* caller, bool load, void* shared, const CUtensorMap& map, const int* at,
                           int rank, void* mbarrier, const Site& site) {
    BulkCopy copy{.caller = caller,
                  .site = site,
                  .thread = running_->thread,
                  .by = this,
                  .load = load,
                  .mbarrier = mbarrier};
    if (!multiple(&map, 64) || !copy.map.read(map))
        wrong(FaultId::copy_refused, site, "gets a tensor map that cuTensorMapEncodeTiled() has not encoded");
    if (copy.map.rank != rank)
        wrong(FaultId::copy_refused, site,
              "gets " + std::to_string(rank) + " coordinates, but its tensor map has " +
                  std::to_string(copy.map.rank) + " dimensions");
    // Not in the manual; an H200 answered a box at byte -163 of a row with an illegal instruction.
    if (const auto bytes = static_cast<std::int64_t>(copy.map.strides[0]); at[0] * bytes % kChunk != 0)
        wrong(FaultId::copy_refused, site,
              "gets a box that begins at byte " + std::to_string(at[0] * bytes) +
                  " of a row, but that must be a multiple of 16");
    // Nor is this, of any dimension; loads may begin there.
    for (int d = 0; d < rank && !load; ++d) {
        if (at[d] < 0)
            wrong(FaultId::copy_refused, site,
                  "stores a box that begins at coordinate " + std::to_string(at[d]) + " of dimension " +
                      std::to_string(d) + ", but a store must not begin before the tensor's first element");
    }
    const std::uint32_t bytes_there = copy.map.shared_bytes();
    check_shared(shared, bytes_there, 128, "a box", site,
                 bytes_there > copy.map.box_bytes()
                     ? ": each row takes the " + std::to_string(copy.map.row_pitch()) +
                           " bytes that its swizzle mode spans"
                     : "");
    copy.chunks = copy.map.chunks(at, static_cast<std::byte*>(shared), load);
    return copy;
}

void Block::bulk_copy(const void* caller, bool load, void* shared, void* global, unsigned bytes,
                      void* mbarrier, const Site& site) {
    if (load) mbarrier_for_engine(mbarrier, site);
    use_async();
    BulkCopy copy{.caller = caller,
                  .site = site,
                  .thread = running_->thread,
                  .by = this,
                  .load = load,
                  .mbarrier = mbarrier};
    if (bytes % 16 != 0)
        wrong(FaultId::copy_refused, site,
              "is to move " + std::to_string(bytes) + " bytes, which is not a multiple of 16");
    if (!multiple(global, 16))
        wrong(FaultId::copy_refused, site, "gets a global address that is not a multiple of 16");
    if (bytes == 0) return;
    check_shared(shared, bytes, 16, "its bytes", site);
    for (unsigned i = 0; i < bytes; i += kChunk)
        copy.chunks.push_back(
            {static_cast<std::byte*>(shared) + i, static_cast<std::byte*>(global) + i, 0, kChunk, 0});
    start_copy(std::move(copy), site);
}

void Block::bulk_commit() {
    use_async();
    bulk_.commit(running_->thread);
}

void Block::bulk_wait(int pending, bool read) {
    use_async();
    const std::uint64_t before = bulk_.wait(running_->thread, pending, read, dice_);
    if (Observer* o = observer()) o->bulk_copies_read(before);
}

/// All threads have returned.
void Block::check_nothing_left() {
    check_warpgroups();
    const BulkCopy* copy = bulk_.left_behind();
    if (copy == nullptr) return;
    InWords words;
    const std::string why =
        "the block has ended, but no thread has waited for the " +
        std::string(copy->load ? "load" : "store") + " that it started at " + copy->site.file + ":" +
        std::to_string(copy->site.line) +
        (copy->load ? ": its bytes would come to shared memory that is another block's by then."
                    : ": shared memory that it reads would be another block's by then.");
    const std::string text = copy->by->thread_place(copy->thread) + why;
    if (!words.goes_on(!copy->load && tolerates(FaultId::copy_left_behind, why, text)))
        throw BlockFailure{FaultId::copy_left_behind, text};
    for (int i = 0; i < count_; ++i) {
        bulk_.commit(i);
        (void)bulk_.wait(i, 0, false, dice_);
    }
    (void)bulk_.left_behind();  // which writes the stores
}

}  // namespace cpu_device
