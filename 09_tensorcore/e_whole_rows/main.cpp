// Makes lesson 09e a program of its own: build/<device>/bin/09e_whole_rows --help
#include "common/program/harness.hpp"

namespace lesson_09e {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_09e::lesson);
}
