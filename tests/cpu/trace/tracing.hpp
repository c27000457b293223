// What tests of the tracer share: running, and looking things up in a report. What they expect at a line they
// find by a comment at its end, "// LINE <name>".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/check/workload.hpp"
#include "common/cpu/trace/trace.hpp"
#include "common/gemm.hpp"
#include "tests/ptx/cluster_gemm.hpp"
#include "tests/ptx/wgmma_gemm.hpp"
#include "tests/tma/tma_gemm.hpp"

namespace test {

struct Traced {
    cpu_device::trace::Report report;
    std::string error;  // what the launch threw
};
Traced run_traced(std::vector<cpu_device::trace::Matrix> matrices, const std::function<void()>& launch,
                  const cpu_device::trace::Histories& histories = {});

/// A launch of the lesson on the workload's matrices.
Traced traced_lesson(const gemm::Lesson& lesson, const gemm::Workload& w);
/// 96×N×80 with a pitch of 100, in tiles of 3 steps by two blocks.
Traced traced_tma(kernels::TmaMistake mistake, int N = 96);
/// 64×128×320 by one block, in 5 steps.
Traced traced_wgmma(kernels::WgmmaMistake mistake);
/// 128×64×160, in 8 tiles of 5 steps by 4 clusters.
Traced traced_cluster(kernels::ClusterMistake mistake);

/// A finding in a line, by its fields: "race x32 (32,0,0) reads tile+4 at late; (0,0,0) wrote at early". Of
/// matrices the element, "C(1,2)"; of what lies outside of an array its size, "tile+256 of 256"; of places
/// the mark of the line, or what stands in it; in a cluster the block behind a slash.
std::string told(const cpu_device::trace::Finding& finding);

/// A line each, for messages.
std::string all_findings(const cpu_device::trace::Report& report);

/// The number of the only line of the file that ends with `text` (without: that holds it).
int line_with(const std::string& file, const std::string& text, bool at_end);
int marked(const std::string& file, const std::string& mark);

/// The only line of the report that stands there and accesses `array`. An empty array: any one.
const cpu_device::trace::Line& line_of(const cpu_device::trace::Report& report, int line,
                                       std::string_view array, bool store);
/// The only one for an array of which there is one load and one store.
const cpu_device::trace::Line& line_of(const cpu_device::trace::Report& report, std::string_view array,
                                       bool store);

/// The only finding of the kind at the line.
const cpu_device::trace::Finding& finding_at(const cpu_device::trace::Report& report, std::string_view kind,
                                             int line);

/// No error and no finding.
void check_sound(const Traced& traced);

/// What a line counted, where it is given.
struct Count {
    Count() = default;
    template <class Integer>
    Count(Integer n) : value(static_cast<std::uint64_t>(n)) {}
    std::optional<std::uint64_t> value;
};
struct Counts {
    Count width = {}, requests = {}, threads = {}, bytes = {}, sectors = {}, ideal_sectors = {},
          wavefronts = {}, ideal_wavefronts = {};
};
void check_counts(const cpu_device::trace::Line& line, const Counts& expected);

}  // namespace test
