// gemm_fuzz: random problems through every lesson, until one comes out wrong; that one is made as small as it
// can be and still be wrong. On the CPU device each has a schedule of its own.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "common/measure/measure.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/cases.hpp"

namespace {

using gemm::CheckCase;
using gemm::Lesson;
using gemm::Shape;

// Multiply-adds of one problem: on the CPU device some tens of milliseconds.
constexpr std::int64_t kMostWork = gemm::kDeviceTimes ? std::int64_t{1} << 32 : std::int64_t{1} << 22;
constexpr std::int64_t kMostSide = gemm::kDeviceTimes ? 5000 : 700;

struct Settings {
    std::string lesson;
    std::int64_t cases = 1000, first = 0;
    std::uint64_t seed = gemm::fresh_seed();
};

class Draw {
  public:
    Draw(std::uint64_t seed, std::uint64_t index) : engine_(seed * 0x9e3779b97f4a7c15u + index) {}
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(n));
    }
    bool one_in(std::int64_t n) { return below(n) == 0; }

    /// Around multiples of the tile, or any size; 0 now and then.
    std::int64_t side(std::int64_t tile) {
        if (one_in(40)) return 0;
        if (one_in(3)) return 1 + below(40);
        if (one_in(2)) return 1 + below(kMostSide);
        return std::max<std::int64_t>(tile * (1 + below(3)) + below(3) - 1, 0);
    }
    float scalar() {
        constexpr std::array kScalars{1.0f, 0.0f, -1.0f, 0.5f, -1.75f, 0.2511f, 1e5f};
        return kScalars[static_cast<std::size_t>(below(kScalars.size()))];
    }
    /// More than what it must be, mostly by nothing.
    std::int64_t padding() { return one_in(2) ? 0 : one_in(2) ? 8 * below(5) : below(20); }

    CheckCase problem(const Lesson& lesson, const std::vector<gemm::Variant>& variants) {
        CheckCase c;
        c.id = "fuzz";
        Shape& s = c.shape;
        s.variant = variants[static_cast<std::size_t>(below(static_cast<std::int64_t>(variants.size())))];
        if (s.variant.batch != gemm::Batch::one) s.batch = below(4);
        const auto sizes = [&](auto& of) {
            do {
                of.M = side(lesson.tile().BM), of.N = side(lesson.tile().BN), of.K = side(lesson.tile().BK);
            } while (of.M * of.N * of.K > kMostWork);
        };
        sizes(s);
        if (s.variant.batch == gemm::Batch::grouped) {
            s.groups.resize(static_cast<std::size_t>(s.batch));
            for (gemm::Group& group : s.groups) sizes(group);
            const Shape tight = s.resolved();  // which knows the largest sizes
            s.M = tight.M, s.N = tight.N, s.K = tight.K;
        }
        for (const gemm::Operand& o : gemm::operands(s.problem())) {
            if (o.pitch_name == nullptr) continue;
            // Without padding, groups have tight rows each.
            const std::int64_t more = padding();
            if (more > 0 || s.groups.empty()) *gemm::pitch_in(s, o.id) = o.cols + more;
        }
        s.alpha = scalar(), s.beta = one_in(2) ? 0.0f : scalar();
        if (gemm::is_integer(s.variant.C)) {  // that 32 bits hold
            for (float* const x : {&s.alpha, &s.beta}) *x = std::clamp(std::round(*x), -15.0f, 15.0f);
        }
        for (std::int64_t& offset : s.offsets) offset = one_in(3) ? below(9) : 0;
        c.schedule = engine_();
        s = s.in_whole_bytes().resolved();
        for (const gemm::Operand& o : gemm::operands(s.problem())) {
            if (o.stride_name != nullptr) *gemm::stride_in(s, o.id) += padding();
        }
        s = s.in_whole_bytes().resolved();
        return c;
    }

  private:
    std::mt19937_64 engine_;
};

/// Why it is wrong, or nothing.
std::optional<std::string> wrong(const Lesson& lesson, const CheckCase& problem, std::uint64_t seed) {
    try {
        const gemm::Verdict verdict = gemm::judge_case(lesson, problem, seed);
        return verdict.passed ? std::nullopt : std::optional(verdict.failure);
    } catch (const std::exception& error) {
        return error.what();
    }
}

/// Whether all problems have this pitch: it is an option's then. Tight rows of groups have none.
bool pitch_for_all(const Shape& s, const gemm::Operand& o) {
    return std::all_of(s.groups.begin(), s.groups.end(),
                       [&](gemm::Group g) { return *gemm::pitch_in(g, o.id) == o.pitch; });
}

/// The shape with no pitches but those that options can say: of all groups, or none where each has tight
/// rows.
Shape with_pitches_of_options(Shape s) {
    for (const gemm::Operand& o : gemm::operands(s.problem())) {
        *gemm::pitch_in(s, o.id) = pitch_for_all(s, o) ? o.pitch : 0;
        for (gemm::Group& g : s.groups) *gemm::pitch_in(g, o.id) = 0;
    }
    return s;
}

/// What shrunk() does of groups: fewer, then smaller ones without padding. Whether there was something.
template <class Simpler>
bool shrink_groups(const Shape& now, const Simpler& simpler) {
    bool moved = false;
    for (std::size_t i = now.groups.size(); i-- > 0;) {
        moved |= simpler([&](CheckCase& c) {
            Shape& s = c.shape;
            s.groups.erase(s.groups.begin() + static_cast<std::ptrdiff_t>(i));
            s.batch = static_cast<std::int64_t>(s.groups.size());
        });
    }
    moved |= simpler([](CheckCase& c) {
        Shape& s = c.shape;
        s.lda = s.ldb = s.ldc = s.ldd = 0;
    });
    for (std::size_t i = 0; i < now.groups.size(); ++i) {
        for (std::int64_t gemm::Group::*size : {&gemm::Group::M, &gemm::Group::N, &gemm::Group::K}) {
            for (std::int64_t less = now.groups[i].*size / 2; less > 0; less /= 2) {
                while (now.groups[i].*size >= less &&
                       simpler([&](CheckCase& c) { c.shape.groups[i].*size -= less; }))
                    moved = true;
            }
        }
    }
    return moved;
}

/// The smallest problem that is still wrong: every size, pitch, offset and scalar made simpler, as long as
/// that helps.
CheckCase shrunk(const Lesson& lesson, CheckCase problem, std::uint64_t seed) {
    const auto simpler = [&](const std::function<void(CheckCase&)>& change) {
        CheckCase next = problem;
        Shape& s = next.shape;
        if (!s.groups.empty()) s = with_pitches_of_options(s);
        change(next);
        if (s.variant.batch == gemm::Batch::grouped) s = s.resolved();
        for (const gemm::Operand& o : gemm::operands(s.problem())) {
            if (o.pitch_name != nullptr && s.groups.empty())
                *gemm::pitch_in(s, o.id) = std::max(o.pitch, o.cols);
        }
        for (const gemm::Operand& o : gemm::operands(s.problem())) {
            if (o.stride_name != nullptr) *gemm::stride_in(s, o.id) = std::max(o.stride, o.size());
        }
        s = s.in_whole_bytes();
        if (s.text() == problem.shape.text() && s.offsets == problem.shape.offsets &&
            next.schedule == problem.schedule)
            return false;
        if (!wrong(lesson, next, seed)) return false;
        problem = next;
        return true;
    };
    for (bool moved = true; moved;) {
        moved = simpler([](CheckCase& c) { c.schedule = 0; }) |
                simpler([](CheckCase& c) { c.shape.alpha = 1; }) |
                simpler([](CheckCase& c) { c.shape.beta = 0; }) |
                simpler([](CheckCase& c) { c.shape.offsets = {}; });
        if (!problem.shape.groups.empty()) {
            moved = shrink_groups(problem.shape, simpler) | moved;
            continue;
        }
        const bool batch = problem.shape.variant.batch != gemm::Batch::one;
        for (std::int64_t Shape::*size :
             {&Shape::batch, &Shape::M, &Shape::N, &Shape::K, &Shape::lda, &Shape::ldb, &Shape::ldc,
              &Shape::lds, &Shape::ldr, &Shape::ldd, &Shape::stride_a, &Shape::stride_b, &Shape::stride_c,
              &Shape::stride_d}) {
            if (size == &Shape::batch && !batch) continue;
            for (std::int64_t less = problem.shape.*size / 2; less > 0; less /= 2) {
                while (problem.shape.*size >= less && simpler([&](CheckCase& c) {
                           c.shape.*size = std::max<std::int64_t>(c.shape.*size - less, 0);
                       }))
                    moved = true;
            }
        }
    }
    return problem;
}

/// What repeats it. gemm_bench has no offsets: those are named.
std::string command(const Lesson& lesson, const CheckCase& c, std::uint64_t seed) {
    const Shape& s = c.shape;
    std::string text = "./gemm run " + std::string(lesson.name) + " --verify-only";
    const auto add = [&](const char* option, const std::string& value) {
        text += std::string(" --") + option + " " + value;
    };
    const auto size = [&](std::int64_t M, std::int64_t N, std::int64_t K) {
        return std::to_string(M) + "x" + std::to_string(N) + "x" + std::to_string(K);
    };
    std::string groups;
    for (const gemm::Group& g : s.groups) groups += (groups.empty() ? "" : ",") + size(g.M, g.N, g.K);
    if (groups.empty()) {
        add("m", std::to_string(s.M)), add("n", std::to_string(s.N)), add("k", std::to_string(s.K));
    } else {
        add("groups", groups);
    }
    const std::vector<gemm::Operand> all = gemm::operands(s.problem());
    for (const gemm::Operand& o : all) {
        if (o.pitch_name != nullptr && pitch_for_all(s, o)) add(o.pitch_name, std::to_string(o.pitch));
        if (o.stride_name != nullptr) {
            std::string option = o.stride_name;
            std::replace(option.begin(), option.end(), '_', '-');
            add(option.c_str(), std::to_string(o.stride));
        }
    }
    if (s.variant.batch != gemm::Batch::one && groups.empty()) add("batch", std::to_string(s.batch));
    char scalars[80];
    std::snprintf(scalars, sizeof scalars, " --alpha %g --beta %g", static_cast<double>(s.alpha),
                  static_cast<double>(s.beta));
    text += scalars;
    add("variant", gemm::text(s.variant)), add("seed", std::to_string(seed));
    if (!gemm::kDeviceTimes) add("schedule", std::to_string(c.schedule));
    std::string off;
    for (const gemm::Operand& o : all) {
        if (const std::int64_t offset = s.offsets[gemm::place_of(o.id)]; offset != 0)
            off += (off.empty() ? "" : ", ") + std::string(o.name) + " " + std::to_string(offset);
    }
    if (!off.empty()) text += ", with matrices that begin behind an aligned address, in elements: " + off;
    return text;
}

int run(const Settings& s) {
    const gemm::Device device = gemm::select_device(0, "", 0);
    std::vector<const Lesson*> lessons;
    for (const Lesson* lesson : gemm::all_lessons()) {
        if ((s.lesson.empty() || s.lesson == lesson->name) && gemm::why_skipped(*lesson, device).empty())
            lessons.push_back(lesson);
    }
    if (lessons.empty()) throw gemm::Error("No lesson of that name runs on this device.");
    for (std::int64_t i = s.first; i < s.first + s.cases; ++i) {
        const Lesson& lesson = *lessons[static_cast<std::size_t>(i) % lessons.size()];
        std::vector<gemm::Variant> variants;
        for (const gemm::Offer& offer : lesson.variants) {
            if (gemm::runs_on(offer.architectures, device.sm)) variants.push_back(offer.variant);
        }
        const std::uint64_t seed = s.seed + static_cast<std::uint64_t>(i);
        const CheckCase problem = Draw(s.seed, static_cast<std::uint64_t>(i)).problem(lesson, variants);
        std::fprintf(stderr, "progress %lld %lld %s\n", static_cast<long long>(i - s.first),
                     static_cast<long long>(s.cases), command(lesson, problem, seed).c_str());
        if (!wrong(lesson, problem, seed)) continue;
        const CheckCase smallest = shrunk(lesson, problem, seed);
        std::printf("%s\nCase %lld; repeat it with\n  %s\n",
                    wrong(lesson, smallest, seed).value_or("It varies.").c_str(), static_cast<long long>(i),
                    command(lesson, smallest, seed).c_str());
        return gemm::kWrong;
    }
    std::printf("%lld problems of %zu lessons came out right.\n", static_cast<long long>(s.cases),
                lessons.size());
    return gemm::kRight;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_fuzz", [&] {
        Settings s;
        gemm::parse_options("gemm_fuzz", "Random problems through every lesson.",
                            {{"--lesson", &s.lesson, "this one alone [all]", "NAME"},
                             {"--cases", &s.cases, "how many problems [1000]", "INT", false, 1},
                             {"--first", &s.first, "the number of the first one [0]"},
                             {"--seed", &s.seed, "of all that is drawn [a fresh one]"}},
                            argc, argv);
        return run(s);
    });
}
