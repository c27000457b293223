// Makes lesson 08 a program of its own: build/<device>/bin/08_cp_async --help
#include "common/harness.hpp"

namespace lesson_08 {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_08::lesson);
}
