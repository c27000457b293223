// gemm_trial: gemm_bench with 15d's shapes and numbers of slices as lessons of their own, so that all of them
// are timed at a size against one choice of cuBLAS's: "15d_s05_b2" is shape 5, slices for 2 blocks an SM, and
// "…_b0" one slice, "…_b7" half as many slices as "…_b1". Beside them 15a, 15b, and 15d as it chooses itself.
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "common/program/lessons.hpp"

namespace lesson_15a {
extern const gemm::Lesson lesson;
}
namespace lesson_15b {
extern const gemm::Lesson lesson;
}
namespace lesson_15d {
extern const gemm::Lesson lesson;
}

namespace {

constexpr int SHAPES = 13;
// "…_a" one slice, b … f as 1, 2, 3, 4 and 6 blocks of an SM make, g … l so many slices
constexpr const char* HOW[] = {"1", "b1", "b2", "b3", "b4", "b5", "b6", "2", "3", "4", "5", "6", "7", "8", "9", "10", "12", "14", "16", "20", "24", "28", "32", "48", "64", "96"};
constexpr int MOST_BLOCKS = static_cast<int>(std::size(HOW)) - 1;

/// With GEMM_TRIAL as the configuration has it; 0 … SHAPES · (MOST_BLOCKS + 1) − 1.
template <int I, class F>
auto forced(const F& f) {
    const std::string trial = std::to_string(I / (MOST_BLOCKS + 1)) + "," + HOW[I % (MOST_BLOCKS + 1)];
    setenv("GEMM_TRIAL", trial.c_str(), 1);
    auto result = f();
    unsetenv("GEMM_TRIAL");
    return result;
}
template <int I>
gemm::Plan prepare(const gemm::Problem& p) {
    return forced<I>([&] { return lesson_15d::lesson.prepare(p); });
}
template <int I>
gemm::Owner owner(const gemm::Problem& p, std::int64_t row, std::int64_t col) {
    return forced<I>([&] { return lesson_15d::lesson.owner(p, row, col); });
}

template <int... I>
std::vector<gemm::Lesson> configurations(std::integer_sequence<int, I...>) {
    static char names[sizeof...(I)][16];
    std::vector<gemm::Lesson> all;
    (
        [&] {
            std::snprintf(names[I], sizeof names[I], "15d_s%02d_%c", I / (MOST_BLOCKS + 1),
                          'a' + I % (MOST_BLOCKS + 1));
            gemm::Lesson lesson = lesson_15d::lesson;
            lesson.name = names[I];
            lesson.prepare = prepare<I>;
            lesson.owner = owner<I>;
            all.push_back(lesson);
        }(),
        ...);
    return all;
}

}  // namespace

std::span<const gemm::Lesson* const> gemm::all_lessons() {
    static const std::vector<gemm::Lesson> made =
        configurations(std::make_integer_sequence<int, SHAPES*(MOST_BLOCKS + 1)>());
    static const std::vector<const gemm::Lesson*> lessons = [] {
        std::vector<const gemm::Lesson*> all = {&lesson_15a::lesson, &lesson_15b::lesson,
                                                &lesson_15d::lesson};
        for (const gemm::Lesson& lesson : made) all.push_back(&lesson);
        return all;
    }();
    return lessons;
}
