// Clusters, on a GPU and on the CPU device alike.
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/autopsy.hpp"
#include "common/error.hpp"
#include "common/facts.hpp"
#include "common/tma/clusters.hpp"
#include "tests/device_array.hpp"
#include "tests/ptx/cluster_cases.hpp"
#include "tests/ptx/cluster_gemm.hpp"
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
    for (std::uint64_t i = 0; i < (test::all() ? 100u : 8u); ++i) {
        const Schedule schedule(i % 3);
        for (const test::RandomMode& mode : test::cluster_random()) require_right(mode, i, 1);
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
    std::vector<std::string> said{refused(3, 2), refused(16, 16)};
    cpu_device::set_like("sm_80");
    said.push_back(refused(4, 2));
    test::require_approved("refused_clusters", said);
    cpu_device::set_like("sm_90");
#endif
}

TEST_CASE("clusters: 16 blocks make one where the kernel's attribute allows it") {
    if (no_clusters()) return;
    constexpr unsigned kBlocks = 16, kThreads = 32;
    const DeviceArray<unsigned> words(kBlocks * kernels::kClusterWords), read(kBlocks * kThreads * 2);
    const auto launched = [&](dim3 grid) {
        const cudaError_t status = kernels::cluster_numbers(grid, grid, words.data());
        cudaGetLastError();
        return status;
    };
    CHECK(launched(kBlocks) == cudaErrorInvalidClusterSize);
    REQUIRE(kernels::allow_large_clusters(true) == cudaSuccess);
    CHECK(launched(kBlocks) == cudaSuccess);
    const std::vector<unsigned> told = words.host();
    for (unsigned block = 0; block < kBlocks; ++block) {
        CHECK(told[block * kernels::kClusterWords] == block);
        CHECK(told[block * kernels::kClusterWords + 1] == kBlocks);
    }
    // Each thread writes into the block after its own, and reads from the 15th after it, the one before it.
    kernels::exchange({kBlocks, kThreads, 1, 1, kBlocks - 1, 1, false}, read.data());
    const std::vector<unsigned> numbers = read.host();
    bool right = true;
    for (unsigned i = 0; i < kBlocks * kThreads; ++i) {
        const unsigned block = i / kThreads, thread = i % kThreads;
        const auto written_by = [&](unsigned from) { return (kBlocks + from % kBlocks) * kThreads + thread; };
        right = right && numbers[2 * i] == written_by(block + kBlocks - 1) &&
                numbers[2 * i + 1] == written_by(block + kBlocks - 2);
    }
    CHECK(right);
    CHECK(launched(kBlocks + 1) == cudaErrorInvalidClusterSize);
#ifdef GEMM_CPU_DEVICE
    cpu_device::set_like("sm_120");  // of which nobody promises more than 8
    CHECK(launched(kBlocks) == cudaErrorInvalidClusterSize);
    CHECK(launched(8) == cudaSuccess);
    cpu_device::set_like("sm_90");
#endif
    REQUIRE(kernels::allow_large_clusters(false) == cudaSuccess);
    CHECK(launched(kBlocks) == cudaErrorInvalidClusterSize);
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
TEST_CASE("clusters: what a GPU would hang at, or leaves undefined, is an error that says it") {
    const auto product = [](ClusterMistake mistake) {
        return [mistake] { (void)wrong_elements(64, 32, 160, mistake); };
    };
    const auto sum = [](SumMistake mistake) { return [mistake] { (void)sum_of(mistake); }; };
    using gemm::FaultId;
    test::require_faults("clusters",
                         {{"empty_too_many", FaultId::mbarrier_hang, product(ClusterMistake::empty_too_many)},
                          {"own_release", FaultId::mbarrier_hang, product(ClusterMistake::own_release)},
                          {"own_mask", FaultId::mbarrier_hang, product(ClusterMistake::own_mask)},
                          {"mask_off", FaultId::cluster_misused, product(ClusterMistake::mask_off)},
                          {"steps_short", FaultId::mbarrier_hang, product(ClusterMistake::steps_short)},
                          {"two_arrivals", FaultId::cluster_misused, sum(SumMistake::two_arrivals)},
                          {"no_arrival", FaultId::cluster_misused, sum(SumMistake::no_arrival)},
                          {"no_such_block", FaultId::cluster_misused, sum(SumMistake::no_such_block)},
                          {"local_variable", FaultId::cluster_misused, sum(SumMistake::local_variable)},
                          {"block_barrier", FaultId::deadlock, sum(SumMistake::block_barrier)}});
}

TEST_CASE("clusters: a hang's autopsy has fields") {
    const auto autopsy =
        test::thrown_by([] { (void)wrong_elements(64, 32, 160, ClusterMistake::own_release); }).autopsy;
    REQUIRE(autopsy);
    CHECK((autopsy->cluster_blocks == 2 && autopsy->threads == 96 && autopsy->barriers.size() == 8));
    CHECK(autopsy->barriers[5].name == "empty[0] of block 1");
    REQUIRE(autopsy->likely);
    CHECK(autopsy->likely->id == gemm::MistakeId::arrivals_missing);
    std::size_t threads = 0;
    for (const gemm::Autopsy::Group& g : autopsy->groups) threads += g.threads.size();
    CHECK(threads == 2 * 96);
}

TEST_CASE("clusters: an unkind schedule holds a warp back and lets arrivals at other blocks come late") {
    constexpr std::uint64_t kSeeds = 16;
    std::uint64_t lost = 0, late = 0;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
        const Schedule schedule(seed);
        /// Whether it ends with this fault; without one it must be right.
        const auto ends_with = [](gemm::FaultId id, const auto& body) {
            try {
                body();
                return false;
            } catch (const gemm::Error& error) {
                CHECK(gemm::fault_of(error) == id);
                return true;
            }
        };
        const auto phases = [](bool both) {
            kernels::two_phases(both);
            CUDA_CHECK(cudaDeviceSynchronize());
        };
        INFO("seed " << seed);
        phases(true);
        const bool hangs = ends_with(gemm::FaultId::mbarrier_hang, [&] { phases(false); });
        int wrong = 0;
        const bool leaves = ends_with(gemm::FaultId::cluster_misused, [&] {
            wrong = wrong_elements(70, 32, 160, ClusterMistake::arrivals_left);
        });
        CHECK(wrong == 0);
        CHECK((!hangs || (seed & 1) != 0));
        CHECK((!leaves || (seed & 2) != 0));
        lost += hangs ? 1 : 0;
        late += leaves ? 1 : 0;
    }
    CHECK(lost >= kSeeds / 8);
    CHECK(late >= kSeeds / 4);
}

TEST_CASE("clusters: mistakes that a schedule can hide show on the CPU device") {
    for (const ClusterMistake mistake :
         {ClusterMistake::empty_count, ClusterMistake::leaves_early, ClusterMistake::rowless_returns}) {
        test::require_shown(static_cast<int>(mistake), 4,
                            [&] { return wrong_elements(70, 32, 160, mistake); });
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

TEST_CASE("clusters: how many of them a launch has room for at once") {
    struct Restore {
        ~Restore() { test::device(); }  // as many SMs as other tests have
    } restore;
    void (*const nothing)(int) = [](int) {};
    cpu_device::set_multiprocessors(0);  // as many as an H200 has
    constexpr std::size_t kKiB = 1024;
    CHECK(gemm::resident_clusters(nothing, 384, 224 * kKiB, 1) == 132);
    CHECK(gemm::resident_clusters(nothing, 384, 224 * kKiB, 2) == 66);
    CHECK(gemm::resident_clusters(nothing, 384, 100 * kKiB, 2) == 132);  // two blocks an SM
    cpu_device::set_multiprocessors(5);
    CHECK(gemm::resident_clusters(nothing, 384, 224 * kKiB, 2) == 2);
    cpu_device::set_multiprocessors(1);
    CHECK(gemm::resident_clusters(nothing, 384, 224 * kKiB, 2) == 1);  // a launch needs one
    const auto status = [&](std::size_t shared, int cluster) {
        try {
            gemm::resident_clusters(nothing, 384, shared, cluster);
        } catch (const gemm::CudaError& error) {
            return error.status;
        }
        return cudaSuccess;
    };
    CHECK(status(228 * kKiB, 2) == cudaErrorInvalidValue);  // an SM has as much, a block 1 KiB less
    CHECK(status(224 * kKiB, 16) == cudaErrorInvalidClusterSize);
    cudaGetLastError();
}
#endif
