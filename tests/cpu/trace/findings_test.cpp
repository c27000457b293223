// What the tracer finds in kernels with one mistake each, and that it finds nothing in those that are right.
#include <fnmatch.h>

#include <array>
#include <functional>
#include <numeric>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "tests/check/mutants.hpp"
#include "tests/cpu/trace/kernels.hpp"
#include "tests/cpu/trace/tracing.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/cluster_gemm.hpp"
#include "tests/ptx/results.hpp"
#include "tests/ptx/wgmma_gemm.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"
#include "tests/tma/tma_gemm.hpp"

namespace {

using kernels::ClusterMistake;
using kernels::SumMistake;
using kernels::TmaMistake;
using kernels::WgmmaMistake;
using test::DeviceArray;
using test::run_traced;
using test::told;
using test::Traced;
using traced::Copying;
using traced::FlagMistake;
using traced::Matrices;
using traced::Move;
using traced::Race;
using traced::Split;

/// A launch and what must be found: `findings` are patterns of what told() says. Each must be met, and every
/// finding must meet one of them; "*" at the end: others may be found, too. `error`: a pattern of what the
/// launch throws.
struct Tried {
    std::function<Traced()> launch;
    std::vector<std::string> findings;
    std::string error = "";
};

bool matches(const std::string& pattern, const std::string& text) {
    return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// Requires it; adds to `said` the sentences of what was looked for, without their places and numbers.
void require_found(const Tried& tried, std::set<std::string>& said) {
    static const std::regex place("[^ ]+[.]cu:[0-9]+"), number("-?[0-9]+");
    const Traced t = tried.launch();
    INFO(t.error << "\n" << test::all_findings(t.report));
    CHECK(matches(tried.error, t.error));
    std::set<std::string> met;
    for (const cpu_device::trace::Finding& f : t.report.findings) {
        const std::string text = told(f);
        bool expected = false;
        for (const std::string& pattern : tried.findings) {
            if (!matches(pattern, text)) continue;
            expected = true;
            met.insert(pattern);
            if (pattern != "*") {
                said.insert(name_of(f.id) + std::string(": ") +
                            std::regex_replace(std::regex_replace(f.text, place, "PLACE"), number, "N"));
            }
        }
        INFO("this is not looked for: " << text);
        CHECK(expected);
    }
    for (const std::string& pattern : tried.findings) {
        INFO("this is not found: " << pattern);
        CHECK((pattern == "*" || met.count(pattern) == 1));
    }
}

/// Launches on 64 floats that a kernel may write.
template <class Launch>
std::function<Traced()> with_out(const Launch& launch) {
    return [launch] {
        const DeviceArray<float> out(64);
        return run_traced({}, [&] { launch(out.data()); });
    };
}

std::function<Traced()> race(Race kind, int blocks = 1, int rounds = 1) {
    return with_out([=](float* out) { traced::race(kind, blocks, rounds, out); });
}

const std::vector<Tried> kRaces{
    {race(Race::write_read),
     {"race x32 (32,0,0) reads exchange+0 at write_read-read; (0,0,0) wrote at write_read-write"}},
    {race(Race::read_write),
     {"race x32 (32,0,0) writes exchange+128 at read_write-write; (0,0,0) read at read_write-read"}},
    {race(Race::write_write),
     {"race x32 (32,0,0) writes exchange+0 at write_write-second; (0,0,0) wrote at write_write-first"}},
    {race(Race::after_a_barrier),
     {"race x32 (32,0,0) reads exchange+0 at after_a_barrier-read; (0,0,0) wrote at after_a_barrier-write"}},
    {race(Race::in_dynamic),
     {"race x32 (32,0,0) reads shared memory+0 at in_dynamic-read; (0,0,0) wrote at in_dynamic-write"}},
    // Lane 0 reads what lane 1 has not written yet; lane 1 reads what lane 0 has written.
    {race(Race::in_warp),
     {"race x32 (1,0,0) writes exchange+4 at in_warp-write; (0,0,0) read at in_warp-read",
      "race x32 (1,0,0) reads exchange+0 at in_warp-read; (0,0,0) wrote at in_warp-write"}},
    {race(Race::many_readers),
     {"race x* (63,0,0) writes exchange+20 at many_readers-write; * read at many_readers-read"}},
    {race(Race::halves_met), {"race * at halves_met-*"}},
    {race(Race::reader_forgotten), {"race * at reader_forgotten-write; *"}},
    {race(Race::none, 3, 4), {}},
    {race(Race::in_warp_met, 3, 4), {}},
    {race(Race::same_half_met, 3, 4), {}},
    {race(Race::other_bytes, 3, 4), {}}};

std::function<Traced()> counted(bool plainly) {
    return [plainly] {
        const DeviceArray<int> out(1);
        Traced t = run_traced({{"out", out.data(), 1, 1, 1}}, [&] { traced::counter(plainly, out.data()); });
        CHECK(out.host()[0] == 64);
        return t;
    };
}

const std::vector<Tried> kShared{
    {with_out(traced::uninitialised), {"uninitialised_read x1 (0,0,0) reads partly+252 at uninitialised"}},
    {with_out(traced::half_initialised),
     {"uninitialised_read x1 (7,0,0) reads shared memory+28 at half_initialised"}},
    {with_out([](float* out) { traced::static_overflow(false, 1, out); }),
     {"shared_out_of_bounds x1 (63,0,0) writes first+256 of 256 at first-write",
      "shared_out_of_bounds x1 (0,0,0) reads first+256 of 256 at first-read"}},
    {with_out([](float* out) { traced::static_overflow(false, -1, out); }),
     {"shared_out_of_bounds x1 (0,0,0) writes first-4 of 256 at first-write",
      "shared_out_of_bounds x1 (63,0,0) reads first-4 of 256 at first-read"}},
    {with_out([](float* out) { traced::static_overflow(true, 1, out); }),
     {"shared_out_of_bounds x1 (63,0,0) writes second+256 of 256 at second-write",
      "shared_out_of_bounds x1 (0,0,0) reads second+256 of 256 at second-read"}},
    {with_out([](float* out) { traced::static_overflow(true, -1, out); }),
     {"shared_out_of_bounds x1 (0,0,0) writes second-4 of 256 at second-write",
      "shared_out_of_bounds x1 (63,0,0) reads second-4 of 256 at second-read"}},
    {with_out([](float* out) { traced::dynamic_overflow(1, out); }),
     {"shared_out_of_bounds x1 (63,0,0) writes shared memory+256 of 256 at dynamic-write"}},
    {with_out([](float* out) { traced::dynamic_overflow(-1, out); }),
     {"shared_out_of_bounds x1 (0,0,0) writes shared memory-4 of 256 at dynamic-write"}},
    {with_out(traced::dynamic_unasked), {"no_dynamic_shared_memory x64 (0,0,0) writes * at dynamic-write"}},
    {counted(false), {}},
    {counted(true), {"race * at counter-plain; *", "race * at counter-atomic; *"}}};

/// A matrix of 4 rows of 10 or 16 in the middle of a larger allocation.
std::function<Traced()> touched(bool read, std::int64_t row, std::int64_t col, std::int64_t cols = 10,
                                const char* unreadable = "", bool writable = true) {
    return [=] {
        const DeviceArray<float> memory(256), out(64);
        float* const start = memory.data() + 64;
        return run_traced({{"C", start, 4, cols, 16, 4, unreadable, writable}},
                          [&] { traced::touch(read, row, col, 16, start, out.data()); });
    };
}

/// A matrix A within an allocation, or (`exact`) the allocation itself and no matrix.
std::function<Traced()> shifted(int shift, bool exact = false) {
    return [=] {
        const DeviceArray<float> in(std::vector<float>(exact ? 64 : 192, 1.0f)), out(64);
        const float* const start = in.data() + (exact ? 0 : 64);
        std::vector<cpu_device::trace::Matrix> matrices;
        if (!exact) matrices.push_back({"A", start, 4, 16, 16});
        Traced t = run_traced(std::move(matrices), [&] { traced::read_shifted(shift, start, out.data()); });
        if (!exact) CHECK(out.host() == std::vector<float>(64, 0.0f));  // the result is right all the same
        return t;
    };
}

template <class Copy>
std::function<Traced()> copied(const Copy& copy, int shift) {
    return [=] {
        const DeviceArray<float> in(512), out(512);
        return run_traced({}, [&] { copy(shift, in.data(), out.data()); });
    };
}

/// By memcpy() and its like from the middle of A, or to the middle of C, which lie in larger allocations.
std::function<Traced()> moved(Move how, int from, int to, std::size_t bytes) {
    return [=] {
        const DeviceArray<float> in(192), out(192);
        return run_traced({{"A", in.data() + 64, 4, 16, 16, 4, "", false}, {"C", out.data() + 64, 4, 16, 16}},
                          [&] { traced::move(how, from, to, bytes, in.data() + 64, out.data() + 64); });
    };
}

/// Three blocks at the same elements of C; what it then holds, where that is given.
std::function<Traced()> split(Split how, const char* unreadable, float result = 0) {
    return [=] {
        const DeviceArray<float> c(std::vector<float>(64, 7.0f));
        Traced t = run_traced({{"C", c.data(), 4, 16, 16, 4, unreadable, true}},
                              [&] { traced::split(how, 3, c.data()); });
        if (result != 0) CHECK(c.host() == std::vector<float>(64, result));
        return t;
    };
}

const std::vector<Tried> kGlobal{
    {touched(true, 2, 3, 16, "beta = 0"),
     {"forbidden_read x1 (0,0,0) reads C(2,3) (beta = 0) at touch-read"}},
    {touched(false, 2, 3, 16, "", false), {"write_to_input x1 (0,0,0) writes C(2,3) at touch-write"}},
    {touched(true, 2, 3, 16, "", false), {}},
    {touched(false, 2, 3, 16, "beta = 0"), {}},
    {touched(false, 3, 9), {}},
    {touched(true, 3, 9), {}},
    {touched(false, 0, 0), {}},
    {touched(false, 1, 10), {"write_to_padding x1 (0,0,0) writes C(1,10) at touch-write"}},
    {touched(false, 0, 15), {"write_to_padding x1 (0,0,0) writes C(0,15) at touch-write"}},
    {touched(true, 3, 10), {"out_of_bounds x1 (0,0,0) reads C(3,10) at touch-read"}},
    {touched(true, 4, 0), {"out_of_bounds x1 (0,0,0) reads C(4,0) at touch-read"}},
    {touched(true, 0, -1), {"out_of_bounds x1 (0,0,0) reads C(-1,15) at touch-read"}},
    {touched(false, 3, 10), {"out_of_bounds x1 (0,0,0) writes C(3,10) at touch-write"}},
    {touched(false, 4, 0), {"out_of_bounds x1 (0,0,0) writes C(4,0) at touch-write"}},
    {touched(false, 0, -1), {"out_of_bounds x1 (0,0,0) writes C(-1,15) at touch-write"}},
    {shifted(0), {}},
    {shifted(1), {"out_of_bounds x1 (63,0,0) reads A(4,0) at read_shifted"}},
    {shifted(-1), {"out_of_bounds x1 (0,0,0) reads A(-1,15) at read_shifted"}},
    {shifted(1, true), {"out_of_bounds x1 (63,0,0) reads *+256 of 256 at read_shifted"}},
    // The page below an allocation is not there: an error as well.
    {shifted(-1, true),
     {"out_of_bounds x1 (0,0,0) reads *-4 of 256 at read_shifted"},
     "*thread (0,0,0): access to address *"},
    {with_out([](float* out) { traced::copy(std::vector<float>(64, 1.0f).data(), out); }),
     {"host_pointer x64 (0,0,0) reads * at copy"}},
    // x86 itself may refuse a 16-byte access there, after the tracer has seen it.
    {copied(traced::copy_float4, 1),
     {"misaligned_access x* (0,0,0) reads 16 bytes of * at vector-read"},
     "*"},
    {copied(traced::copy_float4, 2),
     {"misaligned_access x* (0,0,0) reads 16 bytes of * at vector-read"},
     "*"},
    {copied(traced::copy_float4, 3),
     {"misaligned_access x* (0,0,0) reads 16 bytes of * at vector-read"},
     "*"},
    {copied(traced::copy_float2, 1), {"misaligned_access x64 (0,0,0) reads 8 bytes of * at vector-read"}},
    {copied(traced::copy_float4, 4), {}},
    {copied(traced::copy_float2, 2), {}},
    {moved(Move::copy, 62, 0, 16), {"out_of_bounds x* (0,0,0) reads A(4,0) at move-copy"}},
    {moved(Move::copy, -1, 0, 4), {"out_of_bounds x* (0,0,0) reads A(-1,15) at move-copy"}},
    {moved(Move::copy, 0, 61, 16), {"out_of_bounds x* (0,0,0) writes C(4,0) at move-copy"}},
    {moved(Move::move, 63, 0, 8), {"out_of_bounds x* (0,0,0) reads A(4,0) at move-move"}},
    {moved(Move::move, 0, 63, 8), {"out_of_bounds x* (0,0,0) writes C(4,0) at move-move"}},
    {moved(Move::read32, 60, 0, 0), {"out_of_bounds x* (0,0,0) reads A(4,0) at move-read32"}},
    {moved(Move::write32, 0, 60, 0), {"out_of_bounds x* (0,0,0) writes C(4,0) at move-write32"}},
    {moved(Move::fill32, 0, 60, 0), {"out_of_bounds x* (0,0,0) writes C(4,0) at move-fill32"}},
    {moved(Move::fill32, 0, -8, 0), {"out_of_bounds x* (0,0,0) writes C(-1,8) at move-fill32"}},
    {moved(Move::to_shared, 0, 60, 0),
     {"shared_out_of_bounds x* (0,0,0) writes tile+256 of 256 at move-to_shared"}},
    {moved(Move::copy, 60, 60, 16), {}},
    {moved(Move::move, 0, 60, 16), {}},
    {moved(Move::read32, 56, 0, 16), {}},
    {moved(Move::write32, 0, 56, 16), {}},
    {moved(Move::fill32, 0, 0, 16), {}},
    {moved(Move::to_shared, 56, 56, 16), {}},
    {split(Split::zeroed_by_kernel, "beta = 0", 6), {}},
    {split(Split::zeroed_by_memset, "beta = 0", 6), {}},
    {split(Split::not_zeroed, "beta = 0", 13), {"forbidden_read x* reads C(0,0) (beta = 0) at split-atomic"}},
    {split(Split::plain, ""), {"block_race * writes C(*) at split-plain; block *", "*"}},
    {split(Split::last_wins, ""), {"block_race * writes C(*) at split-last; block *", "*"}},
    {split(Split::zeroed_by_first, ""), {"block_race *"}},  // block 0 may come last
    {split(Split::same_value, ""), {}},
    {split(Split::in_turn, ""), {}},
    {split(Split::zeroed_by_kernel, ""), {}},
    {split(Split::zeroed_by_memset, ""), {}}};

std::function<Traced()> flags(traced::FlagMistake mistake) {
    return [mistake] {
        const DeviceArray<float> part(64), c(64);
        const DeviceArray<unsigned> flags(2);
        return run_traced({{"C", c.data(), 4, 16, 16}},
                          [&] { traced::flags(mistake, part.data(), flags.data(), c.data()); });
    };
}
std::function<Traced()> passed_on(int blocks) {
    return [blocks] {
        const DeviceArray<float> c(64);
        const DeviceArray<unsigned> flag(1);
        Traced t = run_traced({{"C", c.data(), 4, 16, 16}},
                              [&] { traced::passed_on(blocks, flag.data(), c.data()); });
        CHECK(c.host() == std::vector<float>(64, static_cast<float>(blocks)));
        return t;
    };
}
std::function<Traced()> last_adds(bool acquires) {
    return [acquires] {
        const DeviceArray<float> parts(5 * 64), c(64);
        const DeviceArray<unsigned> count(1);
        Traced t = run_traced({{"C", c.data(), 4, 16, 16}},
                              [&] { traced::last_adds(acquires, 5, parts.data(), count.data(), c.data()); });
        CHECK(c.host() == std::vector<float>(64, 5.0f));
        return t;
    };
}
const std::vector<Tried> kFlags{
    {flags(FlagMistake::none), {}},
    {flags(FlagMistake::none_by_adding), {}},
    {flags(FlagMistake::none_by_fences), {}},
    {flags(FlagMistake::none_and_back), {}},
    {passed_on(9), {}},
    {last_adds(true), {}},
    // The others' fences are not the last one's own.
    {last_adds(false), {"unordered_blocks x256 (*) reads * at last-read; (*) wrote at last-part; block ?"}},
    {flags(FlagMistake::no_barrier_before),
     {"unordered_blocks x63 (1,0,0) reads * at flag-read; (1,0,0) wrote at flag-part; block 1"}},
    // (Who does not wait comes first.)
    {flags(FlagMistake::no_barrier_after),
     {"unordered_blocks x63 (1,0,0) writes * at flag-part; (1,0,0) read at flag-read; block 0"}},
    {flags(FlagMistake::relaxed_add),
     {"unordered_blocks x64 (0,0,0) reads * at flag-read; (0,0,0) wrote at flag-part; block 1"}},
    {flags(FlagMistake::plain_store),
     {"unordered_blocks x1 (0,0,0) writes global memory+0 at flag-plain; (0,0,0) read at flag-wait; block 0",
      "unordered_blocks x1 (0,0,0) reads global memory+0 at flag-wait; (0,0,0) wrote at flag-plain; block 1",
      "unordered_blocks x64 (0,0,0) reads * at flag-read; (0,0,0) wrote at flag-part; block 1"}},
    {flags(FlagMistake::no_fence_after),
     {"unordered_blocks x64 (0,0,0) reads * at flag-read; (0,0,0) wrote at flag-part; block 1"}},
    {flags(FlagMistake::read_early),
     {"unordered_blocks x64 (0,0,0) writes * at flag-part; (0,0,0) read at flag-early; block 0"}},
    {flags(FlagMistake::reused_early), {"unordered_blocks * at flag-*; (*) * at flag-*; block ?"}},
    {flags(FlagMistake::both_write), {"block_race * writes C(*) at flag-*"}}};

std::function<Traced()> copying(Copying kind) {
    return [kind] {
        std::vector<float> values(256);
        std::iota(values.begin(), values.end(), 0.0f);
        const DeviceArray<float> in(values), out(64);
        return run_traced({{"in", in.data(), 1, 256, 256}},
                          [&] { traced::copying(kind, in.data(), out.data()); });
    };
}
std::function<Traced()> matrices(Matrices kind) {
    return with_out([kind](float* out) {
        const DeviceArray<std::uint16_t> in(std::vector<std::uint16_t>(64 * 8, 0x3f80));  // 1 of BF16
        traced::matrices(kind, in.data(), out);
    });
}

const std::vector<Tried> kCopies{
    {copying(Copying::wait_enough), {}},
    {copying(Copying::own), {}},
    {copying(Copying::no_wait), {"copy_in_flight x64 * at no_wait-read; * at no_wait-copy"}},
    {copying(Copying::no_commit), {"copy_in_flight x64 * at no_commit-read; * at no_commit-copy"}},
    {copying(Copying::wait_too_few), {"copy_in_flight x64 * at wait_too_few-read; * at wait_too_few-copy"}},
    {copying(Copying::written_over), {"copy_in_flight x64 * at written_over-write; * at written_over-copy"}},
    {copying(Copying::no_barrier), {"race x32 * at no_barrier-read; * at no_barrier-copy"}},
    {copying(Copying::overwritten), {"race * at overwritten-copy; (*) read at overwritten-read"}},
    {copying(Copying::over_the_end),
     {"shared_out_of_bounds * (63,0,0) writes tile+1024 of 1024 at over_the_end"}},
    {copying(Copying::source_outside), {"out_of_bounds x1 (63,0,0) reads in+1024 of 1024 at source_outside"}},
    {with_out([](float* out) { traced::bulk_stores(0, out); }), {}},
    // A store of a later group is not over when the first has been waited for.
    {with_out([](float* out) { traced::bulk_stores(1, out); }),
     {"store_in_flight * at bulk-again; * at bulk-store"}},
    {matrices(Matrices::right), {}},
    {matrices(Matrices::own_warp), {}},
    // Thread 63 comes to the __syncwarp() last, and is the first to go on.
    {matrices(Matrices::no_barrier), {"race * (63,0,0) reads tile+* at no_barrier; (0,0,0) wrote at store"}},
    {matrices(Matrices::overwritten), {"race * at overwritten-store; (31,0,0) read at overwritten"}},
    // Lanes of one warp: ldmatrix waits for the others, and promises nothing about what they store.
    {matrices(Matrices::stored_after), {"race * at stored_after; * at stored_after-read"}},
    // Without __syncwarp() those that come first read rows that nobody has stored yet.
    {matrices(Matrices::no_syncwarp),
     {"uninitialised_read * at no_syncwarp", "race * at no_syncwarp; *", "race * at store; *"}},
    {matrices(Matrices::in_flight),
     {"copy_in_flight x256 (0,0,0) reads tile+* at in_flight; * at in_flight-copy"}},  // words of 64 rows
    {matrices(Matrices::unwritten), {"uninitialised_read x128 * at unwritten"}},
    {matrices(Matrices::over_the_end),
     {"shared_out_of_bounds x1 (63,0,0) reads tile+1024 of 1024 at over_the_end"}}};

std::function<Traced()> tma(TmaMistake mistake, int N = 96) {
    return [=] { return test::traced_tma(mistake, N); };
}
std::function<Traced()> wgmma(WgmmaMistake mistake) {
    return [=] { return test::traced_wgmma(mistake); };
}
std::function<Traced()> clustered(ClusterMistake mistake) {
    return [=] { return test::traced_cluster(mistake); };
}
std::function<Traced()> summed(SumMistake mistake) {
    return [=] {
        const DeviceArray<int> in(128), out(1);
        return run_traced({}, [&] { kernels::cluster_sum(mistake, in.data(), out.data()); });
    };
}

std::function<Traced()> meeting(kernels::Meeting kind) {
    return [kind] {
        const DeviceArray<float> out(384);
        return run_traced({}, [&] { kernels::meet(kind, 3, out.data()); });
    };
}

const std::vector<Tried> kAsynchronous{
    {meeting(kernels::Meeting::right), {}},
    {meeting(kernels::Meeting::first_alone), {"race * at meet-write; * read at meet-read", "*"}},
    {meeting(kernels::Meeting::second_alone),
     {"race * at meet-read; * wrote at meet-write", "uninitialised_read * at meet-read", "*"}},
    {tma(TmaMistake::proxy_fence_for_init), {}},
    {tma(TmaMistake::no_barrier_after_init),
     {"mbarrier_not_begun * (*) * empty+0 at wait-empty; (*) * at init-empty",
      "mbarrier_not_begun * (*) * at expect-full; (*) * at init-full", "*"},
     "*"},
    {tma(TmaMistake::no_init_fence),
     {"mbarrier_unfenced * (*) * full+0 at load-a; (0,0,0) * at init-full", "*"},
     "*"},
    {tma(TmaMistake::released_early),
     {"load_in_flight * (*) * at read-b; (*) * at load-b",
      "load_overwrites * (*) * at load-b; (*) * at read-b", "*"}},
    {tma(TmaMistake::no_proxy_fence), {"no_proxy_fence * (*) * at store-c; (*) * at write-c", "*"}},
    {tma(TmaMistake::no_wait_before_reuse), {"store_in_flight * (*) * at write-c; (*) * at store-c", "*"}},
    // Rows of 94 floats end in the middle of 16 bytes.
    {tma(TmaMistake::ragged_rows, 94), {"store_past_row x96 (*) writes 8 bytes of C(0,93) at store-c", "*"}},
    // Who does not wait meets what nobody has brought yet, or what is on its way.
    {tma(TmaMistake::wrong_parity), {"uninitialised_read * at read-b", "*"}, "*no thread can go on*"},
    {wgmma(WgmmaMistake::none), {}},
    {wgmma(WgmmaMistake::a_by_threads), {}},
    {wgmma(WgmmaMistake::overlapped), {}},
    {wgmma(WgmmaMistake::released_early), {"wgmma_in_flight * at load-b; (*) * at wgmma", "*"}},
    {wgmma(WgmmaMistake::no_proxy_fence), {"wgmma_unfenced * at wgmma; (*) wrote at write-a", "*"}},
    {clustered(ClusterMistake::relaxed_syncs), {}},
    {clustered(ClusterMistake::relaxed_release),
     {"load_overwrites * (*)/? * at load-b; (*)/? * at read-b", "*"}},
    {clustered(ClusterMistake::block_scope_wait),
     {"load_overwrites * (*)/? * at load-b; (*)/? * at read-b", "*"}},
    {clustered(ClusterMistake::no_sync_at_start),
     {"mbarrier_not_begun * (*)/? * at load-b; (*)/? * at init-full", "*"},
     "*"},
    {clustered(ClusterMistake::unfenced_syncs),
     {"mbarrier_not_begun * (*)/? * at load-b; (*)/? * at init-full", "*"}},
    {clustered(ClusterMistake::leaves_early), {"block_left * (*)/? * at release", "*"}, "*"},
    {summed(SumMistake::none), {}},
    // (Which of two threads came later is the schedule's.)
    {summed(SumMistake::no_barrier), {"race * (*)/? * at *-sum; (*)/? * at *-sum", "*"}},
    {summed(SumMistake::relaxed_barrier), {"race * (*)/? * shared memory+* at *-sum; (*)/? * at *-sum", "*"}},
    {summed(SumMistake::past_the_end), {"shared_out_of_bounds * shared memory+8 of 8/0 at *-sum", "*"}, "*"}};

std::function<Traced()> mutant(const gemm::Lesson& lesson, const gemm::Shape& shape) {
    return [&lesson, shape] { return test::traced_lesson(lesson, gemm::Workload(shape, test::seed())); };
}

const gemm::Shape kPadded = test::shape(33, 47, 70, true),
                  kScaled = test::shape(33, 47, 70, true, 1.5f, -0.5f);
// Thread 0 reads before the others write; threads of later warps read what earlier ones wrote.
const std::vector<std::string> kNoFirstBarrier{
    "uninitialised_read * at *acc += *", "race * writes As+* at As*; * read at *acc += *",
    "race * writes Bs+* at Bs*; * read at *acc += *", "race * at *acc += *; * wrote at [AB]s*"};

const std::vector<Tried> kMutants{
    {mutant(mutant_no_first_barrier::lesson, test::shape(32, 32, 32, false)), kNoFirstBarrier},
    {mutant(mutant_no_first_barrier::lesson, kPadded), kNoFirstBarrier},
    // A thread overwrites what its neighbors have yet to read, and what they have read already.
    {mutant(mutant_no_second_barrier::lesson, kPadded),
     {"race * reads As+* at *acc += *; * wrote at As*", "race * reads Bs+* at *acc += *; * wrote at Bs*",
      "race * writes As+* at As*; * read at *acc += *", "race * writes Bs+* at Bs*; * read at *acc += *"}},
    {mutant(mutant_no_second_barrier::lesson, test::shape(33, 47, 32, true)), {}},  // one tile along K
    // A row too many lies behind the matrix, a column too many in the padding, and the last row's behind the
    // matrix.
    {mutant(mutant_guard_off_by_one::lesson, test::shape(31, 64, 7, false, 1.0f, 0.5f)),
     {"out_of_bounds x* C(31,0) at *[*]c = *"}},
    {mutant(mutant_guard_off_by_one::lesson, test::shape(32, 33, 7, true)),
     {"write_to_padding x31 * writes C(0,33) at *[*]c = *", "out_of_bounds x1 * at *[*]c = *"}},
    {mutant(mutant_guard_off_by_one::lesson, test::shape(64, 64, 7, false)), {}},
    // Mistakes of arithmetic. With the wrong pitch A is read short of its end: inside, if not where it should
    // be.
    {mutant(mutant_no_k_tail::lesson, kScaled), {}},
    {mutant(mutant_nothing_written::lesson, kScaled), {}},
    {mutant(mutant_no_beta::lesson, kScaled), {}},
    {mutant(mutant_beta_times_nan::lesson, kScaled), {}},
    {mutant(mutant_tf32_inputs::lesson, kScaled), {}},
    {mutant(mutant_no_pitch::lesson, kPadded), {}}};

}  // namespace

TEST_CASE("findings: each mistake is found as what it is, where it is, and nothing else") {
    std::set<std::string> said;
    for (const std::vector<Tried>& topic :
         {kRaces, kShared, kGlobal, kFlags, kCopies, kAsynchronous, kMutants}) {
        for (const Tried& tried : topic) require_found(tried, said);
    }
    test::require_approved("findings", {said.begin(), said.end()});
}

TEST_CASE("findings: more of the same is one finding") {
    for (const Race kind :
         {Race::write_read, Race::read_write, Race::write_write, Race::after_a_barrier, Race::in_dynamic}) {
        const auto few = race(kind)().report.findings, many = race(kind, 5, 3)().report.findings;
        INFO(static_cast<int>(kind));
        REQUIRE((few.size() == 1 && many.size() == 1));
        CHECK(many[0].count == 15 * few[0].count);
        CHECK(many[0].text == few[0].text);
    }
}

TEST_CASE("findings: a write far from shared memory is found and breaks nothing") {
    for (const std::int64_t bytes :
         {256, 4096, 40000, 60000, 65536 + 200, 100000, 190000, 250000, 400000, 1 << 20, -4, -4096, -40000,
          -60000, -65536, -100000, -250000, -(1 << 20)}) {
        const Traced t = with_out([&](float* out) { traced::far_write(bytes, out); })();
        INFO(bytes << t.error << test::all_findings(t.report));
        // Far away lies the program's own memory, or none: the thread does not come to the write.
        CHECK(t.error.empty() == (std::abs(bytes) < 61440));
        REQUIRE_FALSE(t.report.findings.empty());
        CHECK(matches("* at far-write", told(t.report.findings[0])));
        CHECK(race(Race::none)().report.findings.empty());
    }
}

TEST_CASE("findings: another block's shared memory when that block may have returned") {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        const test::Schedule schedule(seed);
        const Traced t = summed(SumMistake::no_last_barrier)();
        INFO("seed " << seed << ": " << t.error << "\n" << test::all_findings(t.report));
        if (t.error.empty()) {
            test::finding_at(t.report, "block_left", test::marked("/tests/ptx/cluster_gemm.cu", "read-sum"));
        } else {
            CHECK(matches("* block 0 of its cluster*returned*", t.error));
        }
    }
}

TEST_CASE("findings: what flags order is in order under any schedule, and what they do not is found") {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const test::Schedule schedule(seed);
        INFO("seed " << seed);
        for (const FlagMistake right : {FlagMistake::none, FlagMistake::none_by_adding,
                                        FlagMistake::none_by_fences, FlagMistake::none_and_back}) {
            test::check_sound(flags(right)());
        }
        test::check_sound(last_adds(true)());
        for (const FlagMistake wrong :
             {FlagMistake::no_barrier_before, FlagMistake::no_barrier_after, FlagMistake::relaxed_add,
              FlagMistake::plain_store, FlagMistake::no_fence_after, FlagMistake::read_early}) {
            const Traced t = flags(wrong)();
            INFO(static_cast<int>(wrong) << t.error);
            CHECK_FALSE(t.report.findings.empty());
        }
    }
}
