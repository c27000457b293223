// A kernel that crashes, or is stopped: out of the signal handler back to the worker, and why.
#pragma once

#include <setjmp.h>
#include <signal.h>

#include <array>
#include <string>

#include "common/cpu/execution/block.hpp"

namespace cpu_device {

/// A worker's way out of a kernel.
struct Escape {
    sigjmp_buf back;
    int signal = 0;
    const void* address = nullptr;
    bool address_known = true;
    const void* instruction = nullptr;  // null: not known
    const char* stopped = nullptr;      // why, where SIGUSR2 was not for hanging

    /// On the signal stack: leaves the kernel for good.
    [[noreturn]] void leave(Block& block, int signal, const siginfo_t& info, const void* at);
    /// What went wrong, and as a sentence about the thread that was left.
    BlockFailure why(const Block& block) const;
};

/// The signal that ends a CUDA thread from outside.
constexpr int kStopSignal = SIGUSR2;

/// Handlers are ours while a grid runs, so that a test framework or a learner's program keeps its own
/// otherwise.
class CrashHandlers {
  public:
    CrashHandlers();
    ~CrashHandlers();
    CrashHandlers(const CrashHandlers&) = delete;
    CrashHandlers& operator=(const CrashHandlers&) = delete;

  private:
    static constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGTRAP, SIGILL, kStopSignal};
    std::array<struct sigaction, kCrashes.size()> before_{};
};

}  // namespace cpu_device
