// The device's memory: what cudaMalloc gives out, the variables of the device, and the host's copies to and
// from both.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/execution/host_api.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/error.hpp"
#include "common/facts.hpp"
#include "common/host_memory.hpp"

// The linker's: where the sections begin and end that cuda_runtime.h names; null where a program has none.
extern "C" {
[[gnu::weak]] extern char __start_cpu_device_variables[], __stop_cpu_device_variables[];
[[gnu::weak]] extern char __start_cpu_device_inline_variables[], __stop_cpu_device_inline_variables[];
}

namespace cpu_device {
namespace {

/// Device memory is a range of addresses of its own, so that a host pointer in a kernel can be told from it,
/// and no address is used twice, so that a pointer to freed memory crashes instead of finding something else.
class DeviceMemory {
  public:
    DeviceMemory() {
        void* range = MAP_FAILED;
        // 39 bits are all the addresses that some kernels for aarch64 give a program.
        for (range_ = kMostRange; range_ >= kLeastRange; range_ /= 2) {
            range = mmap(nullptr, range_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range != MAP_FAILED) break;
        }
        if (range == MAP_FAILED)
            throw gemm::Error("The address space is too small for the CPU device (ulimit -v?).");
        begin_ = next_ = static_cast<std::byte*>(range);
    }

    void* allocate(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        const std::size_t pages = (bytes + page_ - 1) / page_ * page_;
        if (pages + page_ > static_cast<std::size_t>(begin_ + range_ - next_)) return nullptr;
        if (!hidden() && mprotect(next_, pages, PROT_READ | PROT_WRITE) != 0) return nullptr;
        std::byte* const start = next_;
        next_ += pages + page_;  // an unmapped page between any two
        sizes_[start] = bytes;
        return start;
    }
    /// Whether something that was given and not freed has this address, or it is in the last page of that.
    bool holds(const void* address) {
        const std::scoped_lock lock(mutex_);
        const auto* const byte = static_cast<const std::byte*>(address);
        auto next = sizes_.upper_bound(const_cast<std::byte*>(byte));
        if (next == sizes_.begin()) return false;
        const auto& [start, bytes] = *--next;
        return byte < start + (bytes + page_ - 1) / page_ * page_;
    }
    bool free(void* pointer) {
        const std::scoped_lock lock(mutex_);
        const auto found = sizes_.find(static_cast<std::byte*>(pointer));
        if (found == sizes_.end()) return false;
        const std::size_t pages = (found->second + page_ - 1) / page_ * page_;
        mmap(pointer, pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        sizes_.erase(found);
        return true;
    }
    std::vector<Allocation> allocations() {
        const std::scoped_lock lock(mutex_);
        std::vector<Allocation> all;
        for (const auto& [start, bytes] : sizes_) all.push_back({start, bytes});
        return all;
    }
    /// Whether all of it lies in one allocation.
    bool holds(const void* start, std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        const auto* const first = static_cast<const std::byte*>(start);
        auto found = std::upper_bound(sizes_.begin(), sizes_.end(), first,
                                      [](const std::byte* a, const auto& b) { return a < b.first; });
        if (found == sizes_.begin()) return false;
        --found;
        const auto offset = static_cast<std::size_t>(first - found->first);
        return offset <= found->second && bytes <= found->second - offset;
    }
    /// See Hidden and Reach: so many more of each, or fewer.
    void hide(int code, int reach) {
        const std::scoped_lock lock(mutex_);
        const bool before = hidden();
        code_ += code;
        reach_ += reach;
        if (hidden() == before) return;
        const int may = before ? PROT_READ | PROT_WRITE : PROT_NONE;
        for (const auto& [start, bytes] : sizes_) mprotect(start, (bytes + page_ - 1) / page_ * page_, may);
    }
    bool contains(const void* address) const {
        const auto* a = static_cast<const std::byte*>(address);
        return a >= begin_ && a < begin_ + range_;
    }

  private:
    bool hidden() const { return code_ > 0 && reach_ == 0; }

    static constexpr std::size_t kMostRange = std::size_t{1} << 44, kLeastRange = std::size_t{1} << 36;
    const std::size_t page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t range_ = 0;
    std::byte *begin_ = nullptr, *next_ = nullptr;
    std::mutex mutex_;
    std::map<std::byte*, std::size_t> sizes_;
    int code_ = 0, reach_ = 0;
};
DeviceMemory& device_memory() {
    static DeviceMemory memory;
    return memory;
}

/// Whether all of it lies in one of the sections of the device's variables.
bool among_variables(const void* start, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(start);
    const auto in = [&](const char* begin, const char* end) {
        return first >= reinterpret_cast<std::uintptr_t>(begin) &&
               first < reinterpret_cast<std::uintptr_t>(end) &&
               bytes <= reinterpret_cast<std::uintptr_t>(end) - first;
    };
    return in(__start_cpu_device_variables, __stop_cpu_device_variables) ||
           in(__start_cpu_device_inline_variables, __stop_cpu_device_inline_variables);
}

/// What is wrong with reading or writing the range. `device`: it must be the device's memory.
cudaError_t refusal_of(const void* start, std::size_t bytes, bool device) {
    if (start == nullptr) return cudaErrorInvalidValue;
    if (among_variables(start, bytes)) return cudaSuccess;
    if (!device && !device_memory().contains(start)) return cudaSuccess;
    return device_memory().holds(start, bytes) ? cudaSuccess : cudaErrorInvalidValue;
}

/// From the first byte of the first row to the last of the last; more than any memory where it is.
std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
    std::size_t rows = 0, bytes = 0;
    const bool fits =
        !__builtin_mul_overflow(height - 1, pitch, &rows) && !__builtin_add_overflow(rows, width, &bytes);
    return fits ? bytes : ~std::size_t{0};
}

/// The host has written to the device's memory.
void written(const void* start, std::size_t bytes) {
    if (!is_device_memory(start)) return;
    ++steps_taken().host_writes;
    if (Observer* o = observer()) o->host_writes(start, bytes);
}

/// What is wrong with copying `height` rows of `width` bytes.
cudaError_t refusal_of(const void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                       std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
    if (width > to_pitch || width > from_pitch) return cudaErrorInvalidPitchValue;
    if (width == 0 || height == 0) return cudaSuccess;
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    const cudaError_t status = refusal_of(to, extent(to_pitch, width, height), to_device);
    return status != cudaSuccess ? status : refusal_of(from, extent(from_pitch, width, height), from_device);
}

}  // namespace

bool is_device_memory(const void* address) {
    return device_memory().contains(address) || among_variables(address, 1);
}

bool is_allocated(const void* address) {
    return device_memory().holds(address) || among_variables(address, 1);
}

Reach::Reach() {
    device_memory().hide(0, 1);
}
Reach::~Reach() {
    device_memory().hide(0, -1);
}

namespace {

thread_local sigjmp_buf* way_out = nullptr;  // of host code that runs
struct sigaction before_us;

void on_access(int number, siginfo_t* info, void*) {
    if (way_out != nullptr && device_memory().contains(info->si_addr)) siglongjmp(*way_out, 1);
    sigaction(number, &before_us, nullptr);  // somebody else's matter: it happens again, for them
}

/// Hides the device's memory, and waits for who reaches for it nevertheless.
class Hidden {
  public:
    Hidden() {
        struct sigaction ours {};
        ours.sa_sigaction = on_access;
        ours.sa_flags = SA_SIGINFO;
        sigemptyset(&ours.sa_mask);
        sigaction(SIGSEGV, &ours, &before_us);
        device_memory().hide(1, 0);
    }
    ~Hidden() {
        device_memory().hide(-1, 0);
        way_out = nullptr;
        sigaction(SIGSEGV, &before_us, nullptr);
    }
    Hidden(const Hidden&) = delete;
    Hidden& operator=(const Hidden&) = delete;
};

}  // namespace

void run_on_host(const char* what, const std::function<void()>& code) {
    sigjmp_buf back;
    const Hidden hidden;
    if (sigsetjmp(back, 1) == 0) {
        way_out = &back;
        code();
        return;
    }
    throw gemm::Fault(gemm::FaultId::host_access,
                      std::string(what) +
                          " reads or writes device memory itself, outside of a kernel: a GPU's host ends the "
                          "program there.");
}

cudaError_t reserve(void** pointer, std::size_t bytes) {
    *pointer = device_memory().allocate(bytes);
    return remember(*pointer ? cudaSuccess : cudaErrorMemoryAllocation, "cudaMalloc");
}

std::vector<Allocation> allocations() {
    return device_memory().allocations();
}

cudaError_t symbol_address(void** address, const void* variable, std::size_t bytes) {
    constexpr auto kFunction = "cudaGetSymbolAddress";
    if (address == nullptr) return remember(cudaErrorInvalidValue, kFunction);
    if (!among_variables(variable, bytes)) return remember(cudaErrorInvalidSymbol, kFunction);
    *address = const_cast<void*>(variable);
    return cudaSuccess;
}

namespace {

/// Where `bytes` of the variable, from `offset` on, are.
cudaError_t part_of_symbol(std::byte** part, const void* variable, std::size_t size, std::size_t bytes,
                           std::size_t offset) {
    void* address = nullptr;
    if (const cudaError_t status = symbol_address(&address, variable, size); status != cudaSuccess)
        return status;
    if (offset > size || bytes > size - offset) return cudaErrorInvalidValue;
    *part = static_cast<std::byte*>(address) + offset;
    return cudaSuccess;
}

}  // namespace

cudaError_t copy_to_symbol(const void* variable, std::size_t size, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    constexpr auto kFunction = "cudaMemcpyToSymbol";
    std::byte* part = nullptr;
    const cudaError_t status = part_of_symbol(&part, variable, size, bytes, offset);
    if (status != cudaSuccess) return remember(status, kFunction);
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return remember(cudaErrorInvalidMemcpyDirection, kFunction);
    return remember(cudaMemcpyAsync(part, from, bytes, kind, stream), kFunction);
}

cudaError_t copy_from_symbol(void* to, const void* variable, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream) {
    constexpr auto kFunction = "cudaMemcpyFromSymbol";
    std::byte* part = nullptr;
    const cudaError_t status = part_of_symbol(&part, variable, size, bytes, offset);
    if (status != cudaSuccess) return remember(status, kFunction);
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        return remember(cudaErrorInvalidMemcpyDirection, kFunction);
    return remember(cudaMemcpyAsync(to, part, bytes, kind, stream), kFunction);
}

}  // namespace cpu_device

using namespace cpu_device;  // what follows is CUDA's global namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    if (bytes > gemm::available_host_memory()) return remember(cudaErrorMemoryAllocation);
    *pointer = device_memory().allocate(bytes);
    return remember(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
    return remember(is_stream(stream) ? cudaMalloc(pointer, bytes) : cudaErrorInvalidResourceHandle);
}
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned) {
    if (pointer == nullptr) return remember(cudaErrorInvalidValue);
    *pointer = std::malloc(bytes > 0 ? bytes : 1);
    return remember(*pointer ? cudaSuccess : cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* pointer) {
    std::free(pointer);
    return cudaSuccess;
}
cudaError_t cudaFree(void* pointer) {
    if (pointer == nullptr || device_memory().free(pointer)) return cudaSuccess;
    return remember(cudaErrorInvalidValue);  // a host pointer, or freed twice
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
    return remember(is_stream(stream) ? cudaFree(pointer) : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    return remember(cudaMemcpyAsync(to, from, bytes, kind, nullptr));
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return remember(cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream));
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind kind) {
    return remember(cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, kind, nullptr));
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
    if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    if (const cudaError_t status = refusal_of(to, to_pitch, from, from_pitch, width, height, kind);
        status != cudaSuccess) {
        return remember(status);
    }
    if (way_out != nullptr && width > 0 && device_memory().contains(from) && !is_device_memory(to)) {
        throw gemm::Fault(
            gemm::FaultId::host_access,
            "launch() or prepare() copies device memory to the host, and has nothing to do with "
            "what is there.");
    }
    const Reach reach;
    for (std::size_t row = 0; row < height && width > 0; ++row) {
        std::byte* const start = static_cast<std::byte*>(to) + row * to_pitch;
        std::memmove(start, static_cast<const std::byte*>(from) + row * from_pitch, width);
        written(start, width);
    }
    return cudaSuccess;
}

cudaError_t cudaMemset(void* pointer, int byte, std::size_t bytes) {
    return remember(cudaMemsetAsync(pointer, byte, bytes, nullptr));
}
cudaError_t cudaMemsetAsync(void* pointer, int byte, std::size_t bytes, cudaStream_t stream) {
    return remember(cudaMemset2DAsync(pointer, bytes, byte, bytes, 1, stream));
}
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int byte, std::size_t width, std::size_t height) {
    return remember(cudaMemset2DAsync(pointer, pitch, byte, width, height, nullptr));
}
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int byte, std::size_t width,
                              std::size_t height, cudaStream_t stream) {
    if (!is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    if (width == 0 || height == 0) return cudaSuccess;
    if (width > pitch) return remember(cudaErrorInvalidValue);
    if (const cudaError_t status = refusal_of(pointer, extent(pitch, width, height), true);
        status != cudaSuccess)
        return remember(status);
    const Reach reach;
    for (std::size_t row = 0; row < height; ++row) {
        std::byte* const start = static_cast<std::byte*>(pointer) + row * pitch;
        std::memset(start, byte, width);
        written(start, width);
    }
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
    *free = *total = gemm::available_host_memory();
    return cudaSuccess;
}
