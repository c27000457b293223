// gemm_check: holds a learner's kernel against a list of problems, and says where it first goes wrong;
// then, on the CPU device, what its accesses do to memory, and on a GPU how long it takes beside other
// lessons. Its JSON is what ./gemm check shows.
//
// A library with main(): the runner compiles the learner's file and the list below, and links them with it.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#include "runner/programs/ahead.hpp"
#endif
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "common/measure/device.hpp"
#include "common/measure/measure.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/cases.hpp"

/// Ends with a null pointer. [0] is the learner's lesson; those behind it are timed with it (CUDA), or
/// --kernel takes one of them instead (CPU device).
extern const gemm::Lesson* const gemm_checked[];

namespace {

using gemm::Error;
using gemm::FaultId;
using gemm::Json;
using gemm::Lesson;
using gemm::Shape;

constexpr int kLongRun = 10;  // times the patience that others have, for a case that takes seconds

struct Settings {
    std::uint64_t seed = gemm::fresh_seed(), schedule = 0;
    std::string like, output;
    std::optional<Shape> goal, time;
    int rounds = 0;
    int patience = 20;  // seconds
    int kernel = 0;     // of gemm_checked
    int progress_fd = STDERR_FILENO, output_fd = STDOUT_FILENO;
    bool long_k = false, halves = false, computing = false;
};

/// "128x128x128" → M×N×K; the variant, and what follows from it, is the lesson's business.
Shape shape_of(const std::string& option, const std::string& text) {
    const std::vector<std::int64_t> sizes =
        gemm::sizes("A size in " + option, text, 1, std::numeric_limits<std::int32_t>::max());
    if (sizes.size() != 3) {
        throw Error(option + " must be MxNxK, such as 128x128x128, and is \"" + text + "\".");
    }
    Shape shape;
    shape.M = sizes[0];
    shape.N = sizes[1];
    shape.K = sizes[2];
    (void)shape.resolved();  // an Error where it is none
    return shape;
}

Settings read_options(int argc, char** argv) {
    Settings s;
    std::string goal = "128x128x128", time;
    std::vector<gemm::Option> options;
    options.push_back({"--seed", &s.seed, "seed of sizes and inputs [a fresh one]"});
    if (gemm::kDeviceTimes) {
        options.push_back({"--time", &time, "the shape to time at, MxNxK [none]", "SIZE"});
        options.push_back({"--rounds", &s.rounds, "rounds of timing; 0 chooses by cost [0]"});
    } else {
        options.push_back({"--like", &s.like, "whose launch limits hold, such as sm_86 [sm_90]", "SM"});
        options.push_back(gemm::schedule_option(s.schedule));
        options.push_back(
            {"--goal", &goal, "the shape whose accesses are counted, MxNxK [128x128x128]", "SIZE"});
        options.push_back({"--kernel", &s.kernel, "which of the kernels that it is linked with [0]"});
        options.push_back({"--halves", &s.halves,
                           "two processes run one half of the cases each, for whoever waits on two cores"});
        options.push_back({"--computing", &s.computing,
                           "the seconds of --patience are those of computing, of all threads together"});
    }
    options.push_back(
        {"--long-k", &s.long_k, "also a K beyond 65536 where that takes seconds, for offsets of 16 bits"});
    options.push_back({"--patience", &s.patience, "seconds that a case may take before it is given up [20]",
                       "INT", false, 1});
    options.push_back(
        {"--progress-fd", &s.progress_fd, "the open file descriptor that progress goes to [2]"});
    options.push_back({"--output", &s.output, "where the JSON goes [--output-fd]", "FILE"});
    options.push_back(
        {"--output-fd", &s.output_fd, "the open file descriptor that it goes to otherwise [1]"});
    gemm::parse_options("gemm_check", "Holds one kernel against a list of problems, from the easiest on.",
                        options, argc, argv);
    if (!gemm::kDeviceTimes) s.goal = shape_of("--goal", goal);
    if (!time.empty()) s.time = shape_of("--time", time);
    int kernels = 0;
    while (gemm_checked[kernels] != nullptr) ++kernels;
    (void)gemm::whole_number("--kernel", std::to_string(s.kernel), 0, kernels - 1);
    for (const auto& [option, fd] :
         {std::pair{"--progress-fd", s.progress_fd}, {"--output-fd", s.output_fd}}) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        throw Error(option + (" must be an open file descriptor, and " + std::to_string(fd) + " is none."));
    }
    gemm::check_writable(s.output);
    return s;
}

/// What gemm_check writes, but for what the goal's run adds.
Json report(const Lesson& lesson, const gemm::Device& device, const Settings& s, Json cases, bool passed,
            double seconds) {
    return {{"schema", 1},
            {"name", lesson.name},
            {"variant", gemm::text(lesson.variant())},
            {"device", device.kind},
            {"device_name", device.name},
            {"seed", s.seed},
            {"like", "sm_" + std::to_string(device.sm)},
            {"tile", {{"BM", lesson.tile().BM}, {"BN", lesson.tile().BN}, {"BK", lesson.tile().BK}}},
            {"cases", std::move(cases)},
            {"passed", passed},
            {"trace", nullptr},
            {"times", nullptr},
            {"seconds", seconds}};
}

/// Writes the JSON. Throws Error.
void deliver(const Settings& s, const Json& json) {
    const std::string text = gemm::to_text(json);
    if (!s.output.empty()) return gemm::write_file(s.output, text);
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t n = write(s.output_fd, text.data() + at, text.size() - at);
        if (n <= 0) throw Error("The report cannot be written.");
        at += static_cast<std::size_t>(n);
    }
}

/// Writes the JSON and ends the program at once: what the learner's code has left (a lock that its kernel
/// held when it was interrupted, a thread that never ends) must not be waited for.
[[noreturn]] void write_and_leave(const Settings& s, const Json& json, int status) {
    try {
        if (ftrylockfile(stdout) == 0) std::fflush(stdout);
        deliver(s, json);
    } catch (const std::exception& error) {
        (void)dprintf(STDERR_FILENO, "gemm_check: %s\n", error.what());
        _exit(gemm::kCouldNotRun);
    }
    _exit(status);
}

/// Reports a failed case where the main thread cannot: launch() does not return, or the learner's code ends
/// the program. One per process; from its start to done(). Its thread is never joined.
class Watchdog {
  public:
    /// report: the JSON of these cases, the last of which has failed.
    Watchdog(const Settings& s, const Lesson& lesson, std::function<Json(Json cases)> report)
        : settings_(s), name_(lesson.name), report_(std::move(report)) {
        if (pipe2(wake_.data(), O_CLOEXEC) != 0) throw Error("No file descriptors are left for a pipe.");
        current = this;
        struct sigaction on_abort {};
        on_abort.sa_handler = ended_by_abort;
        sigemptyset(&on_abort.sa_mask);
        sigaction(SIGABRT, &on_abort, nullptr);
        std::thread([this] { watch(); }).detach();
    }

    /// A case begins, after those that are done.
    void begins(const std::vector<gemm::CaseResult>& done, const gemm::CheckCase& next) {
        // Again each time: the last one registered runs first, before anything that threads may still use is
        // destroyed.
        (void)std::atexit(ended_by_exit);
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = cases_.size(); i < done.size(); ++i) cases_.push_back(gemm::case_json(done[i]));
        next_ = next;
        began_ = now();
    }
    /// Nothing of the learner's runs just now.
    void waits() {
        const std::scoped_lock lock(mutex_);
        began_ = now();
    }
    /// Nothing of the learner's runs any more.
    static void done() {
        // It may be at its report already: then it ends the program.
        if (Watchdog* const watchdog = current.exchange(nullptr))
            const std::scoped_lock lock(watchdog->mutex_);
    }

  private:
    /// Seconds of which --patience is a number: on the clock, or for which the program's threads have had a
    /// processor, so that a busy machine makes no case fail.
    double now() const {
        timespec time{};
        clock_gettime(settings_.computing ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    void watch() {
        for (;;) {
            pollfd woken{wake_[0], POLLIN, 0};
            const bool ended = poll(&woken, 1, 100) > 0;
            const std::scoped_lock lock(mutex_);
            if (current == nullptr) return;
            if (ended) give_up(FaultId::ended_program, "The file's code ended the program (exit or abort).");
            const int patience = settings_.patience * (next_.long_run ? kLongRun : 1);
            if (now() - began_ < patience) continue;
            const std::string limit =
                " within " + std::to_string(patience) + " s" + (settings_.computing ? " of computing" : "");
            give_up(FaultId::endless_loop,
                    gemm::kDeviceTimes ? name_ + " did not end" + limit +
                                             ": an endless loop, or threads that wait for each other; with "
                                             "GEMM_DEVICE=cpu ./gemm check says who waits for whom."
                                       : "launch() of " + name_ + " did not return" + limit +
                                             ": probably an endless loop in it.");
        }
    }
    void give_up(FaultId fault, const std::string& error) {
        cases_.push_back(gemm::case_json({next_, settings_.seed, fault, error}));
        write_and_leave(settings_, report_(std::move(cases_)), gemm::kWrong);
    }

    // The thread that ends the program waits until the watchdog has ended it.
    static void wake() {
        if (Watchdog* const watchdog = current) (void)!write(watchdog->wake_[1], "", 1);
    }
    static void ended_by_exit() {
        wake();
        while (current != nullptr) pause();
    }
    static void ended_by_abort(int) {
        wake();
        const timespec some{5, 0};
        nanosleep(&some, nullptr);  // malloc's lock may be held, and nobody able to write the report
        signal(SIGABRT, SIG_DFL);
        (void)raise(SIGABRT);
    }

    static std::atomic<Watchdog*> current;
    const Settings settings_;
    const std::string name_;
    const std::function<Json(Json)> report_;
    std::array<int, 2> wake_{};
    std::mutex mutex_;
    Json cases_ = Json::array();
    gemm::CheckCase next_;
    double began_ = now();
};
std::atomic<Watchdog*> Watchdog::current{nullptr};

#ifndef GEMM_CPU_DEVICE

/// The times of all lessons of the list that run here, and as a case what is wrong with the learner's.
std::pair<Json, gemm::CaseResult> time_all(const gemm::Device& device, const Settings& s,
                                           const std::function<void(const std::string&)>& progress) {
    std::vector<const Lesson*> lessons;
    Json times = Json::array();
    const gemm::Variant variant = gemm_checked[0]->variant();
    for (const Lesson* const* lesson = gemm_checked; *lesson != nullptr; ++lesson) {
        if ((*lesson)->variant() != variant) {  // another baseline, other bytes: there is nothing to compare
            times.push_back({{"name", (*lesson)->name},
                             {"passed", false},
                             {"failure", "it takes " + gemm::text((*lesson)->variant()) + ", and not " +
                                             gemm::text(variant)}});
            continue;
        }
        if (const std::string why = gemm::why_skipped(**lesson, device); !why.empty()) {
            std::fprintf(stderr, "%s\n", why.c_str());
            continue;
        }
        lessons.push_back(*lesson);
    }
    gemm::MeasureOptions options;
    options.timing = true;
    options.rounds = s.rounds;
    options.progress = [&](int, const std::string& next) { progress(next); };
    const std::vector<gemm::Outcome> outcomes =
        gemm::Measurer(device).measure(lessons, *s.time, s.seed, options);
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        const gemm::Outcome& outcome = outcomes[i];
        Json entry = {{"name", lessons[i]->name},
                      {"m", s.time->M},
                      {"n", s.time->N},
                      {"k", s.time->K},
                      {"passed", outcome.passed()},
                      {"failure", outcome.error.empty() ? outcome.verdict.failure : outcome.error}};
        if (outcome.speed) entry.update(gemm::speed_json(*outcome.speed));
        times.push_back(std::move(entry));
    }
    gemm::CaseResult result{{"time", "the shape that is timed", *s.time, false},
                            s.seed,
                            outcomes.front().fault,
                            outcomes.front().error};
    if (result.error.empty()) result.verdict = outcomes.front().verdict;
    result.device_lost = outcomes.front().device_lost;
    return {std::move(times), std::move(result)};
}

#endif

int run(Settings s) {
    const auto start = std::chrono::steady_clock::now();
    const Lesson& lesson = *gemm_checked[s.kernel];
    gemm::require_sound(lesson);
    for (std::optional<Shape>* shape : {&s.goal, &s.time}) {
        if (!*shape) continue;
        (*shape)->variant = lesson.variant();
        (*shape)->batch = gemm::usual_batch(lesson.variant());
        *shape = (*shape)->resolved();
    }
#ifdef GEMM_CPU_DEVICE
    cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors);
#endif
    const gemm::Device device = gemm::select_device(0, s.like, s.schedule);
    if (const std::string why = gemm::why_skipped(lesson, device); !why.empty()) throw Error(why);
    const auto report_of = [=, &lesson](Json cases, bool passed) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        return report(lesson, device, s, std::move(cases), passed, seconds.count());
    };
#ifdef GEMM_CPU_DEVICE
    std::optional<gemm::GoesAhead> second;  // before there are threads
    if (s.halves) second.emplace(lesson, s.seed, s.long_k);
#endif
    // Leaked: its thread may look at it until the program has ended.
    Watchdog& watchdog =
        *new Watchdog(s, lesson, [=](Json cases) { return report_of(std::move(cases), false); });

    std::size_t done = 0, total = 1;
    const auto progress = [&](const std::string& next) {
        (void)dprintf(s.progress_fd, "progress %zu %zu %s\n", done, total, next.c_str());
    };
    const bool more = s.goal || s.time;
    gemm::Ahead ahead;
#ifdef GEMM_CPU_DEVICE
    // (Nothing of the learner's runs here meanwhile that could take too long.)
    if (second) ahead = [&] { return second->results([&] { watchdog.waits(); }); };
#endif
    std::vector<gemm::CaseResult> results = gemm::run_cases(
        lesson, s.seed,
        [&](const std::vector<gemm::CaseResult>& finished, std::size_t of, const gemm::CheckCase& next) {
            watchdog.begins(finished, next);
            done = finished.size();
            total = of + (more ? 1 : 0);
            progress(next.what);
        },
        s.long_k, ahead);
    bool passed = results.back().passed();
    Json traced, times;
    if (passed && more) {
        ++done;
#ifdef GEMM_CPU_DEVICE
        const gemm::CheckCase goal{"goal", "the shape whose accesses are counted", *s.goal, false};
        watchdog.begins(results, goal);
        progress("counting accesses at " + s.goal->text());
        auto [result, accesses, json] = gemm::trace_case(lesson, goal, s.seed, device.sm);
        traced = std::move(json);
#else
        auto [json, result] = time_all(device, s, [&](const std::string& next) {
            watchdog.begins(results, {"time", "the shape that is timed", *s.time, false});
            progress(next);
        });
        times = std::move(json);
#endif
        passed = result.passed();
        if (!passed) results.push_back(std::move(result));
    }
    Watchdog::done();
    done = total;
    progress("done");

    Json json = report_of(gemm::list_json(results, gemm::case_json), passed);
    json["trace"] = std::move(traced);
    json["times"] = std::move(times);
    if (results.back().ended_by(FaultId::endless_loop)) write_and_leave(s, json, gemm::kWrong);
    std::fflush(stdout);
    deliver(s, json);
    return passed ? gemm::kRight : gemm::kWrong;
}

}  // namespace

int main(int argc, char** argv) {
    const int status = gemm::run_program("gemm_check", [&] { return run(read_options(argc, argv)); });
    Watchdog::done();  // also after an exception
    return status;
}
