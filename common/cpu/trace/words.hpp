// What a finding says, in words for people. Programs read its fields instead.
#pragma once

#include <string>

#include "common/cpu/trace/trace.hpp"

namespace cpu_device::trace {

/// One sentence without a full stop, about the first occurrence.
std::string text_of(const Finding& finding);

}  // namespace cpu_device::trace
