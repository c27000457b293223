#include "common/cpu/trace/session.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace cpu_device::trace {

Session* session = nullptr;

void Session::launch_begins(const Grid& grid, std::uint64_t count) {
    kernel = grid.kernel;
    blocks = count;
    threads_per_block = std::uint64_t{grid.block.x} * grid.block.y * grid.block.z;
    block = {grid.block.x, grid.block.y, grid.block.z};
    globals.clear();
    allocations.clear();
    for (const Matrix& m : matrices) {
        if (m.rows == 0 || m.cols == 0) continue;
        const Address start = address_of(m.start);
        const auto size = static_cast<Address>(((m.rows - 1) * m.pitch + m.cols) * m.element_bytes);
        globals.push_back({m.name, start, start + size, &m});
    }
    const std::size_t named = globals.size();
    for (const Allocation& a : cpu_device::allocations()) {
        const Address start = address_of(a.start);
        allocations.push_back({"allocation", start, start + a.bytes, nullptr});
        const bool holds_matrix =
            std::any_of(globals.begin(), globals.begin() + static_cast<long>(named),
                        [&](const Array& g) { return g.start >= start && g.end <= start + a.bytes; });
        if (!holds_matrix) globals.push_back({"global memory", start, start + a.bytes, nullptr});
    }
}

void begin(std::vector<Matrix> matrices, std::size_t most_steps) {
    if (!hooked) throw gemm::Error("This program's kernels were compiled without the access hooks.");
    static std::unique_ptr<Session> current;
    current = std::make_unique<Session>();
    current->matrices = std::move(matrices);
    current->most_steps = most_steps;
    session = current.get();
    set_observer(&tracer());
}

}  // namespace cpu_device::trace
