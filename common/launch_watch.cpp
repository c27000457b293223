#include "common/launch_watch.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

#include "common/options.hpp"

namespace gemm {

std::string no_end(const std::string& lesson, int seconds) {
    return lesson + " did not end within " + std::to_string(seconds) +
           " s: an endless loop, or threads that wait for each other; run ./gemm inspect " + lesson +
           ", which needs no GPU: it says who waits for whom.";
}

LaunchWatch::LaunchWatch(std::string lesson, int seconds) {
    if (seconds <= 0) return;
    thread_ = std::thread([this, seconds, name = std::move(lesson)] {
        std::unique_lock lock(mutex_);
        if (ended_.wait_for(lock, std::chrono::seconds(seconds), [this] { return over_; })) return;
        // Not through streams, and no exit(): who waits for the kernel may hold what they lock, and the
        // runtime's own clearing up would wait for it, too.
        const std::string said = "\r\033[K" + no_end(name, seconds) + "\n";
        const bool terminal = isatty(STDERR_FILENO) == 1;  // a progress line stands there
        const std::size_t from = terminal ? 0 : said.find(name);
        (void)!write(STDERR_FILENO, said.data() + from, said.size() - from);
        _exit(kCouldNotRun);
    });
}

LaunchWatch::~LaunchWatch() {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(mutex_);
        over_ = true;
    }
    ended_.notify_one();
    thread_.join();
}

}  // namespace gemm
