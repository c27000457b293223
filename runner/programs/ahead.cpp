#include "runner/programs/ahead.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

namespace gemm {
namespace {

constexpr int kLook = 100;                          // milliseconds between two calls while it is waited for
constexpr std::chrono::seconds kPatience{2};        // with a case that most often takes milliseconds
constexpr std::chrono::seconds kLongPatience{120};  // with one that takes seconds

/// Of a case that has passed, all that its verdict says.
struct Passed {
    std::int64_t checked = 0, compared = 0;
    double error_over_bound = 0, rms_error = 0, rms_limit = 0;
};

/// What is printed from here on goes where nobody shows it, and what is too much nowhere; returns where it
/// is to be seen that something was, below 0 where that cannot be had.
int keep_quiet() {
    int printed[2];
    if (pipe2(printed, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        if (dup2(printed[1], stream) < 0) return -1;
    }
    return printed[0];
}

bool is_readable(int file, int milliseconds) {
    pollfd readable{file, POLLIN, 0};
    return poll(&readable, 1, milliseconds) > 0;
}

[[noreturn]] void go(const Lesson& lesson, const std::vector<CheckCase>& cases, std::uint64_t seed, int to) {
    const int printed = keep_quiet();
    for (const CheckCase& next : cases) {
        if (printed < 0) break;
        const CaseResult result = run_case(lesson, next, seed);
        std::fflush(nullptr);
        if (!result.passed() || is_readable(printed, 0)) break;
        const Verdict& v = *result.verdict;
        const Passed passed{v.checked, v.compared, v.error_over_bound, v.rms_error, v.rms_limit};
        if (write(to, &passed, sizeof passed) != sizeof passed) break;
    }
    _exit(0);
}

}  // namespace

GoesAhead::GoesAhead(const Lesson& lesson, std::uint64_t seed, bool long_k) : seed_(seed) {
    if (std::thread::hardware_concurrency() < 2) return;
    const std::vector<CheckCase> all = check_cases(lesson, seed, long_k);
    cases_.assign(all.begin() + static_cast<std::ptrdiff_t>(second_half(all)), all.end());
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    std::fflush(nullptr);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
        // It must not outlive who waits for it.
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(0);
        close(ends[0]);
        go(lesson, cases_, seed, ends[1]);
    }
    close(ends[1]);
    from_ = ends[0];
}

GoesAhead::~GoesAhead() {
    end();
}

void GoesAhead::end() {
    if (from_ >= 0) close(from_);
    from_ = -1;
    if (process_ <= 0) return;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    process_ = -1;
}

std::vector<CaseResult> GoesAhead::results(const std::function<void()>& waiting) {
    using Clock = std::chrono::steady_clock;
    std::vector<CaseResult> results;
    for (auto last = Clock::now(); process_ > 0 && results.size() < cases_.size();) {
        const CheckCase& next = cases_[results.size()];
        if (!is_readable(from_, kLook)) {
            waiting();
            if (Clock::now() - last < (next.long_run ? kLongPatience : kPatience)) continue;
            break;
        }
        Passed passed;
        if (read(from_, &passed, sizeof passed) != sizeof passed) break;  // it has ended
        last = Clock::now();
        CaseResult& result = results.emplace_back(CaseResult{next, seed_});
        Verdict& v = result.verdict.emplace();
        v.passed = true;
        v.checked = passed.checked;
        v.compared = passed.compared;
        v.error_over_bound = passed.error_over_bound;
        v.rms_error = passed.rms_error;
        v.rms_limit = passed.rms_limit;
    }
    if (results.size() < cases_.size()) results.clear();
    end();
    return results;
}

}  // namespace gemm
