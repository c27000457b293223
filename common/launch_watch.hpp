// On a GPU a kernel whose threads wait for each other never ends, and neither does who waits for it. This
// ends the program in its stead: the driver then takes the kernel off the GPU, and the next program finds it
// free. The CPU device finds such kernels itself, and says more (cpu/execution/autopsy.cpp).
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace gemm {

/// The sentence that tells it: "10a_swizzle did not end within 21 s: …".
std::string no_end(const std::string& lesson, int seconds);

/// While it lives: when so many seconds have passed, the program says no_end() and ends with kCouldNotRun.
/// 0 seconds: for ever.
class LaunchWatch {
  public:
    LaunchWatch(std::string lesson, int seconds);
    ~LaunchWatch();
    LaunchWatch(const LaunchWatch&) = delete;
    LaunchWatch& operator=(const LaunchWatch&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable ended_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace gemm
