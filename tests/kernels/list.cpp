// The list of lessons of slow_bench, slow_inspect and their like: the slow kernels, and their mistakes.
#include <vector>

#include "common/program/lessons.hpp"
#include "tests/kernels/kernels.hpp"

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const std::vector<const Lesson*> lessons = [] {
        std::vector<const Lesson*> all(slow::kKernels.begin(), slow::kKernels.end());
        for (const auto& mistakes : slow::all_mistakes()) {
            for (const Lesson& mistake : mistakes) all.push_back(&mistake);
        }
        return all;
    }();
    return lessons;
}
