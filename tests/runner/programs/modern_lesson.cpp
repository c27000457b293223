// A lesson program that needs a newer GPU than there is.
#include "common/program/harness.hpp"

namespace test_modern {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, test_modern::lesson);
}
