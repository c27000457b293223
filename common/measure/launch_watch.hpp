// On a GPU a kernel whose threads wait for each other never ends, and neither does who waits for it. This
// ends the program in its stead: the driver then takes the kernel off the GPU, and the next program finds it
// free. The CPU device finds such kernels itself, and says more (cpu/execution/autopsy.cpp).
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace gemm {

/// The sentence that tells it: "10a_swizzle did not end within 21 s: …".
std::string no_end(const std::string& lesson, int seconds);

/// While it lives: when a lesson has had its turn for so many seconds, the program says no_end() and ends
/// with kCouldNotRun. 0 seconds: for ever.
class LaunchWatch {
  public:
    /// What else is to be done before the program ends, in a thread of its own: lesson, what is said.
    using Before = std::function<void(const std::string& lesson, const std::string& said)>;

    /// It is the lesson's turn; none: nobody's.
    LaunchWatch(std::string lesson, int seconds, Before before = {});
    ~LaunchWatch();
    LaunchWatch(const LaunchWatch&) = delete;
    LaunchWatch& operator=(const LaunchWatch&) = delete;

    /// Now it is that one's, from here on.
    void turn(const std::string& lesson);

  private:
    using Clock = std::chrono::steady_clock;
    void watch();
    [[noreturn]] void end();

    const int seconds_;
    const Before before_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string lesson_;
    Clock::time_point until_;
    bool over_ = false;
    std::thread thread_;  // last: starts when everything else is there
};

}  // namespace gemm
