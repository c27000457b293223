// What is kept of blocks in order: against the counts of the same trace, and against what the kernels say.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/cpu/trace/kernels.hpp"
#include "tests/cpu/trace/tracing.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/cluster_gemm.hpp"
#include "tests/support.hpp"
#include "tests/tma/tma_gemm.hpp"

namespace history_test {
namespace {

namespace trace = cpu_device::trace;
using test::DeviceArray;
using test::Traced;
using trace::BlockHistory;
using What = BlockHistory::What;

constexpr const char* kTile = "/tests/cpu/trace/tiles.cu";
constexpr const char* kTma = "/tests/tma/tma_gemm.cu";

std::vector<float> random(std::size_t count) {
    std::mt19937_64 numbers(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(numbers);
    return values;
}

trace::Matrix matrix(const char* name, const float* start, int rows, int cols, int pitch) {
    return {.name = name,
            .start = start,
            .rows = rows,
            .cols = cols,
            .pitch = pitch,
            .writable = std::string(name) == "C"};
}

/// 128×128×32 in 4 blocks of 64×64, in two steps.
Traced traced_tile(const trace::Histories& histories) {
    constexpr int M = 128, N = 128, K = 32;
    const DeviceArray<float> A(random(std::size_t{M} * K)), B(random(std::size_t{K} * N)),
        C(std::size_t{M} * N);
    return test::run_traced(
        {matrix("A", A.data(), M, K, K), matrix("B", B.data(), K, N, N), matrix("C", C.data(), M, N, N)},
        [&] { traced::block_tile(0, M, N, K, A.data(), B.data(), C.data()); }, histories);
}

/// 96×96×80 with a pitch of 100, in 9 tiles of 3 steps by two blocks.
Traced traced_tma(kernels::TmaMistake mistake) {
    constexpr int M = 96, N = 96, K = 80, pitch = 100;
    const DeviceArray<float> A(random(std::size_t{M} * pitch)), B(random(std::size_t{M} * pitch)),
        C(random(std::size_t{M} * pitch));
    return test::run_traced({matrix("A", A.data(), M, K, pitch), matrix("B", B.data(), K, N, pitch),
                             matrix("C", C.data(), M, N, pitch)},
                            [&] {
                                kernels::tma_gemm(mistake, M, N, K, A.data(), pitch, B.data(), pitch,
                                                  C.data(), pitch, 1.5f, 0.5f);
                            },
                            {.blocks = 2});
}

/// What a line of the report and an access of a history have in common.
using Key = std::tuple<int, std::string, bool, int>;
Key key_of(const BlockHistory& h, std::uint32_t access) {
    const BlockHistory::Access& a = h.accesses[access];
    return {h.sites[a.site].line, h.arrays[a.array].name, a.store, a.width};
}

/// Requests and sectors or wavefronts, by line.
std::map<Key, std::pair<std::uint64_t, std::uint64_t>> counts_of(const std::vector<BlockHistory>& all) {
    std::map<Key, std::pair<std::uint64_t, std::uint64_t>> counts;
    const auto add = [&](const BlockHistory& h, std::uint32_t access, std::uint64_t units) {
        auto& [requests, sum] = counts[key_of(h, access)];
        ++requests;
        sum += units;
    };
    for (const BlockHistory& h : all) {
        for (const BlockHistory::Event& e : h.events) {
            if (e.what == What::request) add(h, e.access, e.count);
        }
        for (const BlockHistory::Copy& c : h.copies) {
            if (c.access != BlockHistory::kNone) add(h, c.access, c.sectors);
        }
    }
    return counts;
}
std::map<Key, std::pair<std::uint64_t, std::uint64_t>> counts_of(const trace::Report& report) {
    std::map<Key, std::pair<std::uint64_t, std::uint64_t>> counts;
    for (const trace::Line& l : report.lines)
        counts[{l.line, l.array, l.store, l.width}] = {l.requests, l.shared ? l.wavefronts : l.sectors};
    return counts;
}

std::vector<std::uint64_t> blocks_of(const Traced& t) {
    std::vector<std::uint64_t> blocks;
    for (const BlockHistory& h : t.report.histories) blocks.push_back(h.index);
    return blocks;
}

/// Lines of a warp's requests, and -1 for a barrier, in its order.
std::vector<int> way_of(const BlockHistory& h, int warp) {
    std::vector<int> way;
    for (const BlockHistory::Event& e : h.events) {
        if (e.warp != warp || e.what == What::returned) continue;
        way.push_back(e.what == What::barrier ? -1 : h.sites[h.accesses[e.access].site].line);
    }
    return way;
}

}  // namespace

TEST_CASE("history: what all blocks did is what was counted") {
    const Traced t = traced_tile({.blocks = 4});
    CHECK(blocks_of(t) == std::vector<std::uint64_t>{0, 1, 2, 3});
    CHECK(counts_of(t.report.histories) == counts_of(t.report));
    const Traced copies = traced_tma(kernels::TmaMistake::none);
    CHECK(blocks_of(copies) == std::vector<std::uint64_t>{0, 1});
    CHECK(counts_of(copies.report.histories) == counts_of(copies.report));
    CHECK(traced_tile({}).report.histories.empty());
}

TEST_CASE(
    "history: a warp's requests and barriers stand in its order, and all warps have come before they meet") {
    const Traced t = traced_tile({.blocks = 1});
    REQUIRE(t.report.histories.size() == 1);
    const BlockHistory& h = t.report.histories.front();
    std::vector<int> expected;
    const auto line = [](const char* mark) { return test::marked(kTile, mark); };
    for (int step = 0; step < 2; ++step) {
        for (const char* mark :
             {"load-a", "load-b", "store-a0", "store-a1", "store-a2", "store-a3", "store-b"})
            expected.push_back(line(mark));
        expected.push_back(-1);
        for (int k = 0; k < 16; ++k) expected.insert(expected.end(), {line("read-a"), line("read-b")});
    }
    expected.insert(expected.end(), 4, line("store-c"));
    for (int warp = 0; warp < 8; ++warp) CHECK(way_of(h, warp) == expected);

    std::vector<int> barriers(8), returned(8);
    int met = 0;
    for (const BlockHistory::Event& e : h.events) {
        if (e.what == What::met) {
            ++met;
            CHECK(barriers == std::vector<int>(8, met));
            continue;
        }
        // Nobody goes on before all have met.
        CHECK(barriers[static_cast<std::size_t>(e.warp)] == met);
        if (e.what == What::barrier) {
            ++barriers[static_cast<std::size_t>(e.warp)];
            CHECK(e.lanes == ~0u);
        }
        if (e.what == What::returned) ++returned[static_cast<std::size_t>(e.warp)];
    }
    CHECK(met == 2);
    CHECK(returned == std::vector<int>(8, 1));
}

TEST_CASE("history: what is stored to shared memory is known to come from its matrix, byte by byte") {
    const Traced t = traced_tile({.blocks = 4});
    constexpr int K = 32, BM = 64, BK = 16;
    int stores = 0;
    for (const BlockHistory& h : t.report.histories) {
        for (const BlockHistory::Event& e : h.events) {
            if (e.what != What::request) continue;
            const BlockHistory::Access& a = h.accesses[e.access];
            if (!a.store || !h.arrays[a.array].shared) {
                CHECK(e.from == BlockHistory::kNone);
                continue;
            }
            REQUIRE(e.from != BlockHistory::kNone);
            const BlockHistory::Source& from = h.sources[e.from];
            if (h.arrays[a.array].name != "As") {
                CHECK(h.arrays[from.array].name == "B");
                continue;
            }
            CHECK(h.arrays[from.array].name == "A");
            const BlockHistory::Pattern &to = h.patterns[e.pattern], &of = h.patterns[from.pattern];
            REQUIRE((to.lanes == ~0u && of.lanes == ~0u));
            for (std::size_t lane = 0; lane < 32; ++lane) {
                const std::int64_t stored = (e.base + to.offsets[lane]) / 4,
                                   loaded = (from.base + of.offsets[lane]) / 4;
                const std::int64_t column = stored / BM % BK, row = stored % BM + h.block[1] * BM;
                CHECK(loaded / K == row);
                CHECK(loaded % BK == column);
            }
            ++stores;
        }
    }
    CHECK(stores == 4 * 8 * 2 * 4);  // blocks, warps, steps, stores
}

TEST_CASE("history: the first block, those in which something was found, and others") {
    const auto kept = [](std::size_t blocks) {
        const DeviceArray<float> out(std::size_t{5} * 64);
        const Traced t =
            test::run_traced({}, [&] { traced::one_races(3, 5, out.data()); }, {.blocks = blocks});
        CHECK_FALSE(t.report.findings.empty());
        for (const trace::Finding& f : t.report.findings) CHECK(f.block == 3);
        return blocks_of(t);
    };
    CHECK(kept(0).empty());
    CHECK(kept(1) == std::vector<std::uint64_t>{0});
    CHECK(kept(2) == std::vector<std::uint64_t>{0, 3});
    CHECK(kept(3) == std::vector<std::uint64_t>{0, 3, 2});
    CHECK(kept(9) == std::vector<std::uint64_t>{0, 3, 1, 2, 4});
}

TEST_CASE("history: no more is kept than was asked for, and the first") {
    const Traced whole = traced_tile({.blocks = 1}), cut = traced_tile({.blocks = 1, .most_events = 100});
    const BlockHistory &all = whole.report.histories.front(), &some = cut.report.histories.front();
    CHECK((!all.truncated && some.truncated));
    REQUIRE(some.events.size() == 100);
    CHECK(std::equal(some.events.begin(), some.events.end(), all.events.begin()));
    CHECK(counts_of(cut.report) == counts_of(whole.report));
}

TEST_CASE("history: phases of mbarriers, and boxes where they belong") {
    const Traced t = traced_tma(kernels::TmaMistake::none);
    REQUIRE(t.report.histories.size() == 2);
    for (const BlockHistory& h : t.report.histories) {
        REQUIRE(h.mbarriers.size() == 5);
        CHECK(h.mbarriers[0].name == "full[0]");
        CHECK(h.mbarriers[1].name == "empty[0]");
        CHECK(h.mbarriers[1].arrivals == 128);
        CHECK(h.mbarriers[4].name == "met");
        std::vector<std::int64_t> complete(5);  // phases
        std::map<std::uint32_t, std::int64_t> under_way;
        std::vector<int> arrivals(5);
        std::size_t boxes = 0, landed = 0;
        for (const BlockHistory::Event& e : h.events) {
            switch (e.what) {
                case What::arrive:
                    CHECK(e.phase == complete[e.pattern]);
                    arrivals[e.pattern] += __builtin_popcount(e.lanes);
                    break;
                case What::phase:
                    CHECK(e.phase == complete[e.pattern]++);
                    CHECK(arrivals[e.pattern] == static_cast<int>(h.mbarriers[e.pattern].arrivals));
                    arrivals[e.pattern] = 0;
                    for (const auto& [copy, phase] : under_way)
                        CHECK(h.copies[copy].barrier != e.pattern);  // all of its bytes are there
                    break;
                case What::passed:
                    CHECK(e.phase < complete[e.pattern]);
                    break;
                case What::box:
                    CHECK(e.access == boxes++);
                    under_way[e.access] = 0;
                    break;
                case What::landed:
                    CHECK(under_way.erase(e.access) == 1);
                    ++landed;
                    break;
                default:
                    break;
            }
        }
        CHECK(boxes == h.copies.size());
        CHECK(landed == boxes);
    }
    // Tiles 0, 2, 4 … of 3 by 3, each by 3 steps of two loads and a store.
    const BlockHistory& h = t.report.histories.front();
    REQUIRE(h.copies.size() == 5 * 7);
    std::vector<std::array<std::int64_t, 4>> a, b, c;  // row, column, rows, offset
    for (const BlockHistory::Copy& copy : h.copies) {
        const std::string& name = h.arrays[copy.array].name;
        (name == "A"   ? a
         : name == "B" ? b
                       : c)
            .push_back({copy.row, copy.col, copy.rows, static_cast<std::int64_t>(copy.offset)});
        CHECK((copy.cols == 32 && copy.element_bytes == 4 && copy.bytes == 4096));
        CHECK(copy.swizzle == (name == "A" ? 128 : 0));
        CHECK((copy.barrier == BlockHistory::kNone) == (name == "C"));
    }
    REQUIRE((a.size() == 15 && b.size() == 15 && c.size() == 5));
    for (int i = 0; i < 15; ++i) {
        const int tile = i / 3 * 2, k0 = i % 3 * 32, stage = i % 2 * 4096;
        CHECK(a[static_cast<std::size_t>(i)] == std::array<std::int64_t, 4>{tile / 3 * 32, k0, 32, stage});
        CHECK(b[static_cast<std::size_t>(i)] == std::array<std::int64_t, 4>{k0, tile % 3 * 32, 32, stage});
    }
    CHECK(c[1] == std::array<std::int64_t, 4>{0, 64, 32, 0});
}

TEST_CASE("history: a block that hangs has one, up to where it does") {
    const Traced t = traced_tma(kernels::TmaMistake::never_released);
    CHECK_FALSE(t.error.empty());
    REQUIRE_FALSE(t.report.histories.empty());
    const BlockHistory& h = t.report.histories.front();
    std::map<std::uint32_t, int> waits;  // of threads, at which mbarrier
    for (const BlockHistory::Event& e : h.events) {
        if (e.what == What::wait) waits[e.pattern] += __builtin_popcount(e.lanes);
        if (e.what == What::passed && e.phase >= 0) waits[e.pattern] -= __builtin_popcount(e.lanes);
    }
    CHECK(std::any_of(waits.begin(), waits.end(), [](const auto& at) { return at.second > 0; }));
}

TEST_CASE("history: blocks of a cluster have one each") {
    constexpr int M = 128, N = 64, K = 160;
    const std::vector<float> values(std::size_t{K} * 160, 1.0f);
    const DeviceArray<float> A(values), B(values), C(values);
    const Traced t = test::run_traced(
        {matrix("A", A.data(), M, K, K), matrix("B", B.data(), K, N, N), matrix("C", C.data(), M, N, N)},
        [&] { kernels::cluster_gemm(kernels::ClusterMistake::none, M, N, K, A.data(), B.data(), C.data()); },
        {.blocks = 4});
    REQUIRE(t.report.histories.size() == 8);  // 4 clusters
    CHECK(counts_of(t.report.histories) == counts_of(t.report));
    for (const BlockHistory& h : t.report.histories) {
        std::size_t halves = 0, landed = 0;
        for (const BlockHistory::Copy& copy : h.copies) halves += h.arrays[copy.array].name == "B" ? 1 : 0;
        for (const BlockHistory::Event& e : h.events) landed += e.what == What::landed ? 1 : 0;
        CHECK(halves == 2 * 5);  // of both blocks, in 5 steps
        CHECK(landed == h.copies.size());
    }
    CHECK(t.report.histories[0].rank == 0);
    CHECK(t.report.histories[1].rank == 1);
}

}  // namespace history_test
