// A lesson program whose kernel never ends.
#include "common/program/harness.hpp"

namespace test_hung {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, test_hung::lesson);
}
