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

bool in_step = false, least = false;

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

void set_lanes_in_step(bool on) {
    in_step = on;
}

bool lanes_in_step() {
    return in_step;
}

void set_least_aligned(bool on) {
    least = on;
}

bool least_aligned() {
    return least;
}

std::vector<Tolerated> tolerated() {
    return memory().all;
}

}  // namespace cpu_device
