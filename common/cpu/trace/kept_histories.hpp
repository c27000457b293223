// Which histories a report has: while blocks run nobody knows in which of them something will be found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/trace/block_history.hpp"
#include "common/cpu/trace/findings.hpp"

namespace cpu_device::trace {

class KeptHistories {
  public:
    /// A launch of so many blocks begins.
    void begin(const Histories& asked, const Grid& grid, std::uint64_t blocks);
    /// Of a block, or those of a cluster. `findings`: of all blocks so far, with those of this one.
    void put(std::vector<BlockHistory> histories, bool failed, bool found, const FindingMap& findings);
    /// As many as were asked for.
    std::vector<BlockHistory> take(const std::vector<Finding>& findings);

  private:
    struct Entry {
        std::vector<BlockHistory> histories;
        bool failed = false, spread = false;
        bool holds(std::uint64_t block) const;
    };

    std::size_t wanted_ = 0;
    std::set<std::uint64_t> spread_;          // blocks
    std::map<std::uint64_t, Entry> entries_;  // by the first of their blocks
};

}  // namespace cpu_device::trace
