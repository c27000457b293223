// The program of slow::grouped, as a lesson has one.
#include "common/program/harness.hpp"
#include "tests/kernels/kernels.hpp"

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, slow::grouped);
}
