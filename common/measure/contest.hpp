// Which of several programs for the same product is the fastest, in little time. No CUDA in it, so that it is
// tested without a GPU.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace gemm {

/// What one candidate did in a race.
struct Standing {
    double ratio = 0;      // the first candidate's time / this one's, in the same rounds; above 1 is faster
    double sample_ms = 0;  // how long one of its samples takes
};

/// Times candidates, interleaved, for a number of rounds. The result has the order of `candidates`.
using Race = std::function<std::vector<Standing>(const std::vector<std::size_t>& candidates, int rounds)>;

/// The fastest of the candidates 0 … count − 1: a race of a few rounds among all of them, then a run-off with
/// more rounds among those that came within 3 % of the fastest, four at most. The two are to take 0.3 and
/// 0.4 s, or 1 and 3 rounds where these take longer. sample_ms: how long a sample takes, about; 0 where that
/// is not known. Of equals, the one with the smaller number. Throws std::invalid_argument without candidates
/// and where a race leaves one out.
std::size_t fastest(std::size_t count, double sample_ms, const Race& race);

}  // namespace gemm
