#include "common/cpu/trace/session.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/cpu/execution/device.hpp"
#include "common/cpu/trace/places.hpp"
#include "common/error.hpp"

namespace cpu_device::trace {

Session* session = nullptr;

namespace {
Address bytes_of(const Matrix& m) {
    return static_cast<Address>(m.bytes((m.rows - 1) * m.pitch + m.cols));
}
}  // namespace

void Session::name_counts() {
    for (const auto& [key, of_it] : counts)
        named.push_back({(key.flags & kShared ? shared : globals)[key.array].name, key, of_it});
    counts.clear();
    shared.clear();
}

void Session::launch_begins(const Grid& grid, std::uint64_t count) {
    ++launches;
    name_counts();
    fenced = false;
    order.begin(grid.blocks_wait);
    if (owners.empty()) owners_block = ~std::uint64_t{0};  // a launch before has stored to no matrix
    kernel = grid.kernel;
    blocks = count;
    threads_per_block = std::uint64_t{grid.block.x} * grid.block.y * grid.block.z;
    block = {grid.block.x, grid.block.y, grid.block.z};
    grid_dim = {grid.grid.x, grid.grid.y, grid.grid.z};
    kept_histories.begin(histories, grid, count);
    globals.clear();
    allocations.clear();
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        const Matrix& m = matrices[i];
        if (m.rows == 0 || m.cols == 0) continue;
        const Address start = address_of(m.start);
        globals.push_back({m.name, start, start + bytes_of(m), &m, written[i].get()});
    }
    const std::size_t named = globals.size();
    for (const Allocation& a : cpu_device::allocations()) {
        const Address start = address_of(a.start);
        allocations.push_back({"allocation", start, start + a.bytes});
        const bool holds_matrix =
            std::any_of(globals.begin(), globals.begin() + static_cast<long>(named),
                        [&](const Array& g) { return g.start >= start && g.end <= start + a.bytes; });
        if (!holds_matrix) globals.push_back({"global memory", start, start + a.bytes});
    }
    for (const Variable& v : device_variables(grid.function)) {
        globals.push_back({v.name, address_of(v.start), address_of(v.start) + v.bytes});
    }
}

void Session::host_writes(Address start, Address bytes) {
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        if (!written[i]) continue;
        const Address first = address_of(matrices[i].start), last = first + bytes_of(matrices[i]);
        const Address begin = std::max(start, first), end = std::min(start + bytes, last);
        if (begin >= end) continue;
        set_by_host = true;
        written[i]->put(begin - first, end - begin, Written::mark(launches, 0, false),
                        [](Written::Mark) { return false; });
    }
}

void begin(std::vector<Matrix> matrices, std::size_t most_steps, Histories histories) {
    if (!hooked) throw gemm::Error("This program's kernels were compiled without the access hooks.");
    get_places_ready();
    static std::unique_ptr<Session> current;
    current = std::make_unique<Session>();
    current->matrices = std::move(matrices);
    for (const Matrix& m : current->matrices) {
        const bool may_be = m.writable && m.rows > 0 && m.cols > 0;
        current->written.push_back(may_be ? std::make_unique<Written>(m) : nullptr);
    }
    current->most_steps = most_steps;
    current->histories = std::move(histories);
    session = current.get();
    set_observer(&tracer());
}

}  // namespace cpu_device::trace
