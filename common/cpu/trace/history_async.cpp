// What goes on beside a block's threads, as its history has it: copies, mbarriers, wgmma.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "common/cpu/execution/bulk_copies.hpp"
#include "common/cpu/ptx/warpgroup_types.hpp"
#include "common/cpu/trace/history.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"

namespace cpu_device::trace {

// ---- copies of threads ----

void History::copies_committed(const Who& who) {
    tell(who, {.what = What::commit}, running_);
}

void History::copies_waited(const Who& who, int groups) {
    tell(who, {.what = What::copied, .count = static_cast<std::uint64_t>(groups)}, running_);
}

// ---- mbarriers ----

std::pair<std::uint32_t, std::uint64_t> History::shared_place(BlockHistory& history,
                                                              const void* address) const {
    const Address at = address_of(address);
    const int index = index_of(bounds_.shared(), at);
    if (index < 0) return {BlockHistory::kNone, 0};
    const Array& a = bounds_.shared()[static_cast<std::size_t>(index)];
    return {array_of(history, true, a), at - a.start};
}

std::uint32_t History::mbarrier_of(Kept& kept, const void* mbarrier) {
    auto& all = kept.history.mbarriers;
    const auto [entry, fresh] = kept.mbarriers.try_emplace(mbarrier, all.size());
    if (!fresh) return entry->second;
    constexpr std::uint64_t kBytes = 8;
    const auto [array, offset] = shared_place(kept.history, mbarrier);
    BlockHistory::Mbarrier& added = all.emplace_back();
    kept.phases.push_back(0);
    if (array == BlockHistory::kNone) return entry->second;
    const BlockHistory::Array& a = kept.history.arrays[array];
    // As an autopsy calls it.
    added = {a.name, array, offset, 0};
    if (a.bytes > kBytes && a.bytes <= 64 * kBytes && offset % kBytes == 0 && a.bytes % kBytes == 0) {
        added.name += "[" + std::to_string(offset / kBytes) + "]";
    } else if (offset > 0) {
        added.name += " + " + std::to_string(offset) + " bytes";
    }
    return entry->second;
}

void History::at_mbarrier(const Who& who, Observer::AtMbarrier what, std::uint32_t site, const void* mbarrier,
                          std::uint64_t count) {
    using AtMbarrier = Observer::AtMbarrier;
    Kept& kept = kept_[live_];
    const std::uint32_t index = mbarrier_of(kept, mbarrier);
    std::int64_t& open = kept.phases[index];
    const int thread = who.thread + static_cast<int>(running_) * kept.history.threads;
    const auto place = [&](const char* name) { return site_of(kept, site, name); };
    Event event{.pattern = index, .count = count, .phase = open};
    switch (what) {
        case AtMbarrier::begins:
            event.what = What::begin;
            event.site = place("mbarrier.init");
            event.phase = open = 0;
            kept.history.mbarriers[index].arrivals = count;
            break;
        case AtMbarrier::expects:
            event.what = What::expect;
            event.site = place("mbarrier.expect_tx");
            break;
        case AtMbarrier::arrives:
        case AtMbarrier::arrives_relaxed:
            event.what = What::arrive;
            event.site = place("mbarrier.arrive");
            break;
        case AtMbarrier::waits: {
            event.what = What::wait;
            event.site = place("mbarrier.try_wait");
            // It may ask again.
            const auto [entry, fresh] = kept.waits.try_emplace(thread);
            if (!fresh && entry->second == std::pair(index, open)) return;
            entry->second = {index, open};
            break;
        }
        case AtMbarrier::waited:
        case AtMbarrier::waited_cluster:
            event.what = What::passed;
            event.site = place("mbarrier.try_wait");
            event.phase = open - 1;
            kept.waits.erase(thread);
            break;
        case AtMbarrier::completes:
            event.what = What::phase;
            ++open;
            return tell_once(who, event, live_);
    }
    tell(who, event, live_);
}

// ---- the copy engine ----

void History::box(const Who& who, const BulkCopy& copy, const Access* access, std::uint64_t sectors) {
    Kept& kept = kept_[live_];
    BlockHistory& history = kept.history;
    const TensorMap& map = copy.map;
    BlockHistory::Copy box{
        .sectors = sectors, .bytes = copy.bytes(), .thread = copy.thread, .rank = running_};
    if (access != nullptr) box.access = access_of(kept, *access);
    std::tie(box.shared, box.offset) = shared_place(history, copy.chunks.front().shared);
    if (copy.load) box.barrier = mbarrier_of(kept, copy.mbarrier);
    box.element_bytes = 1;
    box.rows = 1;
    box.cols = static_cast<std::int64_t>(copy.bytes());
    if (map.rank > 0) {
        constexpr int kSpans[] = {0, 32, 64, 128};
        box.swizzle = kSpans[map.swizzle];
        box.element_bytes = static_cast<int>(map.strides[0]);
        box.cols = map.box[0];
        for (int d = 1; d < map.rank; ++d) box.rows *= map.box[d];
    }
    const auto row_bytes = static_cast<std::size_t>(box.cols * box.element_bytes);
    const std::size_t in_a_row = std::max<std::size_t>((row_bytes + kChunk - 1) / kChunk, 1);
    const auto inside =
        std::find_if(copy.chunks.begin(), copy.chunks.end(), [](const Chunk& c) { return c.to > c.from; });
    if (inside != copy.chunks.end()) {
        const Address at = address_of(inside->global);
        if (const int g = index_of(session->globals, at); g >= 0) {
            const Array& a = session->globals[static_cast<std::size_t>(g)];
            box.array = array_of(history, false, a);
            const std::int64_t size = a.matrix != nullptr ? a.matrix->element_bytes : 1;
            const std::int64_t pitch = a.matrix != nullptr ? a.matrix->pitch : std::int64_t{1} << 62;
            const auto element = static_cast<std::int64_t>(at - a.start) / size;
            const auto chunk = static_cast<std::size_t>(inside - copy.chunks.begin());
            const auto before = static_cast<std::int64_t>(chunk % in_a_row * kChunk) + inside->from;
            box.row = element / pitch - static_cast<std::int64_t>(chunk / in_a_row);
            box.col = element % pitch - before / size;
        }
    }
    const auto index = static_cast<std::uint32_t>(history.copies.size());
    if (history.events.size() >= most_events_) {
        history.truncated = true;
        return;
    }
    history.copies.push_back(box);
    if (copy.load) {
        kept.loads[copy.chunks.front().shared] = index;
    } else {
        kept.stores.push_back({copy.thread, copy.group, index});
    }
    tell(who, {.what = What::box, .access = index}, live_);
}

void History::landed(const BulkCopy& copy) {
    Kept& kept = kept_[live_];
    const auto load = kept.loads.find(copy.chunks.front().shared);
    if (load == kept.loads.end()) return;
    put(kept, {.what = What::landed, .access = load->second});
    kept.loads.erase(load);
}

void History::stores_read(const Who& who, std::uint64_t group) {
    Kept& kept = kept_[running_];
    std::erase_if(kept.stores, [&](const Store& store) {
        if (store.thread != who.thread || store.group >= group) return false;
        tell_once(who, {.what = What::landed, .access = store.copy}, running_);
        return true;
    });
}

// ---- wgmma ----

void History::multiplies(const Who& who, std::uint32_t site, const WgmmaMultiply& call,
                         const std::vector<const void*>& places, int warpgroup, std::uint64_t batch) {
    using gemm::ptx::Major;
    using gemm::ptx::WgmmaInput;
    constexpr std::size_t kOfA = 128;  // 64 rows of 32 bytes
    Kept& kept = kept_[running_];
    BlockHistory& history = kept.history;
    if (history.events.size() >= most_events_) {
        history.truncated = true;
        return;
    }
    const bool in_registers = call.registers != nullptr,
               sixteen_bits = call.input_a == WgmmaInput::bf16 || call.input_a == WgmmaInput::f16;
    BlockHistory::Multiply m{.site = site_of(kept, site, "wgmma"),
                             .warpgroup = warpgroup,
                             .columns = static_cast<int>(call.columns()),
                             .depth = sixteen_bits                       ? 16
                                      : call.input_a == WgmmaInput::tf32 ? 8
                                                                         : 32,
                             .batch = batch,
                             .a_in_registers = in_registers,
                             .a_rows = call.major_a == Major::row,
                             .b_rows = call.major_b == Major::row,
                             .a = call.a,
                             .b = call.b};
    const auto operand = [&](std::size_t first, std::size_t end) {
        BlockHistory::Operand all;
        if (first >= end || places[first] == nullptr) return all;
        std::tie(all.array, all.offset) = shared_place(history, places[first]);
        std::vector<std::int64_t> offsets;
        for (std::size_t i = first; i < end; ++i) {
            if (places[i] == nullptr) return BlockHistory::Operand{};
            offsets.push_back(static_cast<std::int64_t>(address_of(places[i]) - address_of(places[first])));
        }
        const auto known = std::find(history.places.begin(), history.places.end(), offsets);
        all.places = static_cast<std::uint32_t>(known - history.places.begin());
        if (known == history.places.end()) history.places.push_back(std::move(offsets));
        return all;
    };
    const std::size_t of_a = in_registers ? 0 : std::min(kOfA, places.size());
    m.a_place = operand(0, of_a);
    m.b_place = operand(of_a, places.size());
    const auto index = static_cast<std::uint32_t>(history.multiplies.size());
    history.multiplies.push_back(m);
    tell(who, {.what = What::wgmma, .access = index}, running_);
}

void History::summed(const Who& who, int warpgroup, std::uint64_t batch) {
    if (batch == 0) return;
    tell(who,
         {.what = What::summed,
          .pattern = static_cast<std::uint32_t>(warpgroup),
          .phase = static_cast<std::int64_t>(batch) - 1},
         running_);
}

}  // namespace cpu_device::trace
