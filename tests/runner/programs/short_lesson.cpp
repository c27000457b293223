// A lesson's program that takes BF16 and FP16.
#include "common/program/harness.hpp"
#include "tests/check/short_types.hpp"

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, short_types::right);
}
