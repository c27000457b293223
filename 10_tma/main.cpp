// Makes lesson 10 a program of its own: build/<device>/bin/10_tma --help
#include "common/harness.hpp"

namespace lesson_10 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_10::lesson);
}
