// Makes lesson 13d a program of its own: build/<device>/bin/13d_ping_pong --help
#include "common/program/harness.hpp"

namespace lesson_13d {
extern const gemm::Lesson lesson;
}

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, lesson_13d::lesson);
}
