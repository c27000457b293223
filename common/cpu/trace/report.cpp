// What end() says of what was collected: by line of source instead of by instruction, in an order that does
// not depend on which worker was faster.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "common/cpu/trace/places.hpp"
#include "common/cpu/trace/session.hpp"
#include "common/cpu/trace/words.hpp"

namespace cpu_device::trace {
namespace {

using gemm::ptx::Major;

void show_example(Line& line, const Example& example) {
    line.example_block = example.block;
    line.example_warp = example.warp;
    line.map = example.map;
    for (int lane = 0; lane < kWarp; ++lane) {
        if ((example.lanes >> lane & 1u) == 0) continue;
        line.example_offsets.push_back(example.offsets[line.example_lanes.size()]);
        line.example_lanes.push_back(lane);
    }
}

/// The compiler may have made several instructions of a line (unrolling): they are one line again here.
std::vector<Line> lines_of(const Session& s) {
    std::map<std::tuple<std::string, int, std::string, bool, bool, int, bool>,
             std::pair<Line, const Example*>>
        lines;
    for (const auto& [array, key, c] : s.named) {
        const bool shared = key.flags & kShared, store = key.flags & kStore,
                   matrix_rows = key.flags & kMatrixRow;
        const Place& p = place_of(key.site);
        auto& [line, example] = lines[{p.file, p.line, array, shared, store, key.width, matrix_rows}];
        line.file = p.file;
        line.line = p.line;
        line.array = array;
        line.shared = shared;
        line.store = store;
        line.width = key.width;
        line.matrix_rows = matrix_rows;
        line.requests += c.requests;
        line.threads += c.threads;
        line.bytes += c.threads * key.width + c.box_bytes;
        (shared ? line.wavefronts : line.sectors) += c.units;
        (shared ? line.ideal_wavefronts : line.ideal_sectors) += c.ideal;
        line.diverged |= c.diverged;
        if (example == nullptr || c.example.comes_before(*example)) example = &c.example;
    }
    std::vector<Line> all;
    for (auto& [place, with_example] : lines) {
        show_example(all.emplace_back(std::move(with_example.first)), *with_example.second);
    }
    return all;
}

/// A line may be several instructions here, too.
std::vector<Multiplication> multiplications_of(const Session& s) {
    std::map<std::tuple<std::string, int, int, bool, Major, Major>, Multiplied> lines;
    for (const auto& [key, multiplied] : s.multiplied) {
        const Place& p = place_of(key.site);
        lines[{p.file, p.line, key.columns, key.a_in_registers, key.major_a, key.major_b}].add(multiplied);
    }
    std::vector<Multiplication> all;
    for (const auto& [key, m] : lines) {
        Multiplication& one = all.emplace_back();
        std::tie(one.file, one.line, one.columns, one.a_in_registers, one.major_a, one.major_b) = key;
        one.count = m.count;
        one.shared_bytes = m.shared_bytes;
        one.a = m.a;
        one.b = m.b;
    }
    return all;
}

bool same_place(const Finding::Side& a, const Finding::Side& b) {
    return a.file == b.file && a.line == b.line;
}

std::vector<Finding> findings_of(const Session& s) {
    std::vector<std::pair<FindingKey, const Found*>> found;
    for (const auto& [key, f] : s.findings) found.emplace_back(key, &f);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second->finding.block, a.second->order) <
               std::pair(b.second->finding.block, b.second->order);
    });
    std::vector<Finding> findings;
    for (const auto& [key, f] : found) {
        const Place& here = place_of(key.site);
        Finding finding = f->finding;
        finding.access.file = here.file;
        finding.access.line = here.line;
        if (finding.other) {
            const Place& before = place_of(key.other);
            finding.other->file = before.file;
            finding.other->line = before.line;
        }
        finding.count = f->count;
        const std::int64_t beyond = finding.beyond = f->astray ? 0 : f->beyond;
        // Two instructions of one pair of lines are one finding.
        const auto same = std::find_if(findings.begin(), findings.end(), [&](const Finding& x) {
            return x.id == finding.id && same_place(x.access, finding.access) &&
                   x.other.has_value() == finding.other.has_value() &&
                   (!x.other || same_place(*x.other, *finding.other));
        });
        if (same == findings.end()) {
            finding.text = text_of(finding);
            findings.push_back(std::move(finding));
            continue;
        }
        same->count += f->count;
        same->beyond = same->beyond == 0 || beyond == 0 ? 0 : std::max(same->beyond, beyond);
    }
    return findings;
}

}  // namespace

Report end() {
    set_observer(nullptr);
    Session& s = *session;
    Report r;
    r.kernel = s.kernel;
    r.blocks = s.blocks;
    r.traced_blocks = s.traced_blocks;
    r.threads_per_block = s.threads_per_block;
    r.block = s.block;
    r.grid = s.grid_dim;
    r.launches = s.launches;
    r.set_by_host = s.set_by_host;
    if (s.traced_blocks > 0)
        r.barriers_per_thread = static_cast<double>(s.barriers) / static_cast<double>(s.traced_blocks);
    s.name_counts();
    r.lines = lines_of(s);
    r.multiplications = multiplications_of(s);
    r.owners_block = s.owners.empty() ? 0 : s.owners_block;
    r.owners = std::move(s.owners);
    r.findings = findings_of(s);
    r.histories = s.kept_histories.take(r.findings);
    session = nullptr;
    return r;
}

}  // namespace cpu_device::trace
