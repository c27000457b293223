// wgmma, on a GPU and on the CPU device alike.
#include <random>
#include <string>
#include <vector>

#include "common/ptx/wgmma_descriptor.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/wgmma_cases.hpp"
#include "tests/ptx/wgmma_gemm.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"

namespace {

using kernels::RegisterMistake;
using kernels::WgmmaMistake;
using test::DeviceArray;
using test::Schedule;

bool no_wgmma() {
    if (test::device().sm >= 90 && test::device().sm < 100) return false;
    test::skip("wgmma is for compute capability 9.0 alone");
    return true;
}

/// How many elements of C are wrong: inputs are small whole numbers, so that all are exact.
int wrong_elements(WgmmaMistake mistake, int M, int N, int K) {
    std::mt19937_64 random(1);
    const auto matrix = [&](int rows, int columns) {
        std::vector<float> values(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
        for (float& value : values) value = static_cast<float>(random() % 7) - 3;
        return values;
    };
    const auto bits_of = [](const std::vector<float>& values) {
        std::vector<std::uint16_t> bits;
        for (const float value : values)
            bits.push_back(static_cast<std::uint16_t>(__builtin_bit_cast(std::uint32_t, value) >> 16));
        return bits;
    };
    const std::vector<float> a = matrix(M, K), b = matrix(K, N);
    const DeviceArray<std::uint16_t> A(bits_of(a)), B(bits_of(b));
    const DeviceArray<float> C(static_cast<std::size_t>(M) * static_cast<std::size_t>(N));
    kernels::wgmma_gemm(mistake, M, N, K, A.data(), B.data(), C.data());
    const std::vector<float> got = C.host();
    int wrong = 0;
    for (int m = 0; m < M; ++m) {
        for (int n = 0; n < N; ++n) {
            float sum = 0;
            for (int k = 0; k < K; ++k)
                sum += a[static_cast<std::size_t>(m * K + k)] * b[static_cast<std::size_t>(k * N + n)];
            wrong += !(got[static_cast<std::size_t>(m * N + n)] == sum);
        }
    }
    return wrong;
}

/// The first layout of a quarter of a hundred, another one with other seeds.
std::uint64_t a_quarter() {
    return test::seed() % 4 * 25;
}

}  // namespace

TEST_CASE("wgmma: random layouts give the sums that their descriptors say") {
    if (no_wgmma()) return;
    for (const test::RandomMode& mode : test::wgmma_random())
        require_right(mode, a_quarter(), test::all() ? 25 : 2);
}

TEST_CASE("wgmma: TF32, FP8, integers and sums of FP16, in random layouts") {
    if (no_wgmma()) return;
    std::uint64_t drawn = test::seed();
    for (const test::RandomMode& mode : test::wgmma_type_random()) {
        // (Where it is one alone: one of six, which are every N, saturated or not.)
        if (test::all()) {
            require_right(mode, a_quarter(), 25);
        } else {
            require_right(mode, ++drawn % 6, 1);
        }
    }
}

TEST_CASE("wgmma: a descriptor is what its fields say") {
    using namespace gemm::ptx;
    // By hand: 1024 / 16 = 0x40, 8192 / 16 = 0x200, 2048 / 16 = 0x80, base offset 5, 128 bytes.
    constexpr WgmmaFields fields{1024, 8192, 2048, 5, WgmmaSwizzle::bytes128};
    STATIC_REQUIRE(encode(fields) == 0x400a008002000040);
    // 2 KiB further on, in units of 16 bytes; nothing else changes.
    STATIC_REQUIRE(gemm::ptx::moved(encode(fields), 2048) == 0x400a0080020000c0);
    constexpr WgmmaFields again = decode(0x400a008002000040);
    STATIC_REQUIRE(again.start == 1024);
    STATIC_REQUIRE(again.leading == 8192);
    STATIC_REQUIRE(again.stride == 2048);
    STATIC_REQUIRE(again.base_offset == 5);
    STATIC_REQUIRE(again.swizzle == WgmmaSwizzle::bytes128);
}

TEST_CASE("wgmma: a GEMM with tiles by TMA and by threads, its batches one by one and overlapped") {
    if (no_wgmma()) return;
    for (const WgmmaMistake way :
         {WgmmaMistake::none, WgmmaMistake::a_by_threads, WgmmaMistake::overlapped}) {
        for (std::uint64_t seed = 0; seed < (test::all() ? 8u : 2u); ++seed) {
            const Schedule schedule(seed);
            CHECK(wrong_elements(way, 64, 128, 64) == 0);
            CHECK(wrong_elements(way, 100, 200, 328) == 0);
            CHECK(wrong_elements(way, 65, 8, 8) == 0);
        }
    }
}

#ifdef GEMM_CPU_DEVICE
TEST_CASE("wgmma: what a GPU would hang at, or leaves undefined, is an error that says it") {
    const auto product = [](WgmmaMistake mistake) {
        return [mistake] { (void)wrong_elements(mistake, 64, 128, 128); };
    };
    const auto ended = [](const std::function<void()>& launch) {
        return [launch] {
            launch();
            CUDA_CHECK(cudaGetLastError());
            CUDA_CHECK(cudaDeviceSynchronize());
        };
    };
    const auto share = [&](RegisterMistake mistake) {
        return ended([mistake] { kernels::share_registers(mistake); });
    };
    using gemm::FaultId;
    share(RegisterMistake::none)();
    test::require_faults(
        "wgmma", {{"no_fence", FaultId::wgmma_misused, product(WgmmaMistake::no_fence)},
                  {"no_commit", FaultId::wgmma_misused, product(WgmmaMistake::no_commit)},
                  {"other_descriptor", FaultId::wgmma_misused, product(WgmmaMistake::other_descriptor)},
                  {"one_warp_less", FaultId::deadlock, product(WgmmaMistake::one_warp_less)},
                  {"sums_touched", FaultId::wgmma_misused, product(WgmmaMistake::sums_touched)},
                  {"tf32_a", FaultId::wgmma_misused, ended([] { kernels::tf32_along_rows(true); })},
                  {"tf32_b", FaultId::wgmma_misused, ended([] { kernels::tf32_along_rows(false); })},
                  {"too_many", FaultId::registers_missing, share(RegisterMistake::too_many)},
                  {"not_fewer", FaultId::registers_missing, share(RegisterMistake::not_fewer)},
                  {"not_all", FaultId::registers_missing, share(RegisterMistake::not_all)}});
}

TEST_CASE("wgmma: mistakes that a schedule can hide show on the CPU device") {
    for (const WgmmaMistake mistake :
         {WgmmaMistake::no_wait, WgmmaMistake::wait_too_short, WgmmaMistake::released_early,
          WgmmaMistake::no_swizzle, WgmmaMistake::strides_exchanged, WgmmaMistake::past_the_atom,
          WgmmaMistake::no_proxy_fence}) {
        test::require_shown(static_cast<int>(mistake), 3,
                            [&] { return wrong_elements(mistake, 128, 128, 640); });
    }
}
#endif
