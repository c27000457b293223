// Launches of lesson 15's steps: again and again with one plan, after one that was cut short, and without a
// workspace.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "tests/support.hpp"

namespace {

/// So many SMs, and nothing of a test's blocks and schedules afterwards.
struct Device {
    explicit Device(int multiprocessors) {
        test::device();
        cpu_device::set_multiprocessors(multiprocessors);
    }
    ~Device() {
        cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
        cpu_device::set_schedule_seed(0);
    }
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
};

/// C as the launch leaves it.
std::vector<std::byte> launched(const gemm::Lesson& lesson, gemm::Workload& w, const void* plan) {
    w.reset_c();
    lesson.launch(w.problem(), plan, nullptr);
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());
    const gemm::Elements c = w.download_c();
    return {c.bytes().begin(), c.bytes().end()};
}

/// How many words of the allocations of so many bytes are not 0.
std::size_t words_left(std::size_t bytes) {
    std::size_t left = 0;
    for (const cpu_device::Allocation& a : cpu_device::allocations()) {
        if (a.bytes != bytes) continue;
        std::vector<unsigned> words(bytes / sizeof(unsigned));
        CUDA_CHECK(cudaMemcpy(words.data(), a.start, bytes, cudaMemcpyDeviceToHost));
        left += words.size() - static_cast<std::size_t>(std::count(words.begin(), words.end(), 0u));
    }
    return left;
}

/// While it lives, this process gets no more memory that it may write.
class NoRoom {
  public:
    NoRoom() {
        getrlimit(RLIMIT_DATA, &before_);
        const rlimit none{std::min<rlim_t>(before_.rlim_max, rlim_t{1} << 20), before_.rlim_max};
        setrlimit(RLIMIT_DATA, &none);
    }
    ~NoRoom() { setrlimit(RLIMIT_DATA, &before_); }
    NoRoom(const NoRoom&) = delete;
    NoRoom& operator=(const NoRoom&) = delete;

  private:
    rlimit before_{};
};

/// A step, and the bytes that it wants for the problem below on so many SMs.
struct Step {
    const char* lesson;
    std::size_t sums, counters;
};
constexpr int kMultiprocessors = 24;
gemm::Shape the_shape(bool padded, float alpha = 1.0f, float beta = 0.0f) {
    return test::shape(125, 131, 505, padded, alpha, beta);  // six small C tiles
}

void require_same_bits(const Step& step) {
    const gemm::Lesson& lesson = test::lesson(step.lesson);
    const Device device(kMultiprocessors);
    gemm::Workload w(the_shape(true, 1.5f, -0.5f), test::seed());
    const gemm::Verifier verifier(w);
    const gemm::Plan plan = lesson.prepare(w.problem());
    const std::vector<std::byte> expected = launched(lesson, w, plan.get());
    const gemm::Verdict verdict = verifier.check(w.download_c(), &lesson, {}, gemm::Fill::poison);
    INFO(verdict.failure);
    CHECK(verdict.passed);
    for (unsigned i = 1; i < 20; ++i) {
        INFO("launch " << i);
        cpu_device::set_schedule_seed(test::seed() + i);
        REQUIRE(launched(lesson, w, plan.get()) == expected);
    }
    CHECK(words_left(step.counters) == 0);
    // Of B half the rows are there: some slices have come when others end the launch.
    cpu_device::set_schedule_seed(0);
    gemm::Problem half = w.problem();
    void* rows = nullptr;
    const std::size_t bytes = static_cast<std::size_t>(half.K / 2 * half.ldb) * sizeof(float);
    CUDA_CHECK(cudaMalloc(&rows, bytes));
    CUDA_CHECK(cudaMemset(rows, 0, bytes));
    half.B = rows;
    CHECK_THROWS_AS(lesson.launch(half, plan.get(), nullptr), gemm::Error);
    (void)cudaGetLastError();
    cudaFree(rows);
    CHECK(words_left(step.counters) > 0);
    REQUIRE(launched(lesson, w, plan.get()) == expected);
    CHECK(words_left(step.counters) == 0);
}

void require_whole_tiles_without_room(const Step& step) {
#ifdef __SANITIZE_ADDRESS__
    // It maps memory of its own, and ends the process where it gets none.
    return test::skip("AddressSanitizer needs room itself");
#endif
    const gemm::Lesson& lesson = test::lesson(step.lesson);
    const Device device(kMultiprocessors);
    gemm::Workload w(the_shape(false), test::seed());
    const gemm::Verifier verifier(w);
    (void)lesson.prepare(
        w.problem());  // what the host allocates the first time is there: no room is the GPU's
    const std::size_t before = cpu_device::allocations().size();
    std::fflush(stderr);
    const std::unique_ptr<FILE, int (*)(FILE*)> said(std::tmpfile(), std::fclose);
    REQUIRE(said != nullptr);
    const int errors = dup(STDERR_FILENO);
    dup2(fileno(said.get()), STDERR_FILENO);
    gemm::Plan plan;
    {
        const NoRoom none;
        plan = lesson.prepare(w.problem());
    }
    dup2(errors, STDERR_FILENO);
    close(errors);
    std::rewind(said.get());
    std::string sentence(1000, '\0');
    sentence.resize(std::fread(sentence.data(), 1, sentence.size(), said.get()));
    test::require_contains(sentence, "no room for a workspace of " + std::to_string(step.sums) + " bytes");
    CHECK(std::count(sentence.begin(), sentence.end(), '\n') == 1);
    CHECK(cpu_device::allocations().size() == before);
    (void)launched(lesson, w, plan.get());
    const gemm::Verdict verdict = verifier.check(w.download_c(), &lesson, {}, gemm::Fill::poison);
    INFO(verdict.failure);
    CHECK(verdict.passed);
}

// Six C tiles in four slices, each with a counter.
constexpr Step kSplitK{"15a_split_k", 4 * 6 * 64 * 64 * sizeof(float), 6 * sizeof(unsigned)};
// 24 blocks, of which the last leaves nothing.
constexpr Step kStreamK{"15b_stream_k", 23 * 64 * 64 * sizeof(float), 24 * sizeof(unsigned)};
// Twelve C tiles of 32×64 in four slices, each with a counter.
constexpr Step kChoose{"15d_choose", 4 * 12 * 32 * 64 * sizeof(float), 12 * sizeof(unsigned)};

}  // namespace

TEST_CASE(
    "split-K: 20 launches give the same bits in any order of blocks, and after one that was cut short") {
    require_same_bits(kSplitK);
}
TEST_CASE(
    "stream-K: 20 launches give the same bits in any order of blocks, and after one that was cut short") {
    require_same_bits(kStreamK);
}
TEST_CASE(
    "shares of the adding: 20 launches give the same bits in any order of blocks, and after one that was cut "
    "short") {
    require_same_bits(kChoose);
}
TEST_CASE("split-K: without room for a workspace C tiles are computed in one piece, and a sentence says so") {
    require_whole_tiles_without_room(kSplitK);
}
TEST_CASE(
    "stream-K: without room for a workspace C tiles are computed in one piece, and a sentence says so") {
    require_whole_tiles_without_room(kStreamK);
}
TEST_CASE(
    "shares of the adding: without room for a workspace C tiles are computed in one piece, and a sentence "
    "says so") {
    require_whole_tiles_without_room(kChoose);
}

TEST_CASE("shares of the adding: where fewer blocks fit than were planned for, the launch is refused") {
    const gemm::Lesson& lesson = test::lesson(kChoose.lesson);
    const Device device(kMultiprocessors);
    gemm::Workload w(the_shape(true), test::seed());
    const gemm::Plan plan = lesson.prepare(w.problem());
    const std::vector<std::byte> expected = launched(lesson, w, plan.get());
    const gemm::Tiling tiling = lesson.tiling(w.problem());
    const std::string room =
        std::to_string(gemm::blocks_per_sm(tiling.kernel, tiling.block, tiling.dynamic_shared_bytes));
    CHECK(tiling.slices > 1);
    cpu_device::set_multiprocessors(1);  // each block waits for all of its C tile
    lesson.launch(w.problem(), plan.get(), nullptr);
    CHECK(cpu_device::refusal() == "a cooperative launch of " + std::to_string(tiling.blocks) +
                                       " blocks, but the device holds " + room +
                                       " at once (1 SM with room for " + room + " each)");
    CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    cpu_device::set_multiprocessors(kMultiprocessors);
    CHECK(launched(lesson, w, plan.get()) == expected);
}

TEST_CASE(
    "a lesson that chooses its C tiles says which, and into how many slices of K and blocks it divides "
    "them") {
    for (const char* name : {"15a_split_k", kChoose.lesson, "15c_wgmma"}) {
        const gemm::Lesson& lesson = test::lesson(name);
        for (const gemm::Reach& reach : lesson.reaching) {
            const Device device(reach.multiprocessors);
            const gemm::Workload w(test::shape_for(lesson, reach.M, reach.N, reach.K, false), test::seed());
            const gemm::Tiling tiling = gemm::tiling_of(lesson, w.problem()).value();
            const auto [BM, BN, BK] = tiling.tile;
            INFO(name << ", " << reach.path << ": " << BM << "×" << BN << ", " << tiling.slices << " slices");
            const std::int64_t down = gemm::ceil_div(reach.M, BM), across = gemm::ceil_div(reach.N, BN);
            CHECK(tiling.blocks == down * across * tiling.slices);
            CHECK(gemm::ceil_div(reach.K, BK) >= tiling.slices);
            // By owner(), elements have the same C tile up to its last row and column, and no farther. Blocks
            // are counted through all C tiles of a slice; those of a cluster through all slices of a C tile.
            const bool cluster = std::string_view(name) == "15c_wgmma";
            const auto tile_of = [&](std::int64_t row, std::int64_t col) {
                const std::int64_t block = lesson.owner(w.problem(), row, col).block.x;
                CHECK(block < tiling.blocks);
                return cluster ? block / tiling.slices : block % (down * across);
            };
            CHECK(tile_of(std::min<std::int64_t>(BM, reach.M) - 1, std::min<std::int64_t>(BN, reach.N) - 1) ==
                  tile_of(0, 0));
            if (BM < reach.M) CHECK(tile_of(BM, 0) != tile_of(0, 0));
            if (BN < reach.N) CHECK(tile_of(0, BN) != tile_of(0, 0));
        }
    }
}

TEST_CASE(
    "a lesson with one C tile for all problems says nothing of a problem's, nor one of a problem without "
    "products") {
    const gemm::Workload some(test::shape(40, 33, 20, false), test::seed()),
        none(test::shape(40, 33, 0, false), test::seed());
    CHECK_FALSE(gemm::tiling_of(test::lesson("01_naive"), some.problem()));
    CHECK(gemm::tiling_of(test::lesson(kChoose.lesson), some.problem()));
    CHECK_FALSE(gemm::tiling_of(test::lesson(kChoose.lesson), none.problem()));
}

TEST_CASE("stream-K: where C tiles are shared there are no more blocks than SMs, so that all are resident") {
    const gemm::Lesson& lesson = test::lesson("15b_stream_k");
    int shared = 0;  // of the sixteen
    for (const int multiprocessors : {2, 7, 24, 132}) {
        const Device device(multiprocessors);
        for (const auto& [m, n, k] :
             {std::array{61, 131, 553}, {125, 131, 505}, {513, 256, 497}, {64, 640, 900}}) {
            const gemm::Workload w(test::shape(m, n, k, false), test::seed());
            const std::size_t before = cpu_device::allocations().size();
            const gemm::Plan plan = lesson.prepare(w.problem());
            if (cpu_device::allocations().size() == before) continue;  // no workspace: nobody waits
            ++shared;
            unsigned most = 0;
            for (int row = 0; row < m; row += 64) {
                for (int col = 0; col < n; col += 64)
                    most = std::max(most, lesson.owner(w.problem(), row, col).block.x);
            }
            INFO(m << "×" << n << "×" << k << " on " << multiprocessors << " SMs");
            CHECK(most < static_cast<unsigned>(multiprocessors));
        }
    }
    CHECK(shared >= 8);
}

TEST_CASE("stream-K: where fewer blocks fit than were planned for, a wait ends if blocks start in order") {
    const gemm::Lesson& lesson = test::lesson("15b_stream_k");
    const Device device(kMultiprocessors);
    // 30 medium C tiles for 24 SMs: nearly every block leaves sums and waits for some.
    gemm::Workload w(test::shape(320, 768, 200, true), test::seed());
    const gemm::Plan plan = lesson.prepare(w.problem());
    const std::vector<std::byte> expected = launched(lesson, w, plan.get());
    cpu_device::set_multiprocessors(1);  // room for four of 24 blocks
    CHECK(launched(lesson, w, plan.get()) == expected);
    int hung = 0;
    for (unsigned seed = 1; seed <= 6; ++seed) {
        cpu_device::set_schedule_seed(seed);
        try {
            const bool same = launched(lesson, w, plan.get()) == expected;
            CHECK(same);
        } catch (const gemm::Error& error) {
            ++hung;
            test::require_contains(error.what(), "no block can go on");
            test::require_contains(error.what(), "they wait for blocks that have not started");
            (void)cudaGetLastError();
        }
    }
    CHECK(hung > 0);
    cpu_device::set_schedule_seed(0);
    CHECK(launched(lesson, w, plan.get()) == expected);
}
