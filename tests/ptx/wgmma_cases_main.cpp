// Random multiplications of a warpgroup (random_cases.hpp).
#include "tests/ptx/wgmma_cases.hpp"

int main(int argc, char** argv) {
    std::vector<test::RandomMode> modes = test::wgmma_random();
    for (const test::RandomMode& mode : test::wgmma_type_random()) modes.push_back(mode);
    return test::run_random_cases(argc, argv,
                                  {"sums", "wgmma is for compute capability 9.0 alone", 100, modes});
}
