#include "common/cpu/execution/crash.hpp"

#include <ucontext.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/workers.hpp"

namespace cpu_device {
namespace {

constexpr char kSpins[] =
    " If it waits for what another thread or block writes, read that by load_acquire() of "
    "common/ptx/flags.hpp or "
    "by atomicAdd(flag, 0): a loop that only reads a volatile variable leaves the CPU device no moment at "
    "which "
    "others could go on.";
constexpr std::uintptr_t kNullPage = 4096;  // addresses that only a null pointer leads to
constexpr std::uintptr_t kBeyondMemory = std::uintptr_t{1} << 52;  // no program has an address from here on

/// The instruction that a signal interrupted; null where this does not know how to tell.
const void* interrupted([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
    return reinterpret_cast<const void*>(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
    return reinterpret_cast<const void*>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
    return nullptr;
#endif
}

void on_signal(int signal, siginfo_t* info, void* context) {
    Worker* worker = this_worker();
    if (worker != nullptr && worker->in_kernel()) worker->crashed(signal, *info, interrupted(context));
    if (worker != nullptr && signal != kStopSignal) {
        constexpr char kText[] =
            "A kernel has overwritten memory of the program that runs it, which cannot go on.\n";
        (void)!write(STDERR_FILENO, kText, sizeof kText - 1);
        struct sigaction on_abort {};
        sigaction(SIGABRT, nullptr, &on_abort);
        if (on_abort.sa_handler != SIG_DFL) (void)raise(SIGABRT);  // the program has something to do first
        _exit(2);
    }
    if (signal == kStopSignal) return;  // came too late: the thread had returned
    struct sigaction fallback {};
    fallback.sa_handler = SIG_DFL;  // not a kernel's fault: let it happen again, for good
    sigaction(signal, &fallback, nullptr);
}

}  // namespace

void Escape::leave(Block& block, int number, const siginfo_t& info, const void* at) {
    signal = number;
    instruction = at;
    address = info.si_addr;
    // x86-64 does not tell an address that no memory can have; aarch64 does, but for its highest byte.
    address_known = info.si_code != SI_KERNEL && reinterpret_cast<std::uintptr_t>(address) < kBeyondMemory;
    block.leave();
    siglongjmp(back, 1);
}

BlockFailure Escape::why(const Block& block) const {
    using gemm::FaultId;
    stop_observing();
    if (signal == kStopSignal && stopped != nullptr) return {FaultId::foreign_write, stopped};
    if (signal == kStopSignal) {
        return {FaultId::endless_loop, "neither returned nor reached a barrier for " +
                                           seconds(block.hang_seconds()) + ": probably an endless loop." +
                                           (block.may_spin() ? kSpins : "")};
    }
    if (block.stacks().is_guard(address)) {
        return {FaultId::stack_overflow, stack_overflow_text()};
    }
    if (signal == SIGFPE || signal == SIGTRAP) {  // SIGTRAP: see cmake/lesson.cmake
        std::string at;
        if (Observer* o = observer(); o != nullptr && instruction != nullptr)
            at = " at " + o->line_of(instruction);
        return {FaultId::division_by_zero,
                "integer division by zero" + at +
                    ". (A GPU does not stop there: it goes on with a value that nobody specifies.)"};
    }
    if (signal == SIGILL) return {FaultId::other, "illegal instruction."};
    if (!address_known)
        return {FaultId::wild_pointer, "access to an address that no memory can have (a wild pointer)."};
    if (reinterpret_cast<std::uintptr_t>(address) < kNullPage)
        return {FaultId::null_pointer, "access through a null pointer."};
    char text[32];
    std::snprintf(text, sizeof text, "%p", address);
    const std::string access = std::string("access to address ") + text;
    if (is_device_memory(address))
        return {FaultId::beyond_allocations, access + ", outside everything that cudaMalloc gave."};
    return {FaultId::wild_pointer, access + ", which is not mapped."};
}

CrashHandlers::CrashHandlers() {
    struct sigaction ours {};
    ours.sa_sigaction = on_signal;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &ours, &before_[i]);
}

CrashHandlers::~CrashHandlers() {
    for (std::size_t i = 0; i < kCrashes.size(); ++i) sigaction(kCrashes[i], &before_[i], nullptr);
}

}  // namespace cpu_device
