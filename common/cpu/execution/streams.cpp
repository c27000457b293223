// Streams and events. What is put into a stream is done at once, so that nothing is left to wait for; what
// remains are CUDA's rules about handles.
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "common/cpu/execution/host_api.hpp"
#include "common/cpu/execution/tolerance.hpp"

struct CUstream_st {};
struct CUevent_st {
    bool timed;
    bool recorded = false;
};

namespace cpu_device {
namespace {

/// Handles that were created and not destroyed.
template <class T>
class Handles {
  public:
    T* create(T made) {
        const std::scoped_lock lock(mutex_);
        auto owned = std::make_unique<T>(made);
        T* const handle = owned.get();
        all_.emplace(handle, std::move(owned));
        return handle;
    }
    bool destroy(T* handle) {
        const std::scoped_lock lock(mutex_);
        return all_.erase(handle) > 0;
    }
    bool contains(T* handle) {
        const std::scoped_lock lock(mutex_);
        return all_.contains(handle);
    }

  private:
    std::mutex mutex_;
    std::map<T*, std::unique_ptr<T>> all_;
};
Handles<CUstream_st>& streams() {
    static Handles<CUstream_st> all;
    return all;
}
Handles<CUevent_st>& events() {
    static Handles<CUevent_st> all;
    return all;
}

cudaError_t known(bool is, const char* function = __builtin_FUNCTION()) {
    return remember(is ? cudaSuccess : cudaErrorInvalidResourceHandle, function);
}

}  // namespace

bool is_stream(cudaStream_t stream) {
    return stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread ||
           streams().contains(stream);
}

}  // namespace cpu_device

using namespace cpu_device;  // what follows is CUDA's global namespace

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
    return remember(cudaStreamCreateWithFlags(stream, cudaStreamDefault));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    if (stream == nullptr || flags > cudaStreamNonBlocking) return remember(cudaErrorInvalidValue);
    *stream = streams().create({});
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
    return remember(cudaStreamCreateWithFlags(stream, flags));
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    return known(streams().destroy(stream));
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    return known(is_stream(stream));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
    return known(is_stream(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    return known(is_stream(stream) && events().contains(event));
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    return remember(cudaEventCreateWithFlags(event, cudaEventDefault));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
    if (event == nullptr || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0)
        return remember(cudaErrorInvalidValue);
    *event = events().create({.timed = (flags & cudaEventDisableTiming) == 0});
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
    return known(events().destroy(event));
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    if (!events().contains(event) || !is_stream(stream)) return remember(cudaErrorInvalidResourceHandle);
    event->recorded = true;
    return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    return known(events().contains(event));
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
    return known(events().contains(event));
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    if (milliseconds == nullptr) return remember(cudaErrorInvalidValue);
    for (const cudaEvent_t event : {start, end}) {
        if (!events().contains(event) || !event->timed || !event->recorded)
            return remember(cudaErrorInvalidResourceHandle);
    }
    if (!tolerant()) return remember(cudaErrorNotSupported);
    // A launcher that times itself goes on with a time that is none.
    *milliseconds = std::numeric_limits<float>::quiet_NaN();
    return cudaSuccess;
}
