#include "runner/programs/history_json.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "runner/programs/descriptor_json.hpp"

namespace gemm {
namespace {

namespace trace = cpu_device::trace;
using trace::BlockHistory;
using What = BlockHistory::What;

Json index_json(std::uint32_t index) {
    return index == BlockHistory::kNone ? Json(nullptr) : Json(index);
}

Json array_json(const BlockHistory::Array& a) {
    const bool matrix = a.element_bytes > 0;
    const auto known = [](bool is, auto value) { return is ? Json(value) : Json(nullptr); };
    return {{"name", a.name},
            {"space", a.shared ? "shared" : "global"},
            {"rows", known(matrix, a.rows)},
            {"cols", known(matrix, a.cols)},
            {"pitch", known(matrix, a.pitch)},
            {"element_bytes", a.in_byte > 1 ? Json(1.0 / a.in_byte) : known(matrix, a.element_bytes)},
            {"bytes", a.bytes},
            {"offset", known(a.shared && !a.rank, a.offset)},
            {"rank", a.rank ? Json(*a.rank) : Json(nullptr)}};
}

/// Which of the report's lines the access is counted in.
Json line_of(const BlockHistory& history, const BlockHistory::Access& access,
             const std::vector<trace::Line>& lines) {
    const BlockHistory::Site& site = history.sites[access.site];
    const BlockHistory::Array& array = history.arrays[access.array];
    const std::string name = array.name + (array.rank ? " of another block" : "");
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const trace::Line& l) {
        return l.line == site.line && l.width == access.width && l.matrix_rows == access.matrix_rows &&
               l.store == access.store && l.shared == array.shared && l.array == name && l.file == site.file;
    });
    return found == lines.end() ? Json(nullptr) : Json(found - lines.begin());
}

Json access_json(const BlockHistory& history, const BlockHistory::Access& access,
                 const std::vector<trace::Line>& lines) {
    return {{"site", access.site},         {"line", line_of(history, access, lines)},
            {"array", access.array},       {"op", access.store ? "store" : "load"},
            {"width", access.width},       {"copy", access.copy},
            {"matrix", access.matrix_rows}};
}

Json copy_json(const BlockHistory::Copy& c) {
    return {{"access", index_json(c.access)},
            {"units", c.sectors},
            {"thread", c.thread},
            {"shared", index_json(c.shared)},
            {"offset", c.offset},
            {"bytes", c.bytes},
            {"barrier", index_json(c.barrier)},
            {"array", index_json(c.array)},
            {"row", c.row},
            {"col", c.col},
            {"rows", c.rows},
            {"cols", c.cols},
            {"element_bytes", c.element_bytes},
            {"swizzle", c.swizzle == 0 ? "none" : std::to_string(c.swizzle) + "B"},
            {"rank", c.rank}};
}

Json multiply_json(const BlockHistory& history, const BlockHistory::Multiply& m,
                   const std::vector<trace::Multiplication>& lines) {
    const BlockHistory::Site& site = history.sites[m.site];
    const auto found = std::find_if(lines.begin(), lines.end(), [&](const trace::Multiplication& l) {
        return l.line == site.line && l.columns == m.columns && l.a_in_registers == m.a_in_registers &&
               (l.major_a == ptx::Major::row) == m.a_rows && (l.major_b == ptx::Major::row) == m.b_rows &&
               l.file == site.file;
    });
    const auto place = [](const BlockHistory::Operand& o) {
        return o.array == BlockHistory::kNone
                   ? Json(nullptr)
                   : Json{{"array", o.array}, {"offset", o.offset}, {"places", o.places}};
    };
    return {{"site", m.site},
            {"wgmma", found == lines.end() ? Json(nullptr) : Json(found - lines.begin())},
            {"warpgroup", m.warpgroup},
            {"batch", m.batch},
            {"m", 64},
            {"n", m.columns},
            {"k", m.depth},
            {"a", place(m.a_place)},
            {"b", place(m.b_place)},
            {"a_descriptor", m.a_in_registers ? Json(nullptr) : Json(hex(m.a, 16))},
            {"b_descriptor", hex(m.b, 16)}};
}

/// In the order of What.
constexpr const char* kEvents[] = {
    "request",        "barrier",        "met",         "commit",  "copied", "begin", "expect", "arrive",
    "wait",           "passed",         "phase",       "box",     "landed", "wgmma", "summed", "mma",
    "cluster_arrive", "cluster_passed", "cluster_met", "returned"};
static_assert(std::size(kEvents) == static_cast<std::size_t>(What::returned) + 1);

Json request_json(const BlockHistory& history, const BlockHistory::Event& e) {
    Json all = {e.access, e.warp, e.pattern, e.base, e.count};
    if (e.from != BlockHistory::kNone) {
        const BlockHistory::Source& source = history.sources[e.from];
        for (const std::int64_t n : {std::int64_t{source.array}, std::int64_t{source.pattern}, source.base})
            all.push_back(n);
    }
    return all;
}

Json event_json(const BlockHistory& history, const BlockHistory::Event& e) {
    if (e.what == What::request) return request_json(history, e);
    Json all = {{"e", kEvents[static_cast<std::size_t>(e.what)]}};
    if (e.warp >= 0) all["warp"] = e.warp;
    if (e.lanes != 0) all["lanes"] = e.lanes;
    if (e.rank) all["rank"] = *e.rank;
    if (e.site != BlockHistory::kNone) all["site"] = e.site;
    switch (e.what) {
        case What::copied:
            all["count"] = e.count;
            break;
        case What::begin:
        case What::expect:
            all["barrier"] = e.pattern;
            if (e.what == What::expect) all["phase"] = e.phase;
            all[e.what == What::begin ? "count" : "bytes"] = e.count;
            break;
        case What::arrive:
        case What::wait:
        case What::passed:
        case What::phase:
            all["barrier"] = e.pattern;
            all["phase"] = e.phase;
            break;
        case What::box:
        case What::landed:
            all["copy"] = e.access;
            break;
        case What::wgmma:
            all["multiply"] = e.access;
            break;
        case What::summed:
            all["warpgroup"] = e.pattern;
            all["batch"] = e.phase;
            break;
        default:
            break;
    }
    return all;
}

Json block_json(const BlockHistory& h, const trace::Report& report) {
    return {
        {"block", h.block},
        {"index", h.index},
        {"rank", h.rank},
        {"cluster", h.cluster},
        {"threads", h.threads},
        {"arrays", list_json(h.arrays, array_json)},
        {"sites",
         list_json(h.sites,
                   [](const BlockHistory::Site& s) {
                       return Json{{"file", file_in_repository(s.file)}, {"line", s.line}, {"what", s.what}};
                   })},
        {"accesses",
         list_json(h.accesses, [&](const auto& access) { return access_json(h, access, report.lines); })},
        {"patterns", list_json(h.patterns,
                               [](const BlockHistory::Pattern& p) {
                                   return Json::array({p.lanes, p.offsets});
                               })},
        {"events", list_json(h.events, [&](const auto& event) { return event_json(h, event); })},
        {"copies", list_json(h.copies, copy_json)},
        {"multiplies",
         list_json(h.multiplies, [&](const auto& m) { return multiply_json(h, m, report.multiplications); })},
        {"places", h.places},
        {"mbarriers", list_json(h.mbarriers,
                                [](const BlockHistory::Mbarrier& b) {
                                    return Json{{"name", b.name},
                                                {"array", index_json(b.array)},
                                                {"offset", b.offset},
                                                {"arrivals", b.arrivals}};
                                })},
        {"truncated", h.truncated}};
}

}  // namespace

std::string file_in_repository(const std::string& file) {
    const std::string root = GEMM_SOURCE_DIR "/";
    if (file.starts_with(root)) return file.substr(root.size());
    // ccache with a base directory names headers from the folder of the build.
    std::string below = file;
    while (below.starts_with("../")) below.erase(0, 3);
    return below != file && std::filesystem::exists(root + below) ? below : file;
}

Json history_json(const trace::Report& report) {
    return list_json(report.histories, [&](const BlockHistory& h) { return block_json(h, report); });
}

std::string to_text_with(const Json& json, const Json& history) {
    std::string text = to_text(json);
    text.resize(text.rfind('}'));
    while (text.back() == '\n') text.pop_back();
    return text + ",\n  \"history\": " + history.dump() + "\n}\n";
}

}  // namespace gemm
