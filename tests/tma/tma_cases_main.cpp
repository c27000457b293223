// Random boxes through the copy engine, and tensor maps that the driver refuses (random_cases.hpp).
#include "tests/tma/tma_cases.hpp"

#include <cstdio>

namespace {

int run_refusals() {
    int wrong = 0;
    for (const test::TmaRefusal& r : test::tma_refusals()) {
        CUtensorMap map;
        const CUresult status = gemm::encode(r.fields, &map);
        const bool as_expected = (status == CUDA_ERROR_INVALID_VALUE) == r.refused;
        wrong += !as_expected;
        std::printf("tensor map with %s: %d%s\n", r.name, static_cast<int>(status),
                    as_expected ? "" : ", and the other answer was expected");
    }
    return wrong;
}

}  // namespace

int main(int argc, char** argv) {
    constexpr int kNoEnd = 1000;
    return test::run_random_cases(argc, argv,
                                  {"bytes", "The copy engine needs compute capability 9.0", kNoEnd,
                                   test::tma_random(), run_refusals, true});
}
