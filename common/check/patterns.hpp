// What the wrong elements of a result have in common: how their values came about, and where they lie.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/workload.hpp"
#include "common/facts.hpp"
#include "common/gemm.hpp"

namespace gemm {

/// What wrong elements have in common. Which fields there are depends on the id: see facts.hpp.
struct Pattern {
    using Number = std::optional<std::int64_t>;
    PatternId id;
    std::string matrices = {}, lengths = {};    // "B, C", "N, N": rows that are taken to begin at multiples
    Number from = {}, to = {}, of = {};         // steps of the sum over k: from ≤ k < to, of K
    Number row = {}, column = {}, modulo = {};  // where they lie
    Number tile_rows = {}, tile_columns = {};
    Number problem = {};       // of a batch, counted from 0
    const char* result = "C";  // the matrix that is wrong: C or D
};

/// An element of a result that is not what it should be.
struct Wrong {
    std::int64_t row = 0, col = 0;
    double got = 0;
    bool written = true;  // else got is the poison that was there before
    double expected = 0, bound = 0;
    std::int64_t problem = 0;  // of a batch
    bool before(const Wrong& o) const {
        return std::tie(problem, row, col) < std::tie(o.problem, o.row, o.col);
    }
};

/// What wrong values have in common with other products, judged on up to fifteen of them. The more special
/// explanation comes first where two would do. lesson (may be null) has the tile sizes.
std::optional<Pattern> value_pattern(const HostProblem& w, const std::vector<Wrong>& wrong,
                                     const Lesson* lesson);

/// Where wrong elements lie: an edge strip, one tile, one row or column, every n-th row or column. `wrong`
/// holds all that are.
std::vector<Pattern> place_patterns(const Shape& s, const std::vector<Wrong>& wrong, const Lesson* lesson);

}  // namespace gemm
