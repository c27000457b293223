#include "common/measure/launch_watch.hpp"

#include <unistd.h>

#include <utility>

#include "common/facts.hpp"

namespace gemm {

std::string no_end(const std::string& lesson, int seconds) {
    return lesson + " did not end within " + std::to_string(seconds) +
           " s: an endless loop, or threads that wait for each other; run ./gemm inspect " + lesson +
           ", which needs no GPU: it says who waits for whom.";
}

LaunchWatch::LaunchWatch(std::string lesson, int seconds, Before before)
    : seconds_(seconds),
      before_(std::move(before)),
      lesson_(std::move(lesson)),
      until_(Clock::now() + std::chrono::seconds(seconds)) {
    if (seconds > 0) thread_ = std::thread([this] { watch(); });
}

void LaunchWatch::turn(const std::string& lesson) {
    {
        const std::scoped_lock lock(mutex_);
        lesson_ = lesson;
        until_ = Clock::now() + std::chrono::seconds(seconds_);
    }
    changed_.notify_one();
}

void LaunchWatch::watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
        if (lesson_.empty()) {
            changed_.wait(lock);
            continue;
        }
        const Clock::time_point until = until_;
        changed_.wait_until(lock, until);
        if (!over_ && !lesson_.empty() && until == until_ && Clock::now() >= until) end();
    }
}

void LaunchWatch::end() {
    // Not through streams, and no exit(): who waits for the kernel may hold what they lock, and the runtime's
    // own clearing up would wait for it, too.
    const std::string sentence = no_end(lesson_, seconds_), said = "\r\033[K" + sentence + "\n";
    try {
        if (before_) before_(lesson_, sentence);
    } catch (...) {  // a disk that is full: the sentence is what counts
    }
    const bool terminal = isatty(STDERR_FILENO) == 1;  // a progress line stands there
    const std::size_t from = terminal ? 0 : said.size() - sentence.size() - 1;
    (void)!write(STDERR_FILENO, said.data() + from, said.size() - from);
    _exit(kCouldNotRun);
}

LaunchWatch::~LaunchWatch() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        over_ = true;
    }
    changed_.notify_one();
    thread_.join();
}

}  // namespace gemm
