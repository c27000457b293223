// cp.async: copies of a block's threads that nobody has waited for yet.
#pragma once

#include <cstddef>
#include <vector>

namespace cpu_device {

struct Copy {
    const void* caller;  // return address into the kernel
    void* shared;
    const void* global;
    int bytes, valid;  // the rest is filled with zeros
};

class Copies {
  public:
    /// For a block of so many threads; forgets those of the one before.
    void begin_block(std::size_t threads);
    /// Throws gemm::Error for a copy that no GPU would do.
    void start(int thread, const Copy& copy);
    void commit(int thread);
    /// Ends the thread's groups but for the newest `pending`; the open group is not waited for.
    void wait(int thread, int pending);

  private:
    /// Oldest first.
    struct OfThread {
        std::vector<Copy> copies;
        std::vector<std::size_t> groups;  // sizes of those committed
        std::size_t open = 0;             // copies in none of them
    };
    static void end(const Copy& copy);
    OfThread& of(int thread);

    std::size_t threads_ = 0;
    bool used_ = false;
    std::vector<OfThread> of_thread_;  // empty unless blocks copy
};

}  // namespace cpu_device
