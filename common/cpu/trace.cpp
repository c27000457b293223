// The access hooks and what is made of them.
//
// gcc's -fsanitize=thread calls a function before every access to memory; linked with these instead of
// libtsan, each access of a kernel comes here with its address. Threads of a warp run one after another, so
// their accesses are kept per lane until the warp waits or ends, and then put together to the requests that a
// GPU would issue.
#include "common/cpu/trace.hpp"

#include <backtrace.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "common/cpu/device.hpp"
#include "common/cpu/scheduler.hpp"
#include "common/error.hpp"

namespace cpu_device::trace {
namespace {

using Address = std::uint64_t;
constexpr int kWarp = 32;
constexpr std::uint8_t kStore = 1, kShared = 2, kCopy = 4;  // kCopy: by cp.async
constexpr std::uint8_t kStep = 8;                           // no access, but the start of a basic block
constexpr std::uint8_t kNothing = 16;    // a thread that takes part in an instruction and accesses nothing
constexpr std::uint8_t kMatrixRow = 32;  // by ldmatrix: 16 bytes that it hands out to all lanes
constexpr Address kNear = 65536;         // bytes: what misses shared memory by less was meant for it
// Bytes beyond the nearest shared array within which nothing but pads lies: a write there breaks nothing.
constexpr Address kHarmless = 61440;
constexpr std::size_t kMostOwned = std::size_t{1} << 24;  // an endless loop may store for ever
constexpr const char* kStopped =
    "a write to memory that is not the device's; it was stopped there, since the program could not have gone "
    "on.";
constexpr std::size_t kMostFindings =
    1000;  // kinds times pairs of places; beyond that a kernel is just broken

struct Access {
    std::uint32_t site;  // return address of the hook, from the start of the program's code
    std::uint8_t width;  // bytes
    std::uint8_t flags;
    std::uint16_t array;  // index of the matrix, allocation or shared array
    Address address;
};
static_assert(sizeof(Access) == 16);

struct SiteKey {
    std::uint32_t site;
    std::uint16_t array;
    std::uint8_t width, flags;
    bool operator==(const SiteKey&) const = default;
};
struct HashSite {
    std::size_t operator()(const SiteKey& k) const {
        return std::bit_cast<std::uint64_t>(k) * 0x9e3779b97f4a7c15u >> 20;
    }
};
static_assert(sizeof(SiteKey) == 8);

/// One request, for pictures.
struct Example {
    std::uint64_t block = ~std::uint64_t{0};
    int warp = 0;
    std::uint32_t lanes = 0;
    std::array<Address, kWarp> offsets{};  // from the start of the array, of the lanes that take part
};

struct Counts {
    std::uint64_t requests = 0, threads = 0, units = 0, ideal = 0;  // units: sectors or wavefronts
    bool diverged = false;
    Example example;  // the first of the lowest block
};

struct FindingKey {
    const char* kind;
    std::uint32_t site, other;
    bool operator==(const FindingKey&) const = default;
};
struct HashFinding {
    std::size_t operator()(const FindingKey& k) const {
        return std::hash<const void*>{}(k.kind) ^
               (std::uint64_t{k.site} << 32 | k.other) * 0x9e3779b97f4a7c15u;
    }
};
/// A message without the places in the source, which are looked up at the end: before + place of the earlier
/// access + between + place of the later one + after. Where `between` is empty there is one access.
struct Sentence {
    std::string before, between, after;
};
struct Found {
    std::uint64_t block = 0, order = 0;  // of the first occurrence
    Sentence sentence;
    std::uint64_t count = 0;
    std::int64_t beyond = 0;  // as in Finding
    bool astray = false;      // not all of them were behind a matrix
};

/// Who touched a word of shared memory last.
struct Toucher {
    std::uint32_t site = 0;
    std::uint32_t epoch = 0;       // barriers passed; 0: never
    std::uint32_t warp_epoch = 0;  // meetings of its warp
    std::uint16_t thread = 0;
    std::uint8_t bytes = 0;  // of the word
    bool atomic = false;
};
struct Word {
    // The last reader, the last of another lane of its warp, the last of another warp: whoever writes without
    // a barrier races with one of them if with anyone.
    Toucher writer, reader, other_lane, other_warp;
    std::uint8_t written = 0;    // bytes written in this block
    std::uint8_t in_flight = 0;  // bytes that a cp.async nobody has waited for will write
    std::uint32_t copy = 0;      // its place
};

/// A range that has a name.
struct Array {
    std::string name;
    Address start = 0, end = 0;
    const Matrix* matrix = nullptr;
};

/// What one launch's workers share.
struct Session {
    std::vector<Matrix> matrices;
    std::vector<Array> globals;      // matrices, then allocations that hold none
    std::vector<Array> allocations;  // all of them
    Address code = 0;                // where the program starts
    Address image_end = 0;
    Address tls_bytes = 0;
    std::string kernel;
    const Grid* grid = nullptr;
    std::uint64_t blocks = 0;
    std::array<unsigned, 3> block{};
    std::size_t most_steps = 0;

    std::mutex mutex;
    std::unordered_map<SiteKey, Counts, HashSite> counts;
    std::unordered_map<FindingKey, Found, HashFinding> findings;
    std::vector<Array> shared;
    std::uint64_t traced_blocks = 0, barriers = 0, threads_per_block = 0;
    std::uint64_t owners_block = ~std::uint64_t{0};
    std::vector<Owned> owners;
};
Session* session = nullptr;

extern "C" char __executable_start, _end;  // the linker's: first and last address of the program

Address sites_base() {
    return reinterpret_cast<Address>(&__executable_start);
}

std::uint32_t site_of(const void* return_address) {
    return static_cast<std::uint32_t>(reinterpret_cast<Address>(return_address) - sites_base());
}

// ---- places in the source ----

struct Place {
    std::string file = "unknown";
    int line = 0;
    std::string text() const { return file + ":" + std::to_string(line); }
    bool operator==(const Place&) const = default;
};

/// Where the access at a return address stands in the source; remembered. The reference stays.
const Place& place_of(std::uint32_t site) {
    static std::mutex mutex;
    static std::map<std::uint32_t, Place> known;
    static backtrace_state* const state = backtrace_create_state(nullptr, 1, nullptr, nullptr);
    const std::scoped_lock lock(mutex);
    const auto [entry, fresh] = known.try_emplace(site);
    if (!fresh) return entry->second;
    // A return address belongs to the next instruction.
    backtrace_pcinfo(
        state, sites_base() + site - 1,
        [](void* result, std::uintptr_t, const char* file, int line, const char*) {
            if (file == nullptr) return 0;
            *static_cast<Place*>(result) = {file, line};
            // The innermost function that the kernel's author wrote: not cp_async(), but who calls it.
            const std::string_view name = file;
            return name.find("/common/ptx/") == name.npos && name.find("/common/cpu/") == name.npos ? 1 : 0;
        },
        nullptr, &entry->second);
    return entry->second;
}

// ---- counting ----

int distinct(std::span<Address> values) {
    std::sort(values.begin(), values.end());
    return static_cast<int>(std::unique(values.begin(), values.end()) - values.begin());
}

/// Bytes that at least one thread asked for.
std::uint64_t distinct_bytes(const Address* addresses, int count, int width) {
    std::array<Address, kWarp> starts;
    std::copy_n(addresses, count, starts.begin());
    const auto first = starts.begin(), last = first + count;
    if (!std::is_sorted(first, last)) std::sort(first, last);
    std::uint64_t bytes = 0;
    Address covered = 0;
    for (auto a = first; a != last; ++a) {
        const Address end = *a + static_cast<Address>(width);
        if (end > covered) bytes += end - std::max(covered, *a);
        covered = std::max(covered, end);
    }
    return bytes;
}

class BlockTrace;
struct alignas(64) Local {
    std::array<char, 65536> below;
    BlockTrace* trace;  // while a block runs
    BlockTrace* own;    // the worker's, once it has had one; it keeps it
    std::array<char, 65536> above;
};
thread_local Local local;  // padded like the scheduler's: an overflowing array must not reach the pointer

/// What one worker records of the block that it runs.
class BlockTrace {
  public:
    void begin(const BlockView& view) {
        view_ = view;
        const std::size_t threads = std::size_t{view.grid->block.x} * view.grid->block.y * view.grid->block.z;
        epoch_ = 1;
        warp_epochs_.assign((threads + kWarp - 1) / kWarp, 1);
        meetings_.clear();
        for (auto& lane : lanes_) lane.clear();
        shared_.clear();
        for (const SharedArray& a : *view.grid->shared) {
            const auto start = reinterpret_cast<Address>(shared_array_address(a));
            shared_.push_back({a.name, start, start + a.bytes, nullptr});
        }
        const auto dynamic = reinterpret_cast<Address>(view.dynamic_shared);
        if (view.grid->dynamic_shared_bytes > 0) {
            shared_.push_back({"shared memory", dynamic, dynamic + view.grid->dynamic_shared_bytes, nullptr});
        }
        words_.resize(shared_.size());
        for (std::size_t i = 0; i < shared_.size(); ++i) {
            words_[i].assign((shared_[i].end - shared_[i].start + 3) / 4, Word{});
        }
        tls_start_ = reinterpret_cast<Address>(thread_local_start());
        tls_end_ = tls_start_ + thread_local_bytes();
        barriers_ = 0;
        order_ = 0;
        in_block_ = true;
    }

    /// `more`: flags beside kStore and kShared.
    void access(std::uint32_t site, Address address, int width, bool store, bool atomic = false,
                std::uint8_t more = 0) {
        if (!in_block_ || (address >= address_of(view_.stacks) && address < address_of(view_.stacks_end)) ||
            (address >= address_of(view_.runtime) && address < address_of(view_.runtime_end))) {
            return;
        }
        const int thread = *view_.running;
        // (Part of a cp.async may be 12 bytes wide; the copy as a whole has been checked.)
        if (std::has_single_bit(static_cast<unsigned>(width)) && address % static_cast<Address>(width) != 0) {
            found("misaligned access", site, site, 0, [&] {
                return Sentence{who(thread) + (store ? " writes " : " reads ") + std::to_string(width) +
                                    " bytes of " + element(address) + " at ",
                                std::string(),
                                ", an address that is no multiple of " + std::to_string(width)};
            });
        }
        std::uint8_t flags = store ? more | kStore : more;
        std::uint16_t array = 0;
        if (const int s = index_of(shared_, address); s >= 0) {
            flags |= kShared;
            array = static_cast<std::uint16_t>(s);
            shared_access(site, static_cast<std::size_t>(s), address, width, store, thread, atomic);
        } else if (near_dynamic(address)) {
            found("shared memory out of bounds", site, site, 0, [&] {
                const std::size_t asked = view_.grid->dynamic_shared_bytes;
                return Sentence{who(thread) + (store ? " writes " : " reads ") +
                                    (asked > 0 ? nearest(shared_, address) : "dynamic shared memory") +
                                    " at ",
                                std::string(),
                                asked > 0 ? ": launch() asks for " + std::to_string(asked) + " bytes"
                                          : ": the kernel uses it and launch() asks for 0 bytes"};
            });
            return;
        } else if (near_static(address)) {
            found("shared memory out of bounds", site, site, 0, [&] {
                return Sentence{
                    who(thread) + (store ? " writes " : " reads ") + nearest(shared_, address) + " at ",
                    std::string(), std::string()};
            });
            if (store && distance(shared_, address) > kHarmless) stop_kernel(kStopped);
            return;
        } else if (is_device_memory(reinterpret_cast<const void*>(address))) {
            const int g = index_of(session->globals, address);
            if (g < 0) {
                outside(site, address, width, store, thread);
                return;
            }
            array = static_cast<std::uint16_t>(g);
            check_matrix(site, session->globals[array], address, width, store, thread);
            if (atomic) check_matrix(site, session->globals[array], address, width, false, thread);
        } else {
            const Address context = address_of(view_.grid->context);
            const bool parameters = address >= context && address < context + view_.grid->context_bytes;
            const bool constant = address >= session->code && address < session->image_end;
            if (!parameters && !constant) {
                found("host pointer", site, site, 0, [&] {
                    return Sentence{
                        who(thread) + (store ? " writes" : " reads") + " through a host pointer at ",
                        std::string(), ", which a GPU cannot follow"};
                });
            }
            if (store) stop_kernel(kStopped);
            return;
        }
        if (store && (flags & kShared) == 0 && session->globals[array].matrix != nullptr)
            own(address, width, thread);
        keep({site, static_cast<std::uint8_t>(width), flags, array, address});
    }

    void warp_reads(std::uint32_t site, Address address, int bytes) {
        if (bytes > 0) {
            access(site, address, bytes, false, false, kMatrixRow);
        } else if (in_block_) {
            keep({site, 0, kNothing, 0, 0});
        }
    }
    void copy_begins(std::uint32_t site, Address shared, Address global, int bytes, int valid) {
        if (valid > 0) {
            access(site, global, valid, false, false, kCopy);
        } else if (in_block_) {  // the lanes that copy and those that fill with zeros stay in step
            keep({site, 0, kNothing, 0, 0});
        }
        access(site, shared, bytes, true, false, kCopy);
        mark_copy(shared, bytes, site);
    }
    void copy_ends(std::uint32_t site, Address shared, int bytes) {
        mark_copy(shared, bytes, 0);
        // Now it is written, for this thread at once, for the others after a barrier.
        const int s = index_of(shared_, shared);
        if (s >= 0) {
            shared_access(site, static_cast<std::size_t>(s), shared, bytes, true, *view_.running, false);
        }
    }

    /// The running thread enters a basic block of the kernel: what tells threads apart that go different
    /// ways.
    void step(std::uint32_t site) {
        if (in_block_) keep({site, 0, kStep, 0, 0});
    }

    /// Puts the lanes' accesses since the last time together to requests.
    void flush() {
        const auto& first = *std::max_element(
            lanes_.begin(), lanes_.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
        if (first.empty()) return;
        std::array<const std::vector<Access>*, kWarp> active{};
        int count = 0;
        bool in_step = true;
        std::uint32_t mask = 0;
        for (int lane = 0; lane < kWarp; ++lane) {
            const auto& accesses = lanes_[static_cast<std::size_t>(lane)];
            if (accesses.empty()) continue;
            active[static_cast<std::size_t>(count++)] = &accesses;
            mask |= 1u << lane;
            in_step = in_step && accesses.size() == first.size() &&
                      std::equal(accesses.begin(), accesses.end(), first.begin(),
                                 [](const Access& a, const Access& b) { return same_instruction(a, b); });
        }
        std::array<Address, kWarp> addresses;
        if (in_step) {
            for (std::size_t i = 0; i < first.size(); ++i) {
                for (int a = 0; a < count; ++a) {
                    addresses[static_cast<std::size_t>(a)] =
                        (*active[static_cast<std::size_t>(a)])[i].address;
                }
                request(first[i], mask, addresses.data(), count, false);
            }
        } else {
            merge();
        }
        for (auto& lane : lanes_) lane.clear();
    }

    void warp_met(int first, unsigned lanes) {
        const auto warp = static_cast<std::size_t>(first / kWarp);
        ++warp_epochs_[warp];
        if (meetings_.empty()) meetings_.resize(warp_epochs_.size());
        for (std::size_t a = 0; a < kWarp; ++a) {
            for (std::size_t b = 0; b < kWarp && (lanes >> a & 1u); ++b) {
                if (lanes >> b & 1u) meetings_[warp][a][b] = warp_epochs_[warp];
            }
        }
    }
    void barrier_met() {
        ++epoch_;
        ++barriers_;
    }

    void end() {
        if (!in_block_) return;
        in_block_ = false;
        flush();
        const std::scoped_lock lock(session->mutex);
        if (session->shared.empty()) session->shared = shared_;
        ++session->traced_blocks;
        session->barriers += barriers_;
        for (const auto& [key, counts] : counts_) {
            Counts& sum = session->counts[key];
            sum.requests += counts.requests;
            sum.threads += counts.threads;
            sum.units += counts.units;
            sum.ideal += counts.ideal;
            sum.diverged |= counts.diverged;
            if (counts.example.block < sum.example.block) sum.example = counts.example;
        }
        if (view_.index < session->owners_block) {
            session->owners_block = view_.index;
            session->owners = std::move(owners_);
        }
        owners_.clear();
        counts_.clear();
        last_counts_ = nullptr;
        for (auto& [key, mine] : findings_) {
            auto [entry, fresh] = session->findings.try_emplace(key, mine);
            if (fresh) continue;
            mine.count += entry->second.count;
            mine.beyond = std::max(mine.beyond, entry->second.beyond);
            mine.astray |= entry->second.astray;
            // The same one every time, whichever worker was faster.
            if (std::pair(mine.block, mine.order) < std::pair(entry->second.block, entry->second.order)) {
                entry->second = std::move(mine);
            } else {
                entry->second.count = mine.count;
                entry->second.beyond = mine.beyond;
                entry->second.astray = mine.astray;
            }
        }
        findings_.clear();
    }

  private:
    void keep(const Access& access) {
        auto& lane = lanes_[static_cast<std::size_t>(*view_.running % kWarp)];
        lane.push_back(access);
        if (lane.size() >= session->most_steps) flush();
    }
    static Address address_of(const void* p) { return reinterpret_cast<Address>(p); }
    const Place& place(std::uint32_t site) {
        const Place*& known = places_[site];
        if (known == nullptr) known = &place_of(site);
        return *known;
    }
    /// The same array in the same way at the same place in the source.
    bool same_line(const Access& a, const Access& b) {
        return a.array == b.array && a.flags == b.flags && a.width == b.width &&
               (a.site == b.site || place(a.site) == place(b.site));
    }
    static bool same_instruction(const Access& a, const Access& b) {
        return a.site == b.site && a.array == b.array && a.flags == b.flags;
    }

    static int index_of(const std::vector<Array>& arrays, Address address) {
        for (std::size_t i = 0; i < arrays.size(); ++i) {
            if (address >= arrays[i].start && address < arrays[i].end) return static_cast<int>(i);
        }
        return -1;
    }

    /// In thread-local memory, where the static arrays lie, or near it.
    bool near_static(Address address) const {
        return address + kNear >= tls_start_ && address < tls_end_ + kNear &&
               !is_device_memory(reinterpret_cast<const void*>(address));
    }

    /// Near dynamic shared memory, which lies alone.
    bool near_dynamic(Address address) const {
        const Address start = address_of(view_.dynamic_shared);
        return address + kNear >= start && address < start + view_.grid->dynamic_shared_bytes + kNear &&
               !is_device_memory(reinterpret_cast<const void*>(address));
    }

    std::string who(int thread) const {
        const dim3 b = view_.grid->block;
        const auto t = static_cast<unsigned>(thread);
        return "thread (" + std::to_string(t % b.x) + "," + std::to_string(t / b.x % b.y) + "," +
               std::to_string(t / b.x / b.y) + ")";
    }

    /// "A[3][17]", "As + 68 bytes": what lies at the address.
    std::string element(Address address) const {
        if (const int s = index_of(shared_, address); s >= 0) {
            const Array& a = shared_[static_cast<std::size_t>(s)];
            return a.name + " + " + std::to_string(address - a.start) + " bytes";
        }
        if (const int g = index_of(session->globals, address); g >= 0) {
            const Array& a = session->globals[static_cast<std::size_t>(g)];
            const std::int64_t offset = static_cast<std::int64_t>(address - a.start);
            if (a.matrix == nullptr) return a.name + " + " + std::to_string(offset) + " bytes";
            return position(*a.matrix, offset);
        }
        return "memory";
    }
    static std::string position(const Matrix& m, std::int64_t offset_bytes) {
        std::int64_t element = offset_bytes / m.element_bytes;
        if (offset_bytes < 0) element = (offset_bytes - m.element_bytes + 1) / m.element_bytes;
        std::int64_t row = element / m.pitch, col = element % m.pitch;
        if (col < 0) {
            --row;
            col += m.pitch;
        }
        return m.name + "[" + std::to_string(row) + "][" + std::to_string(col) + "]";
    }

    /// Bytes from the nearest array.
    static Address distance(const std::vector<Array>& arrays, Address address) {
        Address least = ~Address{0};
        for (const Array& a : arrays) {
            least = std::min(least, address >= a.end ? address - a.end + 1 : a.start - address);
        }
        return least;
    }

    /// "5 bytes past the end of As".
    static std::string nearest(const std::vector<Array>& arrays, Address address) {
        const Array* best = nullptr;
        Address least = ~Address{0};
        bool past = true;
        for (const Array& a : arrays) {
            const bool behind = address >= a.end;
            const Address distance = behind ? address - a.end + 1 : a.start - address;
            if (distance < least) {
                least = distance;
                best = &a;
                past = behind;
            }
        }
        if (best == nullptr) return "shared memory that the kernel does not have";
        return std::to_string(least) + (least == 1 ? " byte " : " bytes ") +
               (past ? "past the end of " : "before the start of ") + best->name;
    }

    /// The matrix in the same allocation, which is the one that was meant; null if there is none.
    static const Array* meant(Address address) {
        const Array* found = nullptr;
        for (const Array& whole : session->allocations) {
            if (address < whole.start || address >= whole.end) continue;
            for (const Array& a : session->globals) {
                if (a.matrix != nullptr && a.start >= whole.start && a.end <= whole.end) found = &a;
            }
        }
        return found;
    }
    /// The last matrix in front of the address, if a tile of 128 rows may reach so far behind it; else null.
    static const Array* before(Address address) {
        const Array* found = nullptr;
        for (const Array& a : session->globals) {
            if (a.matrix == nullptr || a.end > address || (found != nullptr && a.end < found->end)) continue;
            if (address - a.end <= 128 * static_cast<Address>(a.matrix->pitch * a.matrix->element_bytes))
                found = &a;
        }
        return found;
    }

    void outside(std::uint32_t site, Address address, int, bool store, int thread) {
        const Array* a = meant(address);
        std::int64_t beyond = 0;
        if (const Array* left = a != nullptr ? a : before(address); left != nullptr && address >= left->end) {
            const Matrix& m = *left->matrix;
            const std::int64_t element = static_cast<std::int64_t>(address - left->start) / m.element_bytes;
            // Nothing of the last row's padding belongs to the matrix.
            beyond =
                element / m.pitch < m.rows ? element % m.pitch - m.cols + 1 : element / m.pitch - m.rows + 1;
        }
        found("out of bounds", site, site, beyond, [&] {
            std::string where = nearest(session->globals, address);
            if (a != nullptr) {
                const Matrix& m = *a->matrix;
                where = position(m, static_cast<std::int64_t>(address - a->start)) + ", outside " + m.name +
                        " of " + std::to_string(m.rows) + "×" + std::to_string(m.cols);
            }
            return Sentence{who(thread) + (store ? " writes " : " reads ") + where + ", at ", std::string(),
                            std::string()};
        });
    }

    void check_matrix(std::uint32_t site, const Array& a, Address address, int width, bool store,
                      int thread) {
        if (a.matrix == nullptr) {
            if (address + static_cast<Address>(width) > a.end) outside(site, a.end, width, store, thread);
            return;
        }
        const Matrix& m = *a.matrix;
        const bool forbidden = !store && !m.unreadable.empty();
        if (forbidden || (store && !m.writable)) {
            found(forbidden ? "forbidden read" : "write to an input", site, site, 0, [&] {
                return Sentence{
                    who(thread) + (store ? " writes " : " reads ") +
                        position(m, static_cast<std::int64_t>(address - a.start)) + " at ",
                    std::string(),
                    forbidden ? ", which " + m.unreadable + " forbids" : ", and " + m.name + " is an input"};
            });
        }
        const Address pitch = static_cast<Address>(m.pitch * m.element_bytes);
        const Address end_of_row = (address - a.start) % pitch + static_cast<Address>(width);
        if (address + static_cast<Address>(width) > a.end) {
            outside(site, address + static_cast<Address>(width) - 1, width, store, thread);
        } else if (store && end_of_row > static_cast<Address>(m.cols * m.element_bytes)) {
            const Address last = (address - a.start + static_cast<Address>(width) - 1) % pitch /
                                 static_cast<Address>(m.element_bytes);
            found("write to padding", site, site, static_cast<std::int64_t>(last) - m.cols + 1, [&] {
                return Sentence{who(thread) + " writes " +
                                    position(m, static_cast<std::int64_t>(address - a.start)) +
                                    ", padding between the rows of " + m.name + ", at ",
                                std::string(), std::string()};
            });
        }
    }

    void own(Address address, int width, int thread) {
        if (view_.index > session->owners_block || owners_.size() > kMostOwned)
            return;  // a lower one has been traced: a race at worst keeps too much
        const int g = index_of(session->globals, address);
        const Matrix& m = *session->globals[static_cast<std::size_t>(g)].matrix;
        const auto first =
            static_cast<std::int64_t>(address - session->globals[static_cast<std::size_t>(g)].start) /
            m.element_bytes;
        for (std::int64_t e = first; e < first + std::max(1, width / m.element_bytes); ++e) {
            owners_.push_back({m.name, e / m.pitch, e % m.pitch, thread});
        }
    }

    /// Sets (`site` ≠ 0) or clears what is in flight.
    void mark_copy(Address shared, int bytes, std::uint32_t site) {
        const int s = index_of(shared_, shared);
        if (s < 0) return;
        const Array& a = shared_[static_cast<std::size_t>(s)];
        for (Address at = shared; at < std::min(shared + static_cast<Address>(bytes), a.end); at += 4) {
            Word& word = words_[static_cast<std::size_t>(s)][(at - a.start) / 4];
            word.in_flight = site != 0 ? 0xf : 0;
            word.copy = site;
        }
    }

    /// Whether the two accesses, of different threads, have no barrier between them.
    bool concurrent(const Toucher& before, int thread, std::uint8_t bytes) const {
        if (before.epoch != epoch_ || before.thread == thread || (before.bytes & bytes) == 0) return false;
        const int warp = thread / kWarp;
        if (before.thread / kWarp != warp || meetings_.empty()) return true;
        // Ordered if the two have met since.
        return meetings_[static_cast<std::size_t>(warp)][static_cast<std::size_t>(before.thread % kWarp)]
                        [static_cast<std::size_t>(thread % kWarp)] <= before.warp_epoch;
    }

    void shared_access(std::uint32_t site, std::size_t array, Address address, int width, bool store,
                       int thread, bool atomic) {
        const Array& a = shared_[array];
        if (address + static_cast<Address>(width) > a.end) {
            found("shared memory out of bounds", site, site, 0, [&] {
                return Sentence{
                    who(thread) + (store ? " writes " : " reads ") + "past the end of " + a.name + " at ",
                    std::string(), std::string()};
            });
            return;
        }
        const Address offset = address - a.start;
        const Toucher now{site,
                          epoch_,
                          warp_epochs_[static_cast<std::size_t>(thread / kWarp)],
                          static_cast<std::uint16_t>(thread),
                          0,
                          atomic};
        for (Address at = offset; at < offset + static_cast<Address>(width);) {
            Word& word = words_[array][at / 4];
            const Address stop = std::min((at / 4 + 1) * 4, offset + static_cast<Address>(width));
            const auto bytes = static_cast<std::uint8_t>(((1u << (stop - at)) - 1) << at % 4);
            Toucher mine = now;
            mine.bytes = bytes;
            if ((word.in_flight & bytes) != 0) {
                found("copy in flight", site, word.copy, 0, [&] {
                    return Sentence{
                        "the copy to " + a.name + " + " + std::to_string(at) + " bytes that started at ",
                        " may still be under way when " + who(thread) + (store ? " writes" : " reads") +
                            " it at ",
                        ": nobody has waited for it"};
                });
            }
            // Atomic operations keep each other out.
            if (concurrent(word.writer, thread, bytes) && !(atomic && word.writer.atomic)) {
                race(a, at, word.writer, mine, true, store);
            }
            if (atomic && (word.written & bytes) != bytes) unwritten(site, a, at, thread);
            if (store) {
                for (const Toucher& reader : {word.reader, word.other_lane, word.other_warp}) {
                    if (concurrent(reader, thread, bytes)) race(a, at, reader, mine, false, true);
                }
                word.writer = mine;
                word.written |= bytes;
            } else {
                if ((word.written & bytes) != bytes) unwritten(site, a, at, thread);
                // The one before makes room, unless it is this thread's own.
                if (word.reader.epoch == epoch_ && word.reader.thread != thread) {
                    (word.reader.thread / kWarp == thread / kWarp ? word.other_lane : word.other_warp) =
                        word.reader;
                }
                word.reader = mine;
            }
            at = stop;
        }
    }

    void unwritten(std::uint32_t site, const Array& a, Address offset, int thread) {
        found("uninitialised read", site, site, 0, [&] {
            return Sentence{who(thread) + " reads " + a.name + " + " + std::to_string(offset) + " bytes at ",
                            std::string(), ", which nothing in the block has written"};
        });
    }

    void race(const Array& a, Address offset, const Toucher& before, const Toucher& now, bool wrote,
              bool writes) {
        found("race", now.site, before.site, 0, [&] {
            return Sentence{who(before.thread) + (wrote ? " wrote " : " read ") + a.name + " + " +
                                std::to_string(offset) + " bytes at ",
                            " and " + who(now.thread) + (writes ? " writes" : " reads") + " it at ",
                            ", with no barrier in between"};
        });
    }

    /// Remembers the first occurrence of a kind at a pair of places, counts the others and keeps the farthest
    /// beyond. `sentence` is called for the first only.
    template <class MakeSentence>
    void found(const char* kind, std::uint32_t site, std::uint32_t other, std::int64_t beyond,
               MakeSentence sentence) {
        if (findings_.size() >= kMostFindings) return;
        const auto [entry, fresh] = findings_.try_emplace(FindingKey{kind, site, other});
        ++entry->second.count;
        entry->second.beyond = std::max(entry->second.beyond, beyond);
        entry->second.astray |= beyond <= 0;
        if (!fresh) return;
        entry->second.block = view_.index;
        entry->second.order = order_++;
        entry->second.sentence = sentence();
    }

    void request(const Access& access, std::uint32_t mask, const Address* addresses, int count,
                 bool diverged) {
        if (access.flags & (kStep | kNothing)) return;
        const SiteKey key{access.site, access.array, access.width, access.flags};
        if (last_counts_ == nullptr || !(last_key_ == key)) {
            last_counts_ = &counts_[key];  // unordered_map: addresses stay
            last_key_ = key;
        }
        Counts& c = *last_counts_;
        if (c.requests == 0) {
            c.example = {view_.index, *view_.running / kWarp, mask, {}};
            const Address start = (access.flags & kShared ? shared_ : session->globals)[access.array].start;
            for (int i = 0; i < count; ++i) {
                c.example.offsets[static_cast<std::size_t>(i)] = addresses[i] - start;
            }
        }
        ++c.requests;
        c.threads += static_cast<std::uint64_t>(count);
        c.diverged |= diverged;
        const std::uint64_t bytes = distinct_bytes(addresses, count, access.width);
        if (access.flags & kShared) {
            c.units += static_cast<std::uint64_t>(
                access.flags & kCopy
                    ? copy_wavefronts(mask, addresses, access.width)
                    // (ldmatrix, like a store: each of its matrices takes its own.)
                    : wavefronts(mask, addresses, access.width, access.flags & (kStore | kMatrixRow)));
            c.ideal += (bytes + 127) / 128;
        } else {
            if (access.flags & kCopy) {
                for (int lane = 0, next = 0; lane < kWarp; ++lane) {
                    if (mask >> lane & 1u) copied_[static_cast<std::size_t>(lane)] = addresses[next++];
                }
                copied_lanes_ |= mask;
            }
            c.units += static_cast<std::uint64_t>(sectors(addresses, count, access.width));
            c.ideal += (bytes + 31) / 32;
        }
    }

    /// Of a cp.async's stores to shared memory. What a warp copies leaves L1 by its 32 banks, of global
    /// memory's words as of shared memory's: words that share a bank leave in different passes, and each pass
    /// is stored by itself. Lanes that fill with zeros go with the first. Found by counting on an H200, and
    /// equal there for copies of 4 bytes at all pitches and of 16 bytes in rows.
    int copy_wavefronts(std::uint32_t mask, const Address* addresses, int width) {
        std::array<std::vector<Address>, 32> banks;  // the words that leave it, in the order of their passes
        std::vector<std::uint32_t> passes(1);        // lanes
        for (int lane = 0; lane < kWarp; ++lane) {
            if ((mask >> lane & 1u) == 0) continue;
            std::size_t pass = 0;
            if (copied_lanes_ >> lane & 1u) {
                const Address first = copied_[static_cast<std::size_t>(lane)] / 4;
                for (Address word = first; word < first + static_cast<Address>(width) / 4; ++word) {
                    auto& bank = banks[word % banks.size()];
                    const auto at = std::find(bank.begin(), bank.end(), word);
                    pass = std::max(pass, static_cast<std::size_t>(at - bank.begin()));
                    if (at == bank.end()) bank.push_back(word);
                }
            }
            passes.resize(std::max(passes.size(), pass + 1));
            passes[pass] |= 1u << lane;
        }
        copied_lanes_ = 0;
        int sum = 0;
        for (const std::uint32_t lanes : passes) {
            std::array<Address, kWarp> part;
            std::size_t count = 0;
            for (int lane = 0, next = 0; lane < kWarp; ++lane) {
                if ((mask >> lane & 1u) == 0) continue;
                if (lanes >> lane & 1u) part[count++] = addresses[next];
                ++next;
            }
            if (lanes != 0) sum += wavefronts(lanes, part.data(), width, true);
        }
        return sum;
    }

    // ---- lanes that went different ways ----
    //
    // Where threads of a warp part, a GPU runs the parts one after the other and joins them where all their
    // ways meet again: at the immediate post-dominator of the branch. The ways are known (the basic blocks
    // that each lane went through), so the branches and their post-dominators are those of the graph that the
    // lanes together walked.

    /// A lane's stay in a basic block: which, and where its accesses begin and end in the lane's list.
    struct Stay {
        int block;
        std::size_t first, last;
    };
    struct Request {
        Access access;
        std::uint32_t mask;
        std::array<Address, kWarp> by_lane;
    };
    static constexpr int kEntry = 0, kExit = 1;

    void merge() {
        std::unordered_map<std::uint32_t, int> numbers;  // of the basic blocks
        std::array<std::vector<Stay>, kWarp> ways;
        std::vector<std::vector<int>> next(2);  // edges
        const auto edge = [&](int from, int to) {
            auto& to_all = next[static_cast<std::size_t>(from)];
            if (std::find(to_all.begin(), to_all.end(), to) == to_all.end()) to_all.push_back(to);
        };
        std::uint32_t all = 0;
        for (std::size_t lane = 0; lane < kWarp; ++lane) {
            const auto& list = lanes_[lane];
            if (list.empty()) continue;
            all |= 1u << lane;
            auto& way = ways[lane];
            way.push_back({kEntry, 0, 0});  // what comes before the first block that begins here
            for (std::size_t i = 0; i < list.size(); ++i) {
                if ((list[i].flags & kStep) == 0) {
                    way.back().last = i + 1;
                    continue;
                }
                const auto [number, fresh] = numbers.try_emplace(list[i].site, static_cast<int>(next.size()));
                if (fresh) next.emplace_back();
                edge(way.back().block, number->second);
                way.push_back({number->second, i + 1, i + 1});
            }
            edge(way.back().block, kExit);
        }
        const std::vector<int> joins = post_dominators(next);

        std::unordered_map<std::uint32_t, std::array<std::uint32_t, kWarp>> times;
        for (std::size_t lane = 0; lane < kWarp; ++lane) {
            for (const Access& a : lanes_[lane]) ++times[a.site][lane];
        }
        const auto diverged = [&](const Access& access) {
            const auto& of_lane = times[access.site];
            const std::uint32_t most = *std::max_element(of_lane.begin(), of_lane.end());
            return std::any_of(of_lane.begin(), of_lane.end(),
                               [&](std::uint32_t t) { return t != 0 && t != most; });
        };

        std::array<std::size_t, kWarp> at{};
        for (const Request& r : walk(ways, joins, at, all, kExit)) {
            std::array<Address, kWarp> addresses;
            int count = 0;
            for (std::size_t lane = 0; lane < kWarp; ++lane) {
                if (r.mask >> lane & 1u) addresses[static_cast<std::size_t>(count++)] = r.by_lane[lane];
            }
            request(r.access, r.mask, addresses.data(), count, diverged(r.access));
        }
    }

    /// Immediate post-dominator of every node (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm",
    /// 2001, on the reversed graph). kExit's is itself.
    static std::vector<int> post_dominators(const std::vector<std::vector<int>>& next) {
        const std::size_t count = next.size();
        std::vector<std::vector<int>> before(count);
        for (std::size_t n = 0; n < count; ++n) {
            for (const int to : next[n]) before[static_cast<std::size_t>(to)].push_back(static_cast<int>(n));
        }
        // Postorder of the reversed graph from kExit.
        std::vector<int> order, rank(count, -1);
        std::vector<std::pair<int, std::size_t>> stack{{kExit, 0}};
        std::vector<bool> seen(count, false);
        seen[kExit] = true;
        while (!stack.empty()) {
            auto& [node, done] = stack.back();
            const auto& froms = before[static_cast<std::size_t>(node)];
            if (done < froms.size()) {
                const int from = froms[done++];
                if (!seen[static_cast<std::size_t>(from)]) {
                    seen[static_cast<std::size_t>(from)] = true;
                    stack.emplace_back(from, 0);
                }
            } else {
                rank[static_cast<std::size_t>(node)] = static_cast<int>(order.size());
                order.push_back(node);
                stack.pop_back();
            }
        }
        std::vector<int> join(count, -1);
        join[kExit] = kExit;
        const auto meet = [&](int a, int b) {
            while (a != b) {
                while (rank[static_cast<std::size_t>(a)] < rank[static_cast<std::size_t>(b)])
                    a = join[static_cast<std::size_t>(a)];
                while (rank[static_cast<std::size_t>(b)] < rank[static_cast<std::size_t>(a)])
                    b = join[static_cast<std::size_t>(b)];
            }
            return a;
        };
        for (bool changed = true; changed;) {
            changed = false;
            for (auto node = order.rbegin(); node != order.rend(); ++node) {
                if (*node == kExit) continue;
                int met = -1;
                for (const int to : next[static_cast<std::size_t>(*node)]) {
                    if (join[static_cast<std::size_t>(to)] < 0) continue;
                    met = met < 0 ? to : meet(met, to);
                }
                if (met != join[static_cast<std::size_t>(*node)]) {
                    join[static_cast<std::size_t>(*node)] = met;
                    changed = true;
                }
            }
        }
        return join;
    }

    /// Walks the lanes in `mask`, which are all in the same block, up to the block `stop`; the requests on
    /// the way.
    std::vector<Request> walk(const std::array<std::vector<Stay>, kWarp>& ways, const std::vector<int>& joins,
                              std::array<std::size_t, kWarp>& at, std::uint32_t mask, int stop) {
        std::vector<Request> requests;
        const auto block_of = [&](int lane) {
            const auto l = static_cast<std::size_t>(lane);
            return at[l] < ways[l].size() ? ways[l][at[l]].block : kExit;
        };
        while (mask != 0) {
            const int block = block_of(std::countr_zero(mask));
            if (block == stop) break;
            // The block's accesses, together. The interval may end in the middle of a block (a barrier), and
            // a pointer may lead some lanes to another array.
            std::uint32_t left = mask;
            for (std::size_t i = 0; left != 0; ++i) {
                for (int lane = 0; lane < kWarp; ++lane) {
                    const auto l = static_cast<std::size_t>(lane);
                    if ((left >> lane & 1u) && ways[l][at[l]].first + i >= ways[l][at[l]].last)
                        left &= ~(1u << lane);
                }
                for (std::uint32_t waiting = left; waiting != 0;) {
                    const auto leader = static_cast<std::size_t>(std::countr_zero(waiting));
                    Request r{lanes_[leader][ways[leader][at[leader]].first + i], 0, {}};
                    for (std::size_t l = leader; l < kWarp; ++l) {
                        if ((waiting >> l & 1u) == 0) continue;
                        const Access& a = lanes_[l][ways[l][at[l]].first + i];
                        if (!same_instruction(a, r.access)) continue;
                        r.mask |= 1u << l;
                        r.by_lane[l] = a.address;
                    }
                    waiting &= ~r.mask;
                    requests.push_back(r);
                }
            }
            std::map<int, std::uint32_t> parts;  // where they go next
            for (int lane = 0; lane < kWarp; ++lane) {
                if ((mask >> lane & 1u) == 0) continue;
                ++at[static_cast<std::size_t>(lane)];
                parts[block_of(lane)] |= 1u << lane;
            }
            if (parts.size() == 1) continue;
            const int join = joins[static_cast<std::size_t>(block)];
            std::vector<Request> arms;
            for (const auto& [to, lanes] : parts) join_arms(arms, walk(ways, joins, at, lanes, join));
            requests.insert(requests.end(), arms.begin(), arms.end());
        }
        return requests;
    }

    /// Adds the requests of another arm of a branch. g++ may put a line's store into both arms, where nvcc
    /// computes the value first and stores once: such pairs are one request.
    void join_arms(std::vector<Request>& arms, std::vector<Request>&& arm) {
        std::vector<bool> taken(arms.size(), false);
        for (Request& r : arm) {
            std::size_t i = 0;
            while (i < taken.size() &&
                   (taken[i] || (arms[i].mask & r.mask) != 0 || !same_line(arms[i].access, r.access)))
                ++i;
            if (i == taken.size()) {
                arms.push_back(r);
                continue;
            }
            taken[i] = true;
            arms[i].mask |= r.mask;
            for (std::size_t lane = 0; lane < kWarp; ++lane) {
                if (r.mask >> lane & 1u) arms[i].by_lane[lane] = r.by_lane[lane];
            }
        }
    }

    BlockView view_{};
    bool in_block_ = false;
    std::uint32_t epoch_ = 0;
    std::vector<std::uint32_t> warp_epochs_;
    /// Of each warp, when two lanes last met, as its epoch then; empty until lanes of the block meet.
    std::vector<std::array<std::array<std::uint32_t, kWarp>, kWarp>> meetings_;
    std::array<std::vector<Access>, kWarp> lanes_;
    std::vector<Array> shared_;
    std::vector<std::vector<Word>> words_;
    Address tls_start_ = 0, tls_end_ = 0;
    std::uint64_t barriers_ = 0, order_ = 0;
    std::unordered_map<std::uint32_t, const Place*> places_;
    std::vector<Owned> owners_;
    std::unordered_map<SiteKey, Counts, HashSite> counts_;
    Counts* last_counts_ = nullptr;
    SiteKey last_key_{};
    /// Where the lanes of the cp.async that is being counted copy from.
    std::array<Address, kWarp> copied_{};
    std::uint32_t copied_lanes_ = 0;
    std::unordered_map<FindingKey, Found, HashFinding> findings_;
};

class Tracer final : public Observer {
  public:
    void launch_begins(const Grid& grid, std::uint64_t blocks) override {
        Session& s = *session;
        s.kernel = grid.kernel;
        s.blocks = blocks;
        s.threads_per_block = std::uint64_t{grid.block.x} * grid.block.y * grid.block.z;
        s.block = {grid.block.x, grid.block.y, grid.block.z};
        s.globals.clear();
        s.allocations.clear();
        for (const Matrix& m : s.matrices) {
            if (m.rows == 0 || m.cols == 0) continue;
            const auto start = reinterpret_cast<Address>(m.start);
            const auto size = static_cast<Address>(((m.rows - 1) * m.pitch + m.cols) * m.element_bytes);
            s.globals.push_back({m.name, start, start + size, &m});
        }
        const std::size_t named = s.globals.size();
        for (const Allocation& a : allocations()) {
            const auto start = reinterpret_cast<Address>(a.start);
            s.allocations.push_back({"allocation", start, start + a.bytes, nullptr});
            const bool holds_matrix =
                std::any_of(s.globals.begin(), s.globals.begin() + static_cast<long>(named),
                            [&](const Array& g) { return g.start >= start && g.end <= start + a.bytes; });
            if (!holds_matrix) s.globals.push_back({"global memory", start, start + a.bytes, nullptr});
        }
    }
    void block_begins(const BlockView& view) override {
        // On the heap: what an overflowing shared array finds behind it are pads.
        if (local.own == nullptr) local.own = new BlockTrace;
        local.trace = local.own;
        local.trace->begin(view);
    }
    void warp_paused(int, int) override { local.trace->flush(); }
    void warp_met(int first, unsigned lanes) override { local.trace->warp_met(first, lanes); }
    void barrier_met() override { local.trace->barrier_met(); }
    void warp_reads(const void* caller, const void* address, int bytes) override {
        local.trace->warp_reads(site_of(caller), reinterpret_cast<Address>(address), bytes);
    }
    void atomic(const void* caller, const void* address, int bytes) override {
        local.trace->access(site_of(caller), reinterpret_cast<Address>(address), bytes, true, true);
    }
    void copy_begins(const void* caller, void* shared, const void* global, int bytes, int valid) override {
        local.trace->copy_begins(site_of(caller), reinterpret_cast<Address>(shared),
                                 reinterpret_cast<Address>(global), bytes, valid);
    }
    void copy_ends(const void* caller, void* shared, int bytes) override {
        local.trace->copy_ends(site_of(caller), reinterpret_cast<Address>(shared), bytes);
    }
    void block_ends() override {
        if (local.trace != nullptr) local.trace->end();
        local.trace = nullptr;
    }
};

bool hooked = false;

}  // namespace

int sectors(const std::uint64_t* addresses, int count, int width) {
    std::array<Address, 2 * kWarp> touched;
    std::size_t n = 0;
    for (int i = 0; i < count; ++i) {
        touched[n++] = addresses[i] / 32;
        if (const Address last = (addresses[i] + static_cast<Address>(width) - 1) / 32;
            last != touched[n - 1]) {
            touched[n++] = last;
        }
    }
    return distinct(std::span(touched.data(), n));
}

// Shared memory has 32 banks of 4 bytes (CUDA C++ Programming Guide, "Shared Memory" of each compute
// capability): a pass reads one word of each. The rule for wider accesses was found by counting on an H200:
// an 8-byte request is served by half-warps, a 16-byte request by quarter-warps; in a half-warp, two quarters
// (of a whole warp, two halves for 8 bytes) share their passes where all lanes that differ only in lane bit
// 0, or all that differ only in lane bit 1, read the same address.
int wavefronts(std::uint32_t lanes, const std::uint64_t* addresses, int width, bool store) {
    std::array<Address, kWarp> by_lane{};
    for (int lane = 0, next = 0; lane < kWarp; ++lane) {
        if (lanes >> lane & 1u) by_lane[static_cast<std::size_t>(lane)] = addresses[next++];
    }
    const auto passes = [&](int first, int last) {
        std::array<Address, 4 * kWarp> words;
        std::size_t n = 0;
        for (int lane = first; lane < last; ++lane) {
            if ((lanes >> lane & 1u) == 0) continue;
            const Address a = by_lane[static_cast<std::size_t>(lane)];
            for (Address w = a / 4; w <= (a + static_cast<Address>(width) - 1) / 4; ++w) words[n++] = w;
        }
        const int count = distinct(std::span(words.data(), n));
        std::array<int, 32> in_bank{};
        for (int i = 0; i < count; ++i) ++in_bank[words[static_cast<std::size_t>(i)] % 32];
        return *std::max_element(in_bank.begin(), in_bank.end());
    };
    const auto pairs_agree = [&](int first, int last, int bit) {
        for (int lane = first; lane < last; ++lane) {
            const int other = lane ^ bit;
            if ((lanes >> lane & 1u) && (lanes >> other & 1u) &&
                by_lane[static_cast<std::size_t>(lane)] != by_lane[static_cast<std::size_t>(other)]) {
                return false;
            }
        }
        return true;
    };
    if (width <= 4) return passes(0, kWarp);
    const int group = width <= 8 ? 16 : 8;  // lanes served together
    int total = 0;
    for (int first = 0; first < kWarp; first += 2 * group) {
        const bool together =
            !store && (pairs_agree(first, first + 2 * group, 1) || pairs_agree(first, first + 2 * group, 2));
        total += together ? passes(first, first + 2 * group)
                          : passes(first, first + group) + passes(first + group, first + 2 * group);
    }
    return total;
}

void begin(std::vector<Matrix> matrices, std::size_t most_steps) {
    static Tracer tracer;
    if (!hooked) throw gemm::Error("This program's kernels were compiled without the access hooks.");
    static std::unique_ptr<Session> current;
    current = std::make_unique<Session>();
    current->matrices = std::move(matrices);
    current->most_steps = most_steps;
    current->code = reinterpret_cast<Address>(&__executable_start);
    current->image_end = reinterpret_cast<Address>(&_end);
    session = current.get();
    set_observer(&tracer);
}

Report end() {
    set_observer(nullptr);
    Session& s = *session;
    Report r;
    r.kernel = s.kernel;
    r.blocks = s.blocks;
    r.traced_blocks = s.traced_blocks;
    r.threads_per_block = s.threads_per_block;
    r.block = s.block;
    if (s.traced_blocks > 0)
        r.barriers_per_thread = static_cast<double>(s.barriers) / static_cast<double>(s.traced_blocks);

    // The compiler may have made several instructions of a line (unrolling): they are one line again here.
    std::map<std::tuple<std::string, int, std::string, bool, bool, int>, Line> lines;
    for (const auto& [key, c] : s.counts) {
        const bool shared = key.flags & kShared, store = key.flags & kStore;
        const std::string& array = (shared ? s.shared : s.globals)[key.array].name;
        const Place& p = place_of(key.site);
        Line& line = lines[{p.file, p.line, array, shared, store, key.width}];
        line.file = p.file;
        line.line = p.line;
        line.array = array;
        line.shared = shared;
        line.store = store;
        line.width = key.width;
        line.requests += c.requests;
        line.threads += c.threads;
        line.bytes += c.threads * key.width;
        (shared ? line.wavefronts : line.sectors) += c.units;
        (shared ? line.ideal_wavefronts : line.ideal_sectors) += c.ideal;
        line.diverged |= c.diverged;
        if (c.example.block < line.example_block || line.example_lanes.empty()) {
            line.example_block = c.example.block;
            line.example_warp = c.example.warp;
            line.example_lanes.clear();
            line.example_offsets.clear();
            for (int lane = 0; lane < kWarp; ++lane) {
                if ((c.example.lanes >> lane & 1u) == 0) continue;
                line.example_offsets.push_back(c.example.offsets[line.example_lanes.size()]);
                line.example_lanes.push_back(lane);
            }
        }
    }
    for (auto& entry : lines) r.lines.push_back(std::move(entry.second));
    r.owners_block = s.owners.empty() ? 0 : s.owners_block;
    r.owners = std::move(s.owners);

    std::vector<std::pair<FindingKey, const Found*>> found;
    for (const auto& [key, f] : s.findings) found.emplace_back(key, &f);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::tuple(a.second->block, a.second->order) < std::tuple(b.second->block, b.second->order);
    });
    for (const auto& [key, f] : found) {
        const Place& here = place_of(key.site);
        const Sentence& t = f->sentence;
        const std::int64_t beyond = f->astray ? 0 : f->beyond;
        std::string message = t.before + (t.between.empty() ? "" : place_of(key.other).text() + t.between) +
                              here.text() + t.after + " (block " + std::to_string(f->block) + ")";
        // Two instructions of one pair of lines are one finding.
        const auto same = std::find_if(r.findings.begin(), r.findings.end(), [&](const Finding& x) {
            return x.kind == key.kind && x.file == here.file && x.line == here.line &&
                   (t.between.empty() ||
                    x.message.find(place_of(key.other).text() + t.between.substr(0, 4)) != std::string::npos);
        });
        if (same != r.findings.end()) {
            same->count += f->count;
            same->beyond = same->beyond == 0 || beyond == 0 ? 0 : std::max(same->beyond, beyond);
        } else {
            r.findings.push_back({key.kind, message, here.file, here.line, f->count, beyond});
        }
    }
    session = nullptr;
    return r;
}

}  // namespace cpu_device::trace

// ---- what gcc calls ----

namespace {
inline void record(void* return_address, const void* address, int width, bool store) {
    using namespace cpu_device::trace;
    if (BlockTrace* trace = local.trace) {
        trace->access(site_of(return_address), reinterpret_cast<Address>(address), width, store);
    }
}

/// A struct (float3, eight floats): no instruction moves it in one; in the widest pieces that its size and
/// its place allow.
inline void record_range(void* return_address, const void* address, std::size_t bytes, bool store) {
    const std::size_t place = bytes | reinterpret_cast<std::size_t>(address) | 16;
    const std::size_t piece = place & (~place + 1);
    for (std::size_t at = 0; at < bytes; at += piece) {
        record(return_address, static_cast<const char*>(address) + at, static_cast<int>(piece), store);
    }
}
}  // namespace

extern "C" {
#define ACCESS_HOOKS(width)                                   \
    void __tsan_read##width(void* p) {                        \
        record(__builtin_return_address(0), p, width, false); \
    }                                                         \
    void __tsan_write##width(void* p) {                       \
        record(__builtin_return_address(0), p, width, true);  \
    }
ACCESS_HOOKS(1)
ACCESS_HOOKS(2)
ACCESS_HOOKS(4)
ACCESS_HOOKS(8)
ACCESS_HOOKS(16)
#undef ACCESS_HOOKS
#define UNALIGNED_HOOKS(width)                                \
    void __tsan_unaligned_read##width(void* p) {              \
        record(__builtin_return_address(0), p, width, false); \
    }                                                         \
    void __tsan_unaligned_write##width(void* p) {             \
        record(__builtin_return_address(0), p, width, true);  \
    }
UNALIGNED_HOOKS(2)
UNALIGNED_HOOKS(4)
UNALIGNED_HOOKS(8)
UNALIGNED_HOOKS(16)
#undef UNALIGNED_HOOKS
void __tsan_read_range(void* p, unsigned long bytes) {
    record_range(__builtin_return_address(0), p, bytes, false);
}
void __tsan_write_range(void* p, unsigned long bytes) {
    record_range(__builtin_return_address(0), p, bytes, true);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __sanitizer_cov_trace_pc() {
    using namespace cpu_device::trace;
    if (local.trace == nullptr) return;
    local.trace->step(site_of(__builtin_return_address(0)));
    cpu_device::stop_if_interrupted();
}
void __tsan_init() {
    cpu_device::trace::hooked = true;
}
}
