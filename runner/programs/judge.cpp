// gemm_judge: sets an exam for a lesson and marks what came back, for ./gemm grade, and says which problems a
// report of gemm_check must hold. The learner's code runs
// in another process (gemm_exam), which sees the problems and nothing else; this one sees what is left of C.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "common/check/variant.hpp"
#include "common/check/verify.hpp"
#include "common/check/words.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "common/program/lessons.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/cases.hpp"
#include "runner/programs/exam.hpp"

namespace {

using gemm::CaseResult;
using gemm::CheckCase;
using gemm::Error;
using gemm::FaultId;
using gemm::Json;
using gemm::Lesson;
using gemm::Workload;
using gemm::exam::Answer;
using gemm::exam::Question;

constexpr const char* kName = "The result";

void append(std::string& paper, const void* data, std::size_t bytes) {
    paper.append(static_cast<const char*>(data), bytes);
}

void append_images(std::string& paper, const std::vector<gemm::Image>& images) {
    for (const gemm::Image& image : images) append(paper, image.bytes.data(), image.bytes.size());
}

std::string paper_of(const std::vector<CheckCase>& cases, std::uint64_t seed) {
    std::string paper;
    const std::uint64_t count = cases.size();
    append(paper, &count, sizeof count);
    for (const CheckCase& c : cases) {
        Workload w = gemm::workload_of(c, seed);
        const gemm::Problem p = w.problem();
        const std::vector<gemm::Image> images = w.images();
        Question q{p.M,
                   p.N,
                   p.K,
                   p.lda,
                   p.ldb,
                   p.ldc,
                   p.lds,
                   p.ldr,
                   p.ldd,
                   p.batch,
                   p.stride_a,
                   p.stride_b,
                   p.stride_c,
                   p.stride_d,
                   p.alpha,
                   p.beta,
                   {},
                   static_cast<std::uint8_t>(c.earlier),
                   {},
                   c.sm,
                   c.multiprocessors,
                   static_cast<std::uint32_t>(c.blocks.size()),
                   {},
                   c.schedule,
                   {}};
        const std::string variant = gemm::text(p.variant);
        if (variant.size() > sizeof q.variant) throw Error("A variant's text is too long for a paper.");
        variant.copy(q.variant, sizeof q.variant);
        std::transform(images.begin(), images.end(), q.matrices, [](const gemm::Image& image) {
            return gemm::exam::Matrix{image.bytes.size(), image.start, image.rows, image.row, image.gap};
        });
        if (c.blocks.size() > gemm::exam::kMostBlocks) throw Error("Too many blocks are named in a case.");
        std::copy(c.blocks.begin(), c.blocks.end(), q.blocks);
        append(paper, &q, sizeof q);
        for (const gemm::Group& g : p.groups) {
            const gemm::exam::Sizes sizes{g.M, g.N, g.K, g.lda, g.ldb, g.ldc, g.ldd};
            append(paper, &sizes, sizeof sizes);
        }
        append_images(paper, images);
        if (c.earlier == gemm::Earlier::nothing) continue;
        w.refill(seed);
        append_images(paper, w.images());
    }
    return paper;
}

/// Reads answers, which may be anything.
class Answers {
  public:
    explicit Answers(const std::string& file) : in_(file, std::ios::binary) {
        if (!in_) throw Error(file + " cannot be read.");
    }

    /// The bytes of the result, `bytes` of them, for question `index`; or nothing, and why in the result.
    std::optional<std::vector<std::byte>> next(std::uint64_t index, std::size_t bytes, CaseResult& result) {
        std::string& error = result.error;
        result.fault = FaultId::no_answer;
        Answer answer{};
        if (!read(&answer, sizeof answer)) {
            result.fault = FaultId::ended_program;
            error = "The program ended before it had computed this.";
        } else if (answer.index != index || answer.error > gemm::exam::kLongestError) {
            error = "What the program handed over is no answer.";
        } else if (answer.error > 0) {
            result.fault = FaultId::other;  // what the program says, in its words
            error.resize(answer.error);
            if (!read(error.data(), error.size())) error = "The program ended before it had said why.";
        } else if (std::vector<std::byte> c(bytes); read(c.data(), c.size())) {
            return c;
        } else {
            error = "The program ended before it had handed over its result.";
        }
        return std::nullopt;
    }

  private:
    bool read(void* data, std::size_t bytes) {
        in_.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
        return static_cast<std::size_t>(in_.gcount()) == bytes;
    }
    std::ifstream in_;
};

/// Up to the first that is wrong.
std::vector<CaseResult> marked(const std::vector<CheckCase>& cases, std::uint64_t seed, Answers answers) {
    std::vector<CaseResult> results;
    for (const CheckCase& c : cases) {
        CaseResult& result = results.emplace_back(CaseResult{c, seed});
        Workload w = gemm::workload_of(c, seed);
        if (c.earlier != gemm::Earlier::nothing) w.refill(seed);
        const std::optional<std::vector<std::byte>> image =
            answers.next(results.size() - 1, w.c_image().bytes.size(), result);
        if (image) {
            w.set_c_image(*image);
            gemm::Verdict& verdict =
                result.verdict.emplace(gemm::marked(c, w, w.download_c(), w.breach(), kName, nullptr));
            // Without the seed, by which the problem could be had beforehand.
            verdict.failure = gemm::failure_text(verdict, kName, c.shape, std::nullopt);
        }
        if (!result.passed()) break;
    }
    return results;
}

/// The problems of gemm_check for a kernel with tiles "BM,BN,BK", without what comes of them: a report that
/// the kernel's own process has made is held against them.
Json listed(const Lesson& lesson, std::uint64_t seed, const std::string& text, bool long_k) {
    const std::vector<std::string> sizes = gemm::comma_separated("--tile", text);
    if (sizes.size() != 3) throw Error("--tile takes BM,BN,BK, and not " + text + ".");
    const auto size = [&](int i) { return gemm::small_number("--tile", sizes[i], 1); };
    std::vector<gemm::Offer> offers(lesson.variants.begin(), lesson.variants.end());
    for (gemm::Offer& offer : offers) offer.configuration.tile = {size(0), size(1), size(2)};
    Lesson tiled = lesson;
    tiled.variants = offers;
    const Json cases = gemm::list_json(gemm::check_cases(tiled, seed, long_k), [&](const CheckCase& c) {
        return gemm::case_json({c, seed});
    });
    return {
        {"schema", 1}, {"lesson", lesson.name}, {"seed", seed}, {"total", cases.size()}, {"cases", cases}};
}

int run(int argc, char** argv) {
    std::string name, paper, answers, tile, output;
    std::uint64_t seed = 0, schedule = 0;
    bool long_k = false;
    gemm::parse_options(
        "gemm_judge",
        "Sets an exam (--paper), or marks its answers (--answers) or lists a check's problems (--tile) "
        "as JSON.",
        {gemm::schedule_option(schedule),
         {"--lesson", &name, "whose tiles and type the problems are for", "NAME"},
         {"--seed", &seed, "of sizes and inputs: the same for the paper and the answers", "INT", true},
         {"--paper", &paper, "where the paper goes", "FILE"},
         {"--answers", &answers, "what gemm_exam wrote", "FILE"},
         {"--tile", &tile, "BM,BN,BK of the kernel whose cases gemm_check draws", "LIST"},
         {"--long-k", &long_k, "also the problem that gemm_check has with it"},
         {"--output", &output, "where the JSON goes [standard output]", "FILE"}},
        argc, argv);
    if (!paper.empty() + !answers.empty() + !tile.empty() != 1) {
        throw Error("One of --paper, --answers and --tile is needed.");
    }
    const Lesson& lesson = gemm::lesson_named(name);
    cpu_device::set_schedule_seed(schedule);
    if (!tile.empty()) {
        gemm::deliver(output, gemm::to_text(listed(lesson, seed, tile, long_k)));
        return gemm::kRight;
    }
    std::vector<CheckCase> cases = gemm::check_cases(lesson, seed, long_k);
    for (CheckCase& c : gemm::remainder_cases(lesson, seed)) cases.push_back(std::move(c));
    if (!paper.empty()) {
        gemm::write_file(paper, paper_of(cases, seed));
        return gemm::kRight;
    }
    const std::vector<CaseResult> results = marked(cases, seed, Answers(answers));
    const bool passed = results.back().passed();
    const Json json = {{"schema", 1},           {"lesson", lesson.name},
                       {"seed", seed},          {"passed", passed},
                       {"total", cases.size()}, {"cases", gemm::list_json(results, gemm::case_json)}};
    gemm::deliver(output, gemm::to_text(json));
    return passed ? gemm::kRight : gemm::kWrong;
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_judge", [&] { return run(argc, argv); });
}
