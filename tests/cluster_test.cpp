// Clusters, on a GPU and on the CPU device alike.
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/autopsy.hpp"
#include "common/facts.hpp"
#include "tests/cluster_cases.hpp"
#include "tests/device_array.hpp"
#include "tests/kernels/cluster_gemm.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace {

using kernels::ClusterMistake;
using kernels::SumMistake;
using test::DeviceArray;
using test::Schedule;

bool no_clusters() {
    if (test::device().sm >= 90 && test::device().sm < 100) return false;
    test::skip("the kernels of clusters are compiled for compute capability 9.0 alone");
    return true;
}

int wrong_elements(int M, int N, int K, ClusterMistake mistake) {
    std::mt19937_64 numbers(test::seed());
    std::normal_distribution<float> normal;
    std::vector<float> a(static_cast<std::size_t>(M * K)), b(static_cast<std::size_t>(K * N));
    for (float& value : a) value = normal(numbers);
    for (float& value : b) value = normal(numbers);
    const DeviceArray<float> A(a), B(b), C(std::vector<float>(static_cast<std::size_t>(M * N), NAN));
    kernels::cluster_gemm(mistake, M, N, K, A.data(), B.data(), C.data());
    const std::vector<float> got = C.host();
    int wrong = 0;
    for (int m = 0; m < M; ++m) {
        for (int n = 0; n < N; ++n) {
            double sum = 0, absolute = 0;
            for (int k = 0; k < K; ++k) {
                const double product = static_cast<double>(a[static_cast<std::size_t>(m * K + k)]) *
                                       b[static_cast<std::size_t>(k * N + n)];
                sum += product;
                absolute += std::abs(product);
            }
            const double difference = got[static_cast<std::size_t>(m * N + n)] - sum;
            wrong += !(std::abs(difference) <= 1e-6 * (K + 4) * absolute);
        }
    }
    return wrong;
}

int sum_of(SumMistake mistake) {
    std::vector<int> in(128);
    for (int i = 0; i < 128; ++i) in[static_cast<std::size_t>(i)] = i * i;
    const DeviceArray<int> from(in), to(1);
    kernels::cluster_sum(mistake, from.data(), to.data());
    return to.host()[0];
}
constexpr int kSum = 127 * 128 * 255 / 6;

}  // namespace

TEST_CASE("clusters: random cases come out as they must") {
    if (no_clusters()) return;
    const std::uint64_t cases = test::all() ? 100 : 8;
    for (const test::ClusterMode& mode : test::cluster_modes()) {
        for (std::uint64_t i = 0; i < cases; ++i) {
            const Schedule schedule(i % 3);
            const test::ClusterMode::Shown shown = mode.run(test::seed(), i);
            INFO(mode.name << ", case " << i << ": " << shown.text);
            CHECK(shown.got == shown.expected);
        }
    }
}

TEST_CASE("clusters: launches that are refused") {
    if (no_clusters()) return;
    for (const test::ClusterRefusal& r : test::cluster_refusals()) {
        INFO(r.grid.x << "×" << r.grid.y << "×" << r.grid.z << " in " << r.cluster.x << "×" << r.cluster.y
                      << "×" << r.cluster.z);
        const DeviceArray<unsigned> out(std::size_t{r.grid.x} * r.grid.y * r.grid.z * kernels::kClusterWords);
        CHECK((kernels::cluster_numbers(r.grid, r.cluster, out.data()) != cudaSuccess) == r.refused);
#ifdef GEMM_CPU_DEVICE
        CHECK(cpu_device::refusal().empty() != r.refused);
#endif
        cudaGetLastError();
    }
#ifdef GEMM_CPU_DEVICE
    const DeviceArray<unsigned> out(64);
    const auto refused = [&](dim3 grid, dim3 cluster) {
        (void)kernels::cluster_numbers(grid, cluster, out.data());
        const std::string why = cpu_device::refusal();
        cudaGetLastError();
        return why;
    };
    CHECK(refused(3, 2) == "a grid of 3×1×1 blocks, which is no multiple of its clusters of 2×1×1");
    CHECK(refused(16, 16) == "clusters of 16 blocks (16×1×1), and 8 is the most");
    cpu_device::set_like("sm_80");
    CHECK(refused(4, 2) == "clusters of 2×1×1 blocks, and sm_80 has none");
    cpu_device::set_like("sm_90");
#endif
}

TEST_CASE("clusters: a GEMM whose pairs of blocks share tiles of B") {
    if (no_clusters()) return;
    for (const auto& [M, N, K] :
         {std::array{64, 32, 64}, {100, 36, 40}, {1, 4, 4}, {33, 68, 132}, {130, 64, 96}}) {
        for (std::uint64_t seed = 0; seed < (test::all() ? 8u : 2u); ++seed) {
            const Schedule schedule(seed);
            INFO(M << "×" << N << "×" << K << ", seed " << seed);
            CHECK(wrong_elements(M, N, K, ClusterMistake::none) == 0);
        }
    }
    CHECK(sum_of(SumMistake::none) == kSum);
}

#ifdef GEMM_CPU_DEVICE
TEST_CASE("clusters: what a GPU would hang at is said") {
    struct Expected {
        ClusterMistake mistake;
        std::vector<std::string> words;
    };
    const std::vector<Expected> all = {
        {ClusterMistake::empty_too_many,
         {"cluster of 2 blocks from block (0,0,0): no thread can go on",
          "mbarrier empty[0] of block 1: phase 0 (parity 0) is open; 2 of 6 arrivals missing (arrived: "
          "threads 1, 33 "
          "of block 0 and threads 1, 33 of block 1). thread 64 of block 1 waits for parity 0 at ",
          "Likely: empty[0] of block 0 counts 6 arrivals a phase, and 4 came: does mbarrier_init() say how "
          "many"}},
        {ClusterMistake::own_release,
         {"2 of 4 arrivals missing (arrived: threads 0, 32 of block 0)",
          "Likely: empty[0] of block 0 counts 4 arrivals a phase, and 2 came: does mbarrier_init() say how "
          "many "
          "arrive, and do those of all blocks that shall arrive do so at this one's?"}},
        {ClusterMistake::own_mask,
         {"mbarrier full[0] of block 0: phase 0 (parity 0) is open; 0 of 1 arrivals missing, 2048 of 8192 "
          "bytes",
          "Likely: full[0] of block 0 was told to expect 2048 bytes more than the copies of this phase bring",
          "or the mask of a multicast leaves this block out."}},
        {ClusterMistake::mask_off,
         {"cp.async.bulk.tensor.multicast at ", " names block 2 of a cluster that has 2."}},
        {ClusterMistake::steps_short, {"Likely: ", " of block 0"}},
    };
    for (const Expected& e : all) {
        const std::string error = test::error_of([&] { (void)wrong_elements(64, 32, 160, e.mistake); });
        for (const std::string& words : e.words) test::require_contains(error, words);
    }
}

TEST_CASE("clusters: a hang's autopsy has fields") {
    std::shared_ptr<const gemm::Autopsy> autopsy;
    try {
        (void)wrong_elements(64, 32, 160, ClusterMistake::own_release);
    } catch (const gemm::Fault& fault) {
        CHECK(fault.id == gemm::FaultId::mbarrier_hang);
        autopsy = fault.autopsy;
    }
    REQUIRE(autopsy);
    CHECK((autopsy->cluster_blocks == 2 && autopsy->threads == 96 && autopsy->barriers.size() == 8));
    CHECK(autopsy->barriers[5].name == "empty[0] of block 1");
    REQUIRE(autopsy->likely);
    CHECK(autopsy->likely->id == gemm::MistakeId::arrivals_missing);
    std::size_t threads = 0;
    for (const gemm::Autopsy::Group& g : autopsy->groups) threads += g.threads.size();
    CHECK(threads == 2 * 96);
}

TEST_CASE("clusters: mistakes that a schedule can hide show on the CPU device") {
    for (const ClusterMistake mistake :
         {ClusterMistake::empty_count, ClusterMistake::no_sync_at_end, ClusterMistake::rowless_returns}) {
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            const Schedule schedule(seed);
            INFO("mistake " << static_cast<int>(mistake) << ", seed " << seed);
            bool shows = false;
            try {
                shows = wrong_elements(70, 32, 160, mistake) > 0;
            } catch (const gemm::Error&) {
                shows = true;
            }
            CHECK(shows);
        }
    }
}

TEST_CASE("clusters: what a GPU leaves undefined is an error") {
    const std::vector<std::pair<SumMistake, std::string>> all = {
        {SumMistake::two_arrivals, "barrier.cluster.arrive at "},
        {SumMistake::two_arrivals, " comes a second time, and has not waited since"},
        {SumMistake::no_arrival, " waits, and has not arrived (barrier.cluster.arrive)."},
        {SumMistake::no_such_block,
         "kernel kernels::cluster_sum_kernel, block (1,0,0), thread (0,0,0): mapa at "},
        {SumMistake::no_such_block, " names block 2 of a cluster that has 2."},
        {SumMistake::local_variable, " gets an address that is not in shared memory."},
        {SumMistake::block_barrier, "deadlock: it waits at "},
    };
    for (const auto& [mistake, words] : all) {
        test::require_contains(test::error_of([m = mistake] { (void)sum_of(m); }), words);
    }
}

TEST_CASE("clusters: a launch says their size as a kernel does, and both are counted as room") {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.config_gridDim = dim3(8);
    config.config_blockDim = dim3(384);
    config.attrs = &attribute;
    config.numAttrs = 1;
    const auto nothing = [](int) {};
    int clusters = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, static_cast<void (*)(int)>(nothing), &config) ==
          cudaSuccess);
    CHECK(clusters == 5 * cpu_device::multiprocessors() / 4);
    attribute.val.clusterDim.x = 16;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, static_cast<void (*)(int)>(nothing), &config) ==
          cudaErrorInvalidClusterSize);
    cudaGetLastError();
}
#endif
