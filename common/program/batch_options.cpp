#include "common/program/batch_options.hpp"

#include "common/check/variant.hpp"
#include "common/error.hpp"

namespace gemm {

std::vector<Option> BatchOptions::options() {
    return {
        {"--batch", &batch_, "how many problems, of a variant that is a batch [3, or 4 that are grouped]"},
        {"--groups", &groups_,
         "of a variant that is grouped: MxNxK of each problem, separated by commas [M, N and K, half of "
         "each, 0xNxK, 1x1x1]",
         "SIZES"}};
}

Shape BatchOptions::of(Shape s, const Shape& usual) const {
    s.batch = batch_ >= 0 ? batch_ : usual_batch(s.variant);
    if (groups_.empty()) return s.resolved();
    for (const std::string& group : comma_separated("--groups", groups_)) {
        const std::vector<std::int64_t> numbers = sizes("A size in --groups", group);
        if (numbers.size() != 3) throw Error("A group in --groups is MxNxK, and not \"" + group + "\".");
        s.groups.push_back({.M = numbers[0], .N = numbers[1], .K = numbers[2]});
    }
    if (batch_ >= 0) throw Error("--groups says how many problems there are; leave --batch out.");
    const Shape found = s.resolved();
    for (std::int64_t Shape::*size : {&Shape::M, &Shape::N, &Shape::K}) {
        if (s.*size == usual.*size || s.*size == found.*size) continue;
        throw Error(
            "--groups gives the sizes of each problem; leave --m, --n and --k out, or give the "
            "largest.");
    }
    return found;
}

}  // namespace gemm
