#include "common/cpu/trace/divergence.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace cpu_device::trace {
namespace {

constexpr int kEntry = 0, kExit = 1;  // numbers of basic blocks
using Edges = std::vector<std::vector<int>>;

std::size_t index(int n) {
    return static_cast<std::size_t>(n);
}

/// The lanes of a mask, from the lowest on.
class Each {
  public:
    explicit Each(std::uint32_t mask) : mask_(mask) {}
    struct Iterator {
        std::uint32_t left;
        std::size_t operator*() const { return static_cast<std::size_t>(std::countr_zero(left)); }
        Iterator& operator++() {
            left &= left - 1;
            return *this;
        }
        bool operator!=(const Iterator& other) const { return left != other.left; }
    };
    Iterator begin() const { return {mask_}; }
    Iterator end() const { return {0}; }

  private:
    std::uint32_t mask_;
};

/// Nodes from which kExit can be reached, in postorder of the reversed graph.
std::vector<int> reversed_postorder(const Edges& next) {
    Edges before(next.size());
    for (std::size_t n = 0; n < next.size(); ++n) {
        for (const int to : next[n]) before[index(to)].push_back(static_cast<int>(n));
    }
    std::vector<int> order;
    std::vector<std::pair<int, std::size_t>> stack{{kExit, 0}};
    std::vector<bool> seen(next.size(), false);
    seen[kExit] = true;
    while (!stack.empty()) {
        auto& [node, done] = stack.back();
        const auto& froms = before[index(node)];
        if (done == froms.size()) {
            order.push_back(node);
            stack.pop_back();
            continue;
        }
        const int from = froms[done++];
        if (seen[index(from)]) continue;
        seen[index(from)] = true;
        stack.emplace_back(from, 0);
    }
    return order;
}

/// Immediate post-dominator of every node (Cooper, Harvey, Kennedy: "A Simple, Fast Dominance Algorithm",
/// 2001, on the reversed graph). kExit's is itself.
std::vector<int> post_dominators(const Edges& next) {
    const std::vector<int> order = reversed_postorder(next);
    std::vector<int> rank(next.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) rank[index(order[i])] = static_cast<int>(i);
    std::vector<int> join(next.size(), -1);
    join[kExit] = kExit;
    const auto meet = [&](int a, int b) {
        while (a != b) {
            while (rank[index(a)] < rank[index(b)]) a = join[index(a)];
            while (rank[index(b)] < rank[index(a)]) b = join[index(b)];
        }
        return a;
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (auto node = order.rbegin(); node != order.rend(); ++node) {
            if (*node == kExit) continue;
            int met = -1;
            for (const int to : next[index(*node)]) {
                if (join[index(to)] < 0) continue;
                met = met < 0 ? to : meet(met, to);
            }
            if (met == join[index(*node)]) continue;
            join[index(*node)] = met;
            changed = true;
        }
    }
    return join;
}

/// Numbers the sites that it is asked for, from 0 on.
class Numbers {
  public:
    std::size_t operator()(std::uint32_t site) {
        std::size_t at = place(site);
        if (table_[at].number >= 0) return index(table_[at].number);
        if (2 * ++count_ > table_.size()) {
            std::vector<Entry> before(2 * table_.size());
            before.swap(table_);
            for (const Entry& e : before) {
                if (e.number >= 0) table_[place(e.site)] = e;
            }
            at = place(site);
        }
        table_[at] = {site, static_cast<int>(count_) - 1};
        return count_ - 1;
    }

  private:
    struct Entry {
        std::uint32_t site = 0;
        int number = -1;
    };
    /// Where it is, or would be.
    std::size_t place(std::uint32_t site) const {
        const std::size_t mask = table_.size() - 1;
        std::size_t at = (site * 0x9e3779b97f4a7c15u >> 32) & mask;
        while (table_[at].number >= 0 && table_[at].site != site) at = (at + 1) & mask;
        return at;
    }
    std::vector<Entry> table_{64};  // a power of two
    std::size_t count_ = 0;
};

/// Says whether lanes executed an access's site different numbers of times.
class Times {
  public:
    Times(const Lanes& lanes, const Alike& alike) {
        for (std::size_t lane = 0; lane < kWarp; ++lane) {
            if (alike[lane] != lane) continue;
            for (const Access& a : lanes[lane]) {
                if (a.flags & kStep) continue;
                const std::size_t number = numbers_(a.site);
                if (number == of_site_.size()) of_site_.emplace_back();
                ++of_site_[number][lane];
            }
        }
    }
    bool differ(const Access& access) {
        const auto& of_lane = of_site_[numbers_(access.site)];
        const std::uint32_t most = *std::max_element(of_lane.begin(), of_lane.end());
        return std::any_of(of_lane.begin(), of_lane.end(),
                           [&](std::uint32_t t) { return t != 0 && t != most; });
    }

  private:
    Numbers numbers_;
    std::vector<std::array<std::uint32_t, kWarp>> of_site_;
};

}  // namespace

std::vector<Request> Divergence::requests(const Lanes& lanes, const Alike& alike) {
    Numbers numbers;  // of the basic blocks, which come behind kEntry and kExit
    Walk w{lanes, ways_};
    Edges next(2);
    const auto edge = [&](int from, int to) {
        auto& to_all = next[index(from)];
        if (std::find(to_all.begin(), to_all.end(), to) == to_all.end()) to_all.push_back(to);
    };
    std::uint32_t all = 0;
    for (std::size_t lane = 0; lane < kWarp; ++lane) {
        const auto& list = lanes[lane];
        auto& way = ways_[lane];
        way.clear();
        if (list.empty()) continue;
        w.alike[alike[lane]] |= 1u << lane;
        if (alike[lane] != lane) continue;
        all |= 1u << lane;
        way.push_back({kEntry, 0, 0});  // what comes before the first block that begins here
        for (std::size_t i = 0; i < list.size(); ++i) {
            if ((list[i].flags & kStep) == 0) {
                way.back().last = i + 1;
                continue;
            }
            const std::size_t block = kExit + 1 + numbers(list[i].site);
            if (block == next.size()) next.emplace_back();
            edge(way.back().block, static_cast<int>(block));
            way.push_back({static_cast<int>(block), i + 1, i + 1});
        }
        edge(way.back().block, kExit);
    }
    w.joins = post_dominators(next);
    std::vector<Request> requests = walk(w, all, kExit);
    Times times(lanes, alike);
    for (Request& r : requests) r.diverged = times.differ(r.access);
    return requests;
}

int Divergence::Walk::block_of(std::size_t lane) const {
    return at[lane] < ways[lane].size() ? ways[lane][at[lane]].block : kExit;
}

/// What the lanes do in the block in which they are, together. The interval may end in the middle of a block
/// (a barrier), and a pointer may lead some lanes to another array.
void Divergence::Walk::stay(std::uint32_t mask, std::vector<Request>& requests) const {
    const auto stay_of = [&](std::size_t lane) { return ways[lane][at[lane]]; };
    std::uint32_t left = mask;
    for (std::size_t i = 0; left != 0; ++i) {
        for (const std::size_t lane : Each(left)) {
            if (stay_of(lane).first + i >= stay_of(lane).last) left &= ~(1u << lane);
        }
        for (std::uint32_t waiting = left; waiting != 0;) {
            const auto leader = static_cast<std::size_t>(std::countr_zero(waiting));
            Request r{lanes[leader][stay_of(leader).first + i], 0, {}};
            for (const std::size_t lane : Each(waiting)) {
                const std::size_t same_place = stay_of(lane).first + i;
                if (!same_instruction(lanes[lane][same_place], r.access)) continue;
                waiting &= ~(1u << lane);
                r.mask |= alike[lane];
                for (const std::size_t other : Each(alike[lane])) {
                    r.by_lane[other] = lanes[other][same_place].address;
                }
            }
            if ((r.access.flags & (kStep | kNothing)) == 0) requests.push_back(r);
        }
    }
}

/// Walks the lanes in `mask`, which are all in the same block, up to the block `stop`; the requests on the
/// way.
std::vector<Request> Divergence::walk(Walk& w, std::uint32_t mask, int stop) {
    std::vector<Request> requests;
    while (mask != 0) {
        const int block = w.block_of(index(std::countr_zero(mask)));
        if (block == stop) break;
        w.stay(mask, requests);
        for (const std::size_t lane : Each(mask)) ++w.at[lane];
        const int next = w.block_of(index(std::countr_zero(mask)));
        bool together = true;
        for (const std::size_t lane : Each(mask)) together &= w.block_of(lane) == next;
        if (together) continue;
        std::map<int, std::uint32_t> parts;  // where they go next
        for (const std::size_t lane : Each(mask)) parts[w.block_of(lane)] |= 1u << lane;
        const int join = w.joins[index(block)];
        std::vector<Request> arms;
        for (const auto& [to, lanes] : parts) join_arms(arms, walk(w, lanes, join));
        requests.insert(requests.end(), arms.begin(), arms.end());
    }
    return requests;
}

/// Adds the requests of another arm of a branch. g++ may put a line's store into both arms, where nvcc
/// computes the value first and stores once: such pairs are one request.
void Divergence::join_arms(std::vector<Request>& arms, std::vector<Request>&& arm) {
    std::vector<bool> taken(arms.size(), false);
    for (Request& r : arm) {
        std::size_t i = 0;
        while (i < taken.size() &&
               (taken[i] || (arms[i].mask & r.mask) != 0 || !same_line(arms[i].access, r.access)))
            ++i;
        if (i == taken.size()) {
            arms.push_back(r);
            continue;
        }
        taken[i] = true;
        arms[i].mask |= r.mask;
        for (std::size_t lane = 0; lane < kWarp; ++lane) {
            if (r.mask >> lane & 1u) arms[i].by_lane[lane] = r.by_lane[lane];
        }
    }
}

/// The same array in the same way at the same place in the source.
bool Divergence::same_line(const Access& a, const Access& b) {
    return a.array == b.array && a.flags == b.flags && a.width == b.width &&
           (a.site == b.site || place(a.site) == place(b.site));
}

const Place& Divergence::place(std::uint32_t site) {
    const Place*& known = places_[site];
    if (known == nullptr) known = &place_of(site);
    return *known;
}

}  // namespace cpu_device::trace
