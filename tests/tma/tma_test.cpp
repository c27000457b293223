// mbarriers, tensor maps and the copy engine, on a GPU and on the CPU device alike.
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/autopsy.hpp"
#include "common/facts.hpp"
#include "tests/device_array.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"
#include "tests/tma/tma_cases.hpp"
#include "tests/tma/tma_gemm.hpp"

namespace {

using kernels::TmaFault;
using kernels::TmaMistake;
using test::DeviceArray;
using test::Schedule;

bool no_copy_engine() {
    if (test::device().sm >= 90) return false;
    test::skip("the copy engine needs compute capability 9.0");
    return true;
}

std::vector<float> random_floats(std::size_t count, std::mt19937_64& numbers) {
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(numbers);
    return values;
}

struct Gemm {
    int M, N, K;
    std::int64_t lda, ldb, ldc;
    float alpha = 1.5f, beta = -0.5f;
};

/// How many elements of C are wrong or, of its padding, touched.
int wrong_elements(const Gemm& g, TmaMistake mistake, std::uint64_t seed) {
    std::mt19937_64 numbers(seed);
    const auto room = [](int rows, std::int64_t pitch) { return static_cast<std::size_t>(rows * pitch + 4); };
    const std::vector<float> a = random_floats(room(g.M, g.lda), numbers),
                             b = random_floats(room(g.K, g.ldb), numbers);
    std::vector<float> c = random_floats(room(g.M, g.ldc), numbers);
    if (g.beta == 0.0f) c.assign(c.size(), NAN);
    const DeviceArray<float> A(a), B(b), C(c);
    kernels::tma_gemm(mistake, g.M, g.N, g.K, A.data(), g.lda, B.data(), g.ldb, C.data(), g.ldc, g.alpha,
                      g.beta);
    const std::vector<float> got = C.host();
    int wrong = 0;
    for (int m = 0; m < g.M; ++m) {
        for (std::int64_t n = 0; n < g.ldc; ++n) {
            const auto at = static_cast<std::size_t>(m * g.ldc + n);
            const double before = c[at];
            if (n >= g.N) {
                wrong += !(got[at] == before || (std::isnan(got[at]) && std::isnan(before)));
                continue;
            }
            double sum = 0, absolute = 0;
            for (int k = 0; k < g.K; ++k) {
                const double product = static_cast<double>(a[static_cast<std::size_t>(m * g.lda + k)]) *
                                       b[static_cast<std::size_t>(k * g.ldb + n)];
                sum += product;
                absolute += std::abs(product);
            }
            const double expected = g.alpha * sum + (g.beta == 0.0f ? 0.0 : g.beta * before);
            const double bound = 1e-6 * (g.K + 4) * (std::abs(g.alpha) * absolute + std::abs(before) + 1);
            wrong += !(std::abs(got[at] - expected) <=
                       (g.beta == 0.0f ? 1e-6 * (g.K + 4) * (absolute * 2 + 1) : bound));
        }
    }
    return wrong;
}

}  // namespace

TEST_CASE("tma: random boxes move as a tensor map says") {
    if (no_copy_engine()) return;
    for (const test::RandomMode& mode : test::tma_random()) require_right(mode, 0, test::all() ? 100 : 8);
}

TEST_CASE("tma: the driver refuses what a tensor map cannot say") {
    if (no_copy_engine()) return;
    for (const test::TmaRefusal& r : test::tma_refusals()) {
        INFO(r.name);
        CUtensorMap map;
        CHECK(gemm::encode(r.fields, &map) == (r.refused ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS));
    }
    gemm::TensorMapFields fields = test::tma_refusals().front().fields;
    fields.strides[0] = 264;
    const std::string error = test::error_of([&] { (void)gemm::tensor_map(fields); });
    test::require_contains(error, "cuTensorMapEncodeTiled()");
    test::require_contains(error, "(CUresult 1)");
#ifdef GEMM_CPU_DEVICE
    test::require_contains(error, "globalStrides[0] is 264 ");
    fields.interleave = CU_TENSOR_MAP_INTERLEAVE_16B;
    test::require_contains(test::error_of([&] { (void)gemm::tensor_map(fields); }),
                           "not modelled on the CPU device");
#endif
}

TEST_CASE("tma: bytes side by side need no tensor map") {
    if (no_copy_engine()) return;
    for (const unsigned bytes : {16u, 48u, 4096u, kernels::kTmaShared / 2}) {
        std::vector<std::uint8_t> in(bytes);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 13 + i / 255);
        const DeviceArray<std::uint8_t> from(in), to(bytes);
        kernels::bulk(bytes, from.data(), to.data());
        CHECK(to.host() == in);
    }
}

TEST_CASE("mbarrier: phases, arrivals and bytes") {
    if (no_copy_engine()) return;
    for (const int threads : {1, 33, 128}) {
        constexpr int kRounds = 7;
        const DeviceArray<int> out(static_cast<std::size_t>(threads) * kRounds);
        kernels::mbarrier_rounds(threads, kRounds, out.data());
        const std::vector<int> seen = out.host();
        for (std::size_t i = 0; i < seen.size(); ++i) {
            INFO(threads << " threads, " << i);
            REQUIRE(seen[i] == static_cast<int>(i) / threads * threads + 1);
        }
    }
    const DeviceArray<std::uint8_t> sixteen(16);
    const DeviceArray<int> out(5);
    kernels::mbarrier_answers(sixteen.data(), out.data());
    CHECK(out.host() == std::vector<int>{2, 2, 1, 1, 2});
}

TEST_CASE("tma: a GEMM of any size and pitch") {
    if (no_copy_engine()) return;
    const std::vector<Gemm> all = {
        {32, 32, 32, 32, 32, 32},
        {64, 96, 128, 128, 96, 96},
        {1, 1, 1, 4, 4, 4},
        {33, 65, 31, 32, 68, 72},
        {100, 7, 200, 200, 8, 12},
        {7, 100, 3, 8, 104, 100},
        {65, 64, 64, 65, 64, 64},
        {64, 65, 64, 64, 65, 65},
        {31, 33, 100, 100, 36, 33},
        {40, 40, 0, 4, 40, 40},
        {64, 64, 70, 72, 64, 64, 1.0f, 0.0f},
        {33, 34, 35, 36, 36, 36, 0.0f, 2.0f},
        {50, 60, 0, 4, 60, 60, 1.0f, 0.0f},
    };
    for (const Gemm& g : test::drawn(all, 7)) {
        for (std::uint64_t seed = 0; seed < (test::all() ? 8u : 2u); ++seed) {
            const Schedule schedule(seed);
            INFO(g.M << "×" << g.N << "×" << g.K << ", pitches " << g.lda << ", " << g.ldb << ", " << g.ldc
                     << ", seed " << seed);
            CHECK(wrong_elements(g, TmaMistake::none, test::seed()) == 0);
        }
    }
}

#ifdef GEMM_CPU_DEVICE
TEST_CASE("tma: what a GPU would hang at, or leaves undefined, is an error that says it") {
    const DeviceArray<float> in(1024), out(1);
    const auto product = [](TmaMistake mistake) {
        return [mistake] { (void)wrong_elements({64, 64, 160, 160, 64, 64}, mistake, 1); };
    };
    const auto fault = [&](TmaFault wrong) {
        return [&, wrong] { kernels::tma_fault(wrong, in.data(), out.data()); };
    };
    using gemm::FaultId;
    test::require_faults(
        "tma", {{"wrong_producer_parity", FaultId::mbarrier_hang, product(TmaMistake::wrong_producer_parity)},
                {"too_many_bytes", FaultId::mbarrier_hang, product(TmaMistake::too_many_bytes)},
                {"never_released", FaultId::mbarrier_hang, product(TmaMistake::never_released)},
                {"returned_early", FaultId::mbarrier_hang, product(TmaMistake::returned_early)},
                {"wrong_parity", FaultId::mbarrier_hang, product(TmaMistake::wrong_parity)},
                {"too_few_bytes", FaultId::phase_too_early, product(TmaMistake::too_few_bytes)},
                {"box_too_wide", FaultId::copy_refused, product(TmaMistake::box_too_wide)},
                {"no_wait_at_the_end", FaultId::copy_left_behind, product(TmaMistake::no_wait_at_the_end)},
                {"not_begun", FaultId::mbarrier_misused, fault(TmaFault::not_begun)},
                {"overwritten", FaultId::mbarrier_misused, fault(TmaFault::overwritten)},
                {"no_arrivals", FaultId::mbarrier_misused, fault(TmaFault::no_arrivals)},
                {"too_many_arrivals", FaultId::mbarrier_misused, fault(TmaFault::too_many_arrivals)},
                {"misaligned_box", FaultId::copy_refused, fault(TmaFault::misaligned_box)},
                {"misaligned_row", FaultId::copy_refused, fault(TmaFault::misaligned_row)},
                {"misaligned_barrier", FaultId::mbarrier_misused, fault(TmaFault::misaligned_barrier)},
                {"negative_store", FaultId::copy_refused, fault(TmaFault::negative_store)},
                {"short_rows", FaultId::copy_refused, fault(TmaFault::short_rows)},
                {"past_the_end", FaultId::copy_refused, fault(TmaFault::past_the_end)},
                {"not_encoded", FaultId::copy_refused, fault(TmaFault::not_encoded)},
                {"wrong_rank", FaultId::copy_refused, fault(TmaFault::wrong_rank)},
                {"host_memory", FaultId::copy_refused, fault(TmaFault::host_memory)},
                {"load_left_behind", FaultId::copy_left_behind, fault(TmaFault::load_left_behind)}});
    kernels::tma_fault(TmaFault::try_once, in.data(), out.data());
    CHECK(std::isnan(out.host()[0]));  // it has not been asked again
}

TEST_CASE("tma: a hang's autopsy has fields") {
    const auto autopsy = test::thrown_by([] {
                             (void)wrong_elements({64, 64, 160, 160, 64, 64}, TmaMistake::never_released, 1);
                         }).autopsy;
    REQUIRE(autopsy);
    std::vector<std::string> names;
    for (const gemm::Autopsy::Barrier& b : autopsy->barriers) names.push_back(b.name);
    CHECK(names == std::vector<std::string>{"full[0]", "empty[0]", "full[1]", "empty[1]", "met"});
    const gemm::Autopsy::Barrier& empty = autopsy->barriers[1];
    CHECK((empty.phase == 0 && empty.arrivals == 128 && empty.missing == 1));
    CHECK((empty.arrived.size() == 127 && empty.arrived[77] == 78 && empty.absent.empty()));
    REQUIRE(empty.waiting.size() == 1);
    CHECK((empty.waiting[0].threads == std::vector<int>{128} && empty.waiting[0].parity == 0));
    CHECK(autopsy->barriers[0].waiting[0].threads.size() == 128);
    REQUIRE(autopsy->likely);
    CHECK(autopsy->likely->id == gemm::MistakeId::arrivals_missing);
    CHECK(autopsy->likely->barriers == std::vector<std::string>{"empty[0]"});
    std::size_t threads = 0;
    for (const gemm::Autopsy::Group& g : autopsy->groups) threads += g.threads.size();
    CHECK(threads == 160);
}

TEST_CASE("tma: mistakes that a schedule can hide show on the CPU device") {
    for (const TmaMistake mistake : {TmaMistake::released_early, TmaMistake::no_proxy_fence,
                                     TmaMistake::no_wait_before_reuse, TmaMistake::wrong_parity}) {
        test::require_shown(static_cast<int>(mistake), 4, [&] {
            return wrong_elements({96, 96, 160, 160, 96, 96}, mistake, 1);
        });
    }
}

TEST_CASE("tma: mbarriers that others need not see begun") {
    const auto shown = [](TmaMistake mistake, const char* named = "") {
        int seeds = 0;
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            const Schedule schedule(seed);
            // Of one block, which meets the mistake once; without it all schedules are right.
            int wrong = 0;
            try {
                wrong = wrong_elements({32, 32, 32, 32, 32, 32}, mistake, 1);
            } catch (const gemm::Error& error) {
                CHECK(gemm::fault_of(error) == gemm::FaultId::mbarrier_misused);
                test::require_contains(error.what(), named);
                ++seeds;
            }
            CHECK(wrong == 0);
        }
        return seeds;
    };
    CHECK(shown(TmaMistake::none) == 0);
    CHECK(shown(TmaMistake::proxy_fence_for_init) == 0);
    CHECK(shown(TmaMistake::no_barrier_after_init, " mbarrier.init has initialised, at ") > 0);
    CHECK(shown(TmaMistake::no_init_fence, " full[0]: fence.mbarrier_init ") > 0);
}

TEST_CASE("tma: a store to rows that are no multiple of 16 bytes touches what lies behind them") {
    // 2 of the 4 elements that each of 33 rows has between it and the next.
    CHECK(wrong_elements({33, 34, 35, 36, 36, 38}, TmaMistake::ragged_rows, 1) == 0);  // not by TMA
    CHECK(wrong_elements({33, 34, 35, 36, 36, 40}, TmaMistake::ragged_rows, 1) == 33 * 2);
    CHECK(wrong_elements({33, 34, 35, 36, 36, 40}, TmaMistake::none, 1) == 0);
}
#endif
