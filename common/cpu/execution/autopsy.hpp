// The words of an autopsy.
#pragma once

#include <string>

#include "common/autopsy.hpp"

namespace cpu_device {

/// Several lines, the first one a sentence.
std::string text_of(const gemm::Autopsy& autopsy);
/// A sentence, but for its capital letter.
std::string text_of(const gemm::Autopsy::Likely& likely);

}  // namespace cpu_device
