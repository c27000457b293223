// Makes one stand-in a program, as a lesson's main.cpp does; STANDIN says which.
#include "common/harness.hpp"
#include "tests/standins/standins.hpp"

int main(int argc, char** argv) {
    return gemm::lesson_main(argc, argv, standins::STANDIN);
}
