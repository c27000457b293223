// Makes lesson 09f a program of its own: build/<device>/bin/09f_persistent --help
#include "common/program/harness.hpp"

namespace lesson_09f {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09f::lesson);
}
