#include "common/cpu/execution/tolerance.hpp"

#include <map>
#include <mutex>
#include <utility>

namespace cpu_device {
namespace {

struct Memory {
    std::mutex mutex;  // of several workers
    bool tolerant = false;
    std::vector<Tolerated> all;
    std::map<std::pair<gemm::FaultId, std::string>, std::size_t> at;  // where in `all`
};
Memory& memory() {
    static Memory m;
    return m;
}

}  // namespace

void set_tolerant(bool tolerant) {
    Memory& m = memory();
    m.tolerant = tolerant;
    m.all.clear();
    m.at.clear();
}

bool tolerant() {
    return memory().tolerant;
}

bool tolerates(gemm::FaultId id, const std::string& place, const std::string& text) {
    Memory& m = memory();
    const std::scoped_lock lock(m.mutex);
    if (!m.tolerant) return false;
    const auto [entry, fresh] = m.at.try_emplace({id, place}, m.all.size());
    if (fresh) {
        m.all.push_back({id, text});
    } else {
        ++m.all[entry->second].count;
    }
    return true;
}

std::vector<Tolerated> tolerated() {
    return memory().all;
}

}  // namespace cpu_device
