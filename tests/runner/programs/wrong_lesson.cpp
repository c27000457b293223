// A lesson program whose kernel is wrong.
#include "common/program/harness.hpp"

namespace mutant_no_k_tail {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, mutant_no_k_tail::lesson);
}
