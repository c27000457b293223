// Random cases of clusters, and launches that are refused (random_cases.hpp).
#include "tests/ptx/cluster_cases.hpp"

#include <cstdio>

#include "tests/device_array.hpp"

namespace {

int run_refusals() {
    int wrong = 0;
    for (const test::ClusterRefusal& r : test::cluster_refusals()) {
        const test::DeviceArray<unsigned> out(std::size_t{r.grid.x} * r.grid.y * r.grid.z *
                                              kernels::kClusterWords);
        const cudaError_t status = kernels::cluster_numbers(r.grid, r.cluster, out.data());
        cudaGetLastError();
        const bool as_expected = (status != cudaSuccess) == r.refused;
        wrong += !as_expected;
        std::printf("grid %ux%ux%u in clusters of %ux%ux%u: %s%s\n", r.grid.x, r.grid.y, r.grid.z,
                    r.cluster.x, r.cluster.y, r.cluster.z, cudaGetErrorName(status),
                    as_expected ? "" : ", and the other answer was expected");
    }
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    return test::run_random_cases(argc, argv,
                                  {"bytes", "These kernels are compiled for compute capability 9.0", 100,
                                   test::cluster_random(), run_refusals});
}
