// The words of an autopsy.
#pragma once

#include <string>

#include "common/autopsy.hpp"

namespace cpu_device {

/// Several lines, the first one a sentence.
std::string text_of(const gemm::Autopsy& autopsy);
/// Of one of its own, a sentence, but for its capital letter.
std::string text_of(const gemm::Autopsy& autopsy, const gemm::Autopsy::Likely& likely);

/// Several lines, the first one a sentence.
std::string text_of(const gemm::FlagHang& hang);

}  // namespace cpu_device
