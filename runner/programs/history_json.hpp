// What blocks did in order, as ./gemm explore reads it (runner/inspect/trace_types.py: BlockHistory).
#pragma once

#include <string>

#include "common/cpu/trace/trace.hpp"
#include "common/program/report.hpp"

namespace gemm {

/// The file as it is called in the repository.
std::string file_in_repository(const std::string& file);

Json history_json(const cpu_device::trace::Report& report);

/// As to_text(json), with `history` as its last member: of that hardly anybody reads a line.
std::string to_text_with(const Json& json, const Json& history);

}  // namespace gemm
