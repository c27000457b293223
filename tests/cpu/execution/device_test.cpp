// What kernels and launches do on a device. On a GPU this confirms what the tests expect; on the CPU device
// it confirms that it does the same.
#include "common/measure/device.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "tests/cpu/execution/kernels.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"

namespace {

using test::DeviceArray;

/// What the named operation of kernels::shuffles gives a lane, after the CUDA C++ Programming Guide ("Warp
/// shuffle functions", "Warp vote functions"); −1 where CUDA leaves it undefined.
int expected_shuffle(int op, int thread, int threads, unsigned mask, int width) {
    const int lane = thread % 32, first = thread - lane;
    const auto takes_part = [&](int other) {
        return other < 32 && first + other < threads && (mask >> other & 1u);
    };
    const auto from = [&](int other) { return takes_part(other) ? 100 + first + other : -1; };
    const int segment = lane / width * width;
    const auto count = [&](auto&& predicate) {
        unsigned votes = 0;
        for (int l = 0; l < 32; ++l) {
            if (takes_part(l) && predicate(l)) votes |= 1u << l;
        }
        return votes;
    };
    const unsigned everyone = count([](int) { return true; });
    switch (op) {
        case 0:
            return from(segment + (5 + lane) % width);
        case 1:
            return from(lane - 3 >= segment ? lane - 3 : lane);
        case 2:
            return from(lane + 2 < segment + width ? lane + 2 : lane);
        case 3:
            return from((lane ^ 5) / width > lane / width ? lane : lane ^ 5);
        case 4:
            return static_cast<int>(count([](int l) { return l % 3 == 0; }));
        case 5:
            return count([](int l) { return l == 4; }) != 0;
        case 6:
            return 1;
        default:
            return count([](int l) { return l != 4; }) == everyone;
    }
}

}  // namespace

TEST_CASE("device: every thread knows where it is") {
    test::device();
    for (const auto& [grid, block] : {std::pair{dim3(3, 2, 2), dim3(5, 4, 3)},
                                      {dim3(1, 1, 1), dim3(1, 1, 1)},
                                      {dim3(70, 1, 1), dim3(1024, 1, 1)},
                                      {dim3(1, 5, 7), dim3(2, 8, 64)},
                                      {dim3(2, 65535, 1), dim3(1, 1, 1)}}) {
        const std::size_t blocks = std::size_t{grid.x} * grid.y * grid.z;
        const std::size_t threads = std::size_t{block.x} * block.y * block.z;
        const DeviceArray<int> out(12 * blocks * threads);
        kernels::indices(grid, block, out.data());
        const std::vector<int> got = out.host();
        std::size_t at = 0;
        bool right = true;
        for (std::size_t b = 0; b < blocks; ++b) {
            for (std::size_t t = 0; t < threads; ++t) {
                const std::size_t expected[12] = {t % block.x,
                                                  t / block.x % block.y,
                                                  t / block.x / block.y,
                                                  b % grid.x,
                                                  b / grid.x % grid.y,
                                                  b / grid.x / grid.y,
                                                  block.x,
                                                  block.y,
                                                  block.z,
                                                  grid.x,
                                                  grid.y,
                                                  grid.z};
                for (const std::size_t e : expected)
                    right = right && static_cast<std::size_t>(got[at++]) == e;
            }
        }
        CHECK(right);
    }
}

TEST_CASE("device: shuffles and votes of whole and partial warps and of some lanes") {
    test::device();
    for (const int threads : {32, 64, 40, 7}) {
        for (const unsigned mask : {0xffffffffu, 0x0000ffffu, 0xfffffff0u, 0x55555555u}) {
            for (const int width : {32, 16, 8, 4, 2, 1}) {
                const DeviceArray<int> out(static_cast<std::size_t>(kernels::kShuffles * threads));
                kernels::shuffles(threads, mask, width, out.data());
                const std::vector<int> got = out.host();
                for (int op = 0; op < kernels::kShuffles; ++op) {
                    for (int thread = 0; thread < threads; ++thread) {
                        if ((mask >> (thread % 32) & 1u) == 0) continue;
                        const int expected = expected_shuffle(op, thread, threads, mask, width);
                        if (expected == -1) continue;
                        INFO("operation " << op << ", thread " << thread << " of " << threads << ", mask "
                                          << mask << ", width " << width);
                        REQUIRE(got[static_cast<std::size_t>(op * threads + thread)] == expected);
                    }
                }
            }
        }
    }
}

TEST_CASE("device: lanes in different branches shuffle among themselves") {
    test::device();
    const DeviceArray<int> out(32);
    kernels::divergent_halves(out.data());
    const std::vector<int> got = out.host();
    for (std::size_t lane = 0; lane < 32; ++lane) CHECK(got[lane] == (lane % 2 == 0 ? 240 : 256));
}

TEST_CASE("device: shuffles of 8-byte and float values") {
    test::device();
    const DeviceArray<double> out(64);
    kernels::wide_shuffles(out.data());
    const std::vector<double> got = out.host();
    for (std::size_t lane = 0; lane < 32; ++lane) {
        const double value = 1.0 / static_cast<double>(32 - lane);
        CHECK(got[lane] == value);
        CHECK(got[32 + lane] == static_cast<double>(static_cast<float>(value)));
    }
}

TEST_CASE("device: barriers and static shared memory") {
    test::device();
    for (const int threads : {1024, 1000, 33, 1}) {
        const int blocks = 37;
        std::vector<float> in(static_cast<std::size_t>(blocks * threads));
        std::iota(in.begin(), in.end(), 0.0f);
        for (float& x : in) x = std::fmod(x, 128.0f);  // sums stay exact
        const DeviceArray<float> from(in), out(static_cast<std::size_t>(blocks));
        kernels::block_sums(blocks, threads, from.data(), out.data());
        const std::vector<float> got = out.host();
        for (int b = 0; b < blocks; ++b) {
            const auto first = in.begin() + b * threads;
            INFO("block " << b << " of " << threads << " threads");
            REQUIRE(got[static_cast<std::size_t>(b)] == std::accumulate(first, first + threads, 0.0f));
        }
    }
}

TEST_CASE("device: dynamic shared memory") {
    test::device();
    for (const int threads : {1024, 257, 32, 1}) {
        const int blocks = 11;
        std::vector<float> in(static_cast<std::size_t>(blocks * threads));
        std::iota(in.begin(), in.end(), 0.0f);
        const DeviceArray<float> from(in), out(in.size());
        kernels::reverse(blocks, threads, from.data(), out.data());
        const std::vector<float> got = out.host();
        bool right = true;
        for (int i = 0; i < blocks * threads; ++i) {
            const int mirrored = i / threads * threads + threads - 1 - i % threads;
            right = right && got[static_cast<std::size_t>(i)] == in[static_cast<std::size_t>(mirrored)];
        }
        CHECK(right);
    }
}

TEST_CASE("device: float4") {
    test::device();
    static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(float3) == 12 &&
                  alignof(float2) == 8);
    std::vector<float4> in;
    for (int i = 0; i < 333; ++i) {
        const auto x = static_cast<float>(i);
        in.push_back(make_float4(x, x + 0.25f, x + 0.5f, x + 0.75f));
    }
    const DeviceArray<float4> from(in), out(in.size());
    kernels::double_float4(333, from.data(), out.data());
    const std::vector<float4> got = out.host();
    for (std::size_t i = 0; i < in.size(); ++i) {
        REQUIRE((got[i].x == 2 * in[i].x && got[i].y == 2 * in[i].y && got[i].z == 2 * in[i].z &&
                 got[i].w == 2 * in[i].w));
    }
}

TEST_CASE("device: a warp meets at __syncwarp") {
    test::device();
    const DeviceArray<int> out(32);
    kernels::neighbors(out.data());
    const std::vector<int> got = out.host();
    for (int lane = 0; lane < 32; ++lane) CHECK(got[static_cast<std::size_t>(lane)] == (lane + 1) % 32);
}

TEST_CASE("device: lanes that have returned are not waited for") {
    test::device();
    const DeviceArray<unsigned> out(64);
    kernels::meet_after_exits(out.data());
    const std::vector<unsigned> got = out.host();
    for (std::size_t lane = 0; lane < 32; ++lane) {
        const bool stays = lane >= 4 && lane < 20;
        CHECK(got[lane] == (stays ? 0x000ffff0u : 0u));
        CHECK(got[32 + lane] == (stays ? 4u : 0u));
    }
}

TEST_CASE("device: barriers that count") {
    test::device();
    for (const int threads : {1024, 40, 1}) {
        for (const int modulus : {1, 3, 64}) {
            const DeviceArray<int> out(static_cast<std::size_t>(3 * threads));
            kernels::barrier_votes(threads, modulus, out.data());
            const std::vector<int> got = out.host();
            const int divisible = (threads + modulus - 1) / modulus;
            bool right = true;
            for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t) {
                right = right && got[3 * t] == divisible && got[3 * t + 1] == (divisible == threads) &&
                        got[3 * t + 2] == 1;
            }
            CHECK(right);
        }
    }
}

TEST_CASE("device: the active lanes") {
    test::device();
    const DeviceArray<unsigned> out(64);
    kernels::active_masks(out.data());
    const std::vector<unsigned> got = out.host();
    for (std::size_t lane = 0; lane < 32; ++lane) CHECK(got[lane] == 0xffffffffu);
    for (std::size_t lane = 0; lane < 8; ++lane) CHECK(got[32 + lane] == 0xffu);
}

TEST_CASE("device: functions of numbers") {
    test::device();
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const auto wide = [](auto value) { return static_cast<double>(value); };
    struct Input {
        float x, y;
        int i, j;
        unsigned u;
    };
    for (const auto& [x, y, i, j, u] :
         {Input{1.25f, -3.5f, 7, -9, 5u}, Input{2.5f, 0.1f, -1, 1, 3'000'000'000u},
          Input{3.5f, nan, 0, 0, 0u}, Input{nan, 2.0f, 16'777'217, 12, ~0u},
          Input{0.1f, 0.3f, std::numeric_limits<int>::min(), 1, 0x80u},
          Input{-2.5f, -0.0f, std::numeric_limits<int>::max(), -5, 1u}}) {
        const DeviceArray<double> out(kernels::kFunctions);
        kernels::functions(x, y, i, j, u, out.data());
        const std::vector<double> got = out.host();
        const auto ui = static_cast<unsigned>(i);
        const auto ull = static_cast<unsigned long long>(i);
        const float least = std::isnan(x) ? y : std::isnan(y) ? x : std::min(x, y);
        const float most = std::isnan(x) ? y : std::isnan(y) ? x : std::max(x, y);
        int clear = 0, first = 0, ones = 0;
        while (clear < 32 && (ui >> (31 - clear) & 1u) == 0) ++clear;
        while (first < 32 && (ui >> first & 1u) == 0) ++first;
        for (int bit = 0; bit < 32; ++bit) ones += static_cast<int>(u >> bit & 1u);
        // A product of two floats is exact in double, but a sum with it is rounded twice: long double.
        const auto fused = static_cast<float>(static_cast<long double>(x) * y + 1.5L);
        const double nearest = std::isnan(x) ? 0.0 : std::nearbyint(wide(x));
        const double toward_zero = std::isnan(x) ? 0.0 : std::trunc(wide(x));
        const double expected[kernels::kFunctions] = {wide(std::min(i, j)),
                                                      wide(std::max(i, j)),
                                                      wide(std::min(ui, u)),
                                                      wide(std::max(u, ui)),
                                                      wide(least),
                                                      wide(most),
                                                      wide(least),
                                                      wide(most),
                                                      wide(std::min(i, j)),
                                                      wide(std::max(ull, static_cast<unsigned long long>(u))),
                                                      wide(fused),
                                                      wide(fused),
                                                      wide(x + y),
                                                      wide(x * y),
                                                      1.0 / std::sqrt(wide(x)),
                                                      wide(ones),
                                                      wide(clear),
                                                      wide(i == 0 ? 0 : first + 1),
                                                      nearest + 1000.0 * toward_zero,
                                                      wide(static_cast<float>(i))};
        for (std::size_t n = 0; n < kernels::kFunctions; ++n) {
            INFO("function " << n << " of " << x << " " << y << " " << i << " " << j << " " << u);
            if (std::isnan(expected[n])) {
                CHECK(std::isnan(got[n]));
            } else if (n == 14) {  // 2 ulp
                CHECK(std::fabs(got[n] - expected[n]) <= 0x1p-21 * expected[n]);
            } else {
                CHECK(got[n] == expected[n]);
            }
        }
    }
}

TEST_CASE("device: other atomic operations") {
    test::device();
    const DeviceArray<int> out(11);
    kernels::more_atomics(out.data());
    const std::vector<int> got = out.host();
    CHECK(std::vector<int>(got.begin(), got.begin() + 9) ==
          std::vector<int>{-64, -63, 63, 4, 6, 0x7fffffff, 7, -256, 128});
    CHECK(got[9] + got[10] == 63 * 64 / 2);
}

TEST_CASE("device: atomic additions") {
    test::device();
    const int blocks = 37, threads = 100, all = blocks * threads;
    const DeviceArray<int> taken(static_cast<std::size_t>(all) + 1), ints(1);
    const DeviceArray<unsigned> unsigneds(1);
    const DeviceArray<unsigned long long> longs(1);
    const DeviceArray<float> floats(1);
    const DeviceArray<double> doubles(1);
    kernels::atomics(blocks, threads, taken.data(), ints.data(), unsigneds.data(), longs.data(),
                     floats.data(), doubles.data());
    CHECK(ints.host()[0] == -all);
    CHECK(unsigneds.host()[0] == static_cast<unsigned>(all));
    CHECK(longs.host()[0] == static_cast<unsigned long long>(all) << 33);
    CHECK(floats.host()[0] == 0.5f * static_cast<float>(all));
    CHECK(doubles.host()[0] == 0.25 * all);
    std::vector<int> once(static_cast<std::size_t>(all) + 1, 1);
    once[0] = all;
    CHECK(taken.host() == once);
}

TEST_CASE("limits: grids and blocks that CUDA refuses") {
    test::device();
    // Seen on an H200 with CUDA 13.0; earlier versions document the other code.
    const cudaError_t refused =
        CUDART_VERSION >= 13000 ? cudaErrorInvalidValue : cudaErrorInvalidConfiguration;
    const DeviceArray<int> count(1);
    const auto launch = [&](dim3 grid, dim3 block) { return kernels::launch(grid, block, 0, count.data()); };
    for (const auto& [grid, block] : {std::pair{dim3(1), dim3(1025)},
                                      {dim3(1), dim3(1024, 2)},
                                      {dim3(1), dim3(33, 32)},
                                      {dim3(1), dim3(1, 1025)},
                                      {dim3(1), dim3(1, 1, 65)},
                                      {dim3(1), dim3(2048)},
                                      {dim3(1), dim3(0)},
                                      {dim3(1), dim3(32, 0)},
                                      {dim3(1), dim3(32, 1, 0)},
                                      {dim3(0), dim3(32)},
                                      {dim3(1, 0), dim3(32)},
                                      {dim3(1, 1, 0), dim3(32)},
                                      {dim3(1, 65536), dim3(1)},
                                      {dim3(1, 1, 65536), dim3(1)},
                                      {dim3(0x80000000u), dim3(1)}}) {
        INFO("grid " << grid.x << " " << grid.y << " " << grid.z << ", block " << block.x << " " << block.y
                     << " " << block.z);
        CHECK(launch(grid, block) == refused);
        CHECK(cudaGetLastError() == cudaSuccess);  // asking once has cleared it
    }
    CHECK(count.host()[0] == 0);
    for (const auto& [grid, block] : {std::pair{dim3(1), dim3(1024)},
                                      {dim3(1), dim3(1, 1024)},
                                      {dim3(1), dim3(1, 16, 64)},
                                      {dim3(1, 65535), dim3(1)},
                                      {dim3(1, 1, 65535), dim3(1)},
                                      {dim3(70000), dim3(1)}}) {
        CHECK(launch(grid, block) == cudaSuccess);
    }
    CHECK(count.host()[0] == 6);
}

TEST_CASE("limits: a cooperative launch has no more blocks than the device holds at once") {
    test::device();
    const DeviceArray<int> count(1);
    const auto launch = [&](int blocks, bool cooperative) {
        return kernels::launch_together(blocks, cooperative, count.data());
    };
    const int most = kernels::most_together();
    REQUIRE(most > 0);
    CHECK(launch(1, true) == cudaSuccess);
    CHECK(launch(most, true) == cudaSuccess);
    CHECK(launch(most + 1, true) == cudaErrorCooperativeLaunchTooLarge);
    CHECK(launch(most + 1, false) == cudaSuccess);  // which is not to blame for the one before
    CHECK(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(count.host()[0] == 3);
}

TEST_CASE("limits: shared memory without asking for more") {
    test::device();
    const DeviceArray<int> count(1);
    constexpr std::size_t KiB = 1024;
    CHECK(kernels::launch(1, 32, 48 * KiB, count.data()) == cudaSuccess);
    CHECK(kernels::launch(1, 32, 48 * KiB + 1, count.data()) == cudaErrorInvalidValue);
    CHECK(kernels::launch(1, 32, 1024 * KiB, count.data()) == cudaErrorInvalidValue);
    // Static and dynamic shared memory count together.
    CHECK(kernels::launch_with_static(32 * KiB, count.data()) == cudaSuccess);
    CHECK(kernels::launch_with_static(32 * KiB + 1, count.data()) == cudaErrorInvalidValue);
    CHECK(kernels::launch_static_48k(count.data()) == cudaSuccess);
    CHECK(count.host()[0] == 3);
}

TEST_CASE("limits: shared memory that was asked for") {
    test::device();
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, 0));
    const std::size_t most = properties.sharedMemPerBlockOptin;
    REQUIRE(most > 48 * 1024);
    const DeviceArray<int> count(1);
    CHECK(kernels::launch_with_optin(49 * 1024, 0, count.data()) == cudaErrorInvalidValue);
    CHECK(kernels::launch_with_optin(most, most + 1, count.data()) == cudaErrorInvalidValue);
    CHECK(count.host()[0] == 0);
    CHECK(kernels::launch_with_optin(56 * 1024, 56 * 1024, count.data()) == cudaSuccess);
    CHECK(kernels::launch_with_optin(most, 0, count.data()) ==
          cudaErrorInvalidValue);  // more than was granted
    CHECK(kernels::launch_with_optin(most, most, count.data()) == cudaSuccess);
    CHECK(count.host()[0] == 2);
}

TEST_CASE("limits: what cudaFuncGetAttributes says of shared memory") {
    test::device();
    CHECK(kernels::attributes_of_static_16k().sharedSizeBytes == 16 * 1024);
    CHECK(kernels::attributes_of_static_48k().sharedSizeBytes == 48 * 1024);
    CHECK(kernels::attributes_of_static_16k().maxThreadsPerBlock == 1024);
}

TEST_CASE("device: what calls with wrong arguments answer") {
    test::device();
    const std::vector<kernels::WrongCall> calls = kernels::wrong_calls();
    REQUIRE(calls.size() > 50);
    for (const kernels::WrongCall& call : calls) {
        INFO(call.text << ": " << cudaGetErrorName(call.answer) << ", and afterwards "
                       << cudaGetErrorName(call.last));
        CHECK(call.answer == call.documented);
        CHECK(call.last == call.documented);
    }
}

TEST_CASE("device: it is named and described") {
    const gemm::Device& d = test::device();
    CHECK_FALSE(d.name.empty());
    CHECK(d.sm >= 50);
    CHECK(d.multiprocessors >= 1);
#ifdef GEMM_CPU_DEVICE
    CHECK(d.kind == "cpu");
    CHECK(d.name == "CPU device (limits of sm_90)");
    CHECK(d.sm == 90);
#else
    CHECK(d.kind == "cuda");
    CHECK(d.l2_bytes > 0);
#endif
    for (const int none : {1000, -1}) {
        test::require_contains(test::error_of([&] { gemm::select_device(none, ""); }),
                               " " + std::to_string(none) + ";");
    }
}

TEST_CASE("device: a lesson is skipped where its kernel does not run, with one line that names both") {
    gemm::Lesson lesson = test::lesson("01_naive");
    gemm::Device device = test::device();
    device.name = "Some GPU";
    gemm::Offer offer = lesson.offer();
    lesson.variants = {&offer, 1};
    std::vector<std::string> said;
    const auto skips = [&](const gemm::Architectures& architectures, std::initializer_list<int> skipped,
                           int runs) {
        offer.architectures = architectures;
        for (const int sm : skipped) {
            device.sm = sm;
            said.push_back(gemm::why_skipped(lesson, device));
        }
        device.sm = runs;
        CHECK(gemm::why_skipped(lesson, device).empty());
    };
    skips({.from = 80}, {75}, 80);
    skips({.exactly = "90a"}, {89, 100, 120}, 90);
    test::require_approved("skipped", said);
}

TEST_CASE("device: blocks wait for each other by flags") {
    test::device();
    const int blocks = 16;
    for (const bool reverse : {true, false}) {
        const DeviceArray<unsigned> flags(blocks);
        const DeviceArray<int> values(blocks);
        kernels::chain(reverse, blocks, 128, flags.data(), values.data());
        std::vector<int> expected(blocks);
        for (int i = 0; i < blocks; ++i) expected[static_cast<std::size_t>(i)] = reverse ? blocks - i : i + 1;
        CHECK(values.host() == expected);
        CHECK(flags.host() == std::vector<unsigned>(blocks, 1));
    }
    const int tiles = 4, splits = 3, threads = 96, n = 31;
    std::vector<float> in(static_cast<std::size_t>(tiles * n * threads)),
        expected(static_cast<std::size_t>(tiles * threads));
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<float>(i * 7 % 13);
        expected[i / static_cast<std::size_t>(n * threads) * threads + i % threads] += in[i];
    }
    const DeviceArray<float> values(in), parts(static_cast<std::size_t>(tiles * splits * threads)),
        out(static_cast<std::size_t>(tiles * threads));
    const DeviceArray<unsigned> ready(tiles);
    kernels::split_sum(tiles, splits, threads, n, values.data(), parts.data(), ready.data(), out.data());
    CHECK(out.host() == expected);
    CHECK(ready.host() == std::vector<unsigned>(tiles, splits - 1));

    const int rounds = 50;
    const DeviceArray<unsigned> arrived(1);
    const DeviceArray<int> numbers(2 * blocks);
    const DeviceArray<long long> sums(blocks);
    kernels::grid_barrier(blocks, rounds, arrived.data(), numbers.data(), sums.data());
    CHECK(sums.host() ==
          std::vector<long long>(blocks, rounds * (rounds + 1) / 2 * (blocks * (blocks - 1) / 2)));

    const DeviceArray<unsigned> counters(2);
    const DeviceArray<int> order(blocks);
    kernels::places(blocks, counters.data(), order.data());
    std::vector<int> sorted = order.host(), all(blocks);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    CHECK(sorted == all);
}
