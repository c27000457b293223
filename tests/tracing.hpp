// What tests of the tracer share: running, and looking things up in a report. What they expect at a line they
// find by a comment at its end, "// LINE <name>".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/cpu/trace/trace.hpp"

namespace test {

struct Traced {
    cpu_device::trace::Report report;
    std::string error;  // what the launch threw
};
Traced run_traced(std::vector<cpu_device::trace::Matrix> matrices, const std::function<void()>& launch,
                  const cpu_device::trace::Histories& histories = {});

/// A line each, for messages.
std::string all_findings(const cpu_device::trace::Report& report);

/// The number of the only line of the file that ends with `text` (without: that holds it).
int line_with(const std::string& file, const std::string& text, bool at_end);
int marked(const std::string& file, const std::string& mark);
std::string place(const std::string& file, int line);

/// The only line of the report that stands there and accesses `array`. An empty array: any one.
const cpu_device::trace::Line& line_of(const cpu_device::trace::Report& report, int line,
                                       std::string_view array, bool store);
/// The only one for an array of which there is one load and one store.
const cpu_device::trace::Line& line_of(const cpu_device::trace::Report& report, std::string_view array,
                                       bool store);

/// The only finding of the kind at the line.
const cpu_device::trace::Finding& finding_at(const cpu_device::trace::Report& report, std::string_view kind,
                                             int line);

/// The same where it is the only finding of all.
const cpu_device::trace::Finding& only_finding(const cpu_device::trace::Report& report, std::string_view kind,
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
