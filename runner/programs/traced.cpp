#include "runner/programs/traced.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "common/check/calls.hpp"
#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/cpu/execution/autopsy.hpp"
#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "runner/programs/descriptor_json.hpp"
#include "runner/programs/history_json.hpp"
#include "runner/programs/own_stream.hpp"

namespace gemm {
namespace {

namespace trace = cpu_device::trace;

std::string without_root(std::string text) {
    const std::string root = GEMM_SOURCE_DIR "/";
    for (std::size_t at; (at = text.find(root)) != std::string::npos;) text.erase(at, root.size());
    return text;
}

Json line_json(const trace::Line& l) {
    return {{"file", file_in_repository(l.file)},
            {"line", l.line},
            {"array", l.array},
            {"space", l.shared ? "shared" : "global"},
            {"op", l.store ? "store" : "load"},
            {"width", l.width},
            {"matrix", l.matrix_rows},
            {"requests", l.requests},
            {"threads", l.threads},
            {"bytes", l.bytes},
            {"sectors", l.sectors},
            {"ideal_sectors", l.ideal_sectors},
            {"wavefronts", l.wavefronts},
            {"ideal_wavefronts", l.ideal_wavefronts},
            {"diverged", l.diverged},
            {"tensor_map", l.map ? tensor_map_json(*l.map) : Json(nullptr)},
            {"sample",
             {{"block", l.example_block},
              {"warp", l.example_warp},
              {"lanes", l.example_lanes},
              {"offsets", l.example_offsets}}}};
}

/// `wavefronts` is null: nobody knows them.
Json wgmma_json(const trace::Multiplication& m) {
    const auto major = [](ptx::Major major) { return major == ptx::Major::k ? "k" : "row"; };
    return {{"file", file_in_repository(m.file)},
            {"line", m.line},
            {"m", m.rows},
            {"n", m.columns},
            {"k", m.depth},
            {"count", m.count},
            {"flop", 2.0 * m.rows * m.columns * m.depth * static_cast<double>(m.count)},
            {"shared_bytes", m.shared_bytes},
            {"wavefronts", nullptr},
            {"a", m.a_in_registers ? Json(nullptr) : Json(hex(m.a, 16))},
            {"major_a", m.a_in_registers ? Json(nullptr) : Json(major(m.major_a))},
            {"b", hex(m.b, 16)},
            {"major_b", major(m.major_b)}};
}

const char* access_name(const trace::Finding::Side& side) {
    return side.write ? "write" : "read";
}

Json finding_json(const trace::Finding& f) {
    const auto known = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
    Json other = nullptr;
    if (f.other) {
        other = {{"access", access_name(*f.other)},
                 {"thread", known(f.other->thread)},
                 {"file", file_in_repository(f.other->file)},
                 {"line", f.other->line}};
    }
    Json json = {{"id", name_of(f.id)},
                 {"text", without_root(f.text)},
                 {"access", access_name(f.access)},
                 {"array", f.array},
                 {"row", known(f.row)},
                 {"column", known(f.column)},
                 {"offset", f.offset},
                 {"beyond", f.beyond},
                 {"block", f.block},
                 {"thread", known(f.access.thread)},
                 {"file", file_in_repository(f.access.file)},
                 {"line", f.access.line},
                 {"other", std::move(other)},
                 {"count", f.count}};
    if (f.problem) json["problem"] = *f.problem;
    return json;
}

Json totals_json(const trace::Report& report, const Shape& shape) {
    const Operand result = result_of(operands(shape.problem()));
    const std::size_t size = size_of(result.type);
    std::uint64_t loaded = 0, stored = 0, shared = 0, results = 0;
    for (const trace::Line& l : report.lines) {
        (l.shared ? shared : l.store ? stored : loaded) += l.shared ? l.bytes : 32 * l.sectors;
        if (!l.shared && l.store && l.array == result.name) results += l.bytes / size;
    }
    // Of the blocks that were traced, which have stored so many of all results: as many for each as all
    // results take on average.
    const Problem p = shape.problem();
    const double elements = elements_of(p), share = elements > 0 ? flop_of(p) / elements : 0.0;
    const double flop = shape.alpha == 0.0f ? 0.0 : share * static_cast<double>(results);
    const auto per = [](double a, double b) { return b > 0 ? Json(a / b) : Json(nullptr); };
    return {{"flop", flop},
            {"global_load_bytes", loaded},
            {"global_store_bytes", stored},
            {"global_bytes", loaded + stored},
            {"flop_per_byte", per(flop, static_cast<double>(loaded + stored))},
            {"shared_bytes", shared},
            {"shared_bytes_per_flop", per(static_cast<double>(shared), flop)}};
}

Json owners_json(const trace::Report& report, const std::string& matrix) {
    Json rows = Json::array(), cols = Json::array(), threads = Json::array();
    for (const trace::Owned& o : report.owners) {
        if (o.matrix != matrix) continue;
        rows.push_back(o.row);
        cols.push_back(o.col);
        threads.push_back(o.thread);
    }
    return {{"array", matrix},
            {"block", report.owners_block},
            {"rows", rows},
            {"cols", cols},
            {"threads", threads}};
}

Json place_json(const Autopsy::Place& p) {
    return {{"what", p.what}, {"file", file_in_repository(p.file)}, {"line", p.line}};
}
Json place_json(const std::optional<Autopsy::Place>& p) {
    return p ? place_json(*p) : Json(nullptr);
}

Json barrier_json(const Autopsy::Barrier& b) {
    const auto waiting = [](const Autopsy::Waiting& w) {
        return Json{{"threads", w.threads}, {"parity", w.parity}, {"at", place_json(w.at)}};
    };
    return {{"name", b.name},
            {"phase", b.phase},
            {"arrivals", b.arrivals},
            {"arrivals_missing", b.missing},
            {"arrived", b.arrived},
            {"absent", b.absent},
            {"passed", b.passed},
            {"bytes_expected", b.expected},
            {"bytes_missing", b.bytes_missing},
            {"bytes_under_way", b.under_way},
            {"waiting", list_json(b.waiting, waiting)}};
}

Json autopsy_json(const Autopsy& a) {
    Json likely = nullptr;
    const auto group = [](const Autopsy::Group& g) {
        return Json{{"threads", g.threads},
                    {"returned", !g.at},
                    {"at", place_json(g.at)},
                    {"at_mbarrier", g.at_mbarrier},
                    {"last", place_json(g.last)}};
    };
    if (a.likely) {
        const Autopsy::Likely& l = *a.likely;
        likely = {{"id", name_of(l.id)},    {"text", cpu_device::text_of(a, l)},
                  {"barriers", l.barriers}, {"threads", l.threads},
                  {"phase", l.phase},       {"bytes", l.bytes},
                  {"arrivals", l.arrivals}, {"came", l.came}};
    }
    return {{"kernel", a.kernel},
            {"block", a.block},
            {"barriers", list_json(a.barriers, barrier_json)},
            {"groups", list_json(a.groups, group)},
            {"likely", std::move(likely)}};
}

/// Why there is no result, with the autopsy of a hang.
Json error_json(const TracedLaunch& traced) {
    Json error = fault_json(traced.fault, traced.error);
    if (traced.autopsy) error["autopsy"] = autopsy_json(*traced.autopsy);
    return error;
}

struct Ended {
    FaultId fault = FaultId::other;
    std::string error = {};
    std::shared_ptr<const Autopsy> autopsy = {};
};

/// The launch's error as one sentence.
Ended launched(const Lesson& lesson, const Problem& p, const void* plan) {
    (void)cudaGetLastError();  // what happened before is not this launch's
    try {
        const OwnStream stream;
        launch(lesson, p, plan, stream);
        stream.check();
        const std::string why = cpu_device::refusal();
        if (const cudaError_t status = cudaGetLastError(); status != cudaSuccess) {
            const bool memory = status == cudaErrorMemoryAllocation;
            return {memory ? FaultId::out_of_memory : FaultId::launch_refused,
                    "The launch was refused: " + (why.empty() ? cudaGetErrorString(status) : why) + "."};
        }
    } catch (...) {  // a deadlock, a crash …: what was traced until then is still worth showing
        (void)cudaGetLastError();
        const Fault found = caught("launch() of " + std::string(lesson.name) + " threw an exception");
        return {found.id, without_root(found.what()), found.autopsy};
    }
    return {};
}

}  // namespace

TracedLaunch launch_traced(const Lesson& lesson, const Problem& p, const void* plan, std::size_t most_steps,
                           const cpu_device::trace::Histories& histories) {
    TracedLaunch traced;
    const auto start = std::chrono::steady_clock::now();
    std::vector<trace::Matrix> matrices;
    const bool batch = p.variant.batch != Batch::one;
    std::int64_t problem = 0;
    for (const Problem& one : members(p)) {
        for (const Operand& o : operands(one)) {
            const int bits = info(o.type).bits;
            matrices.push_back({o.name, o.data, o.rows, o.cols, o.pitch, std::max(bits / 8, 1), o.unread,
                                o.role != Role::in, std::max(8 / bits, 1),
                                batch ? std::optional(problem) : std::nullopt});
        }
        ++problem;
    }
    trace::begin(std::move(matrices), most_steps, histories);
    const Ended ended = launched(lesson, p, plan);
    traced.fault = ended.fault;
    traced.error = ended.error;
    traced.autopsy = ended.autopsy;
    traced.report = trace::end();
    traced.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return traced;
}

Json no_kernel_finding(const trace::Report& report, const Problem& p) {
    // Nothing is computed: a cudaMemsetAsync is enough, or with beta = 1 nothing at all.
    if (p.alpha == 0.0f || flop_of(p) == 0.0) return nullptr;
    std::uint64_t bytes = 0;
    const Operand result = result_of(operands(p));
    for (const trace::Line& l : report.lines) bytes += l.store && l.array == result.name ? l.bytes : 0;
    const std::uint64_t stored = bytes / size_of(result.type);
    const auto elements = static_cast<std::uint64_t>(elements_of(p));
    if (stored >= elements) return nullptr;
    const std::string who = stored == 0 ? "no kernel wrote it"
                                        : "kernels wrote only " + std::to_string(stored) + " of its " +
                                              std::to_string(elements) + " elements";
    trace::Finding finding;
    finding.id = FindingId::no_kernel;
    finding.text = std::string(result.name) + " is right, but " + who + ": launch() copied it there.";
    finding.access.write = true;
    finding.array = result.name;
    finding.count = 1;
    return finding_json(finding);
}

Json findings_json(const trace::Report& report, std::size_t most) {
    Json findings = Json::array();
    for (const trace::Finding& f : report.findings) {
        if (findings.size() == most) break;
        findings.push_back(finding_json(f));
    }
    return findings;
}

Json traced_json(const Lesson& lesson, const Shape& shape, std::uint64_t seed, int sm,
                 const TracedLaunch& traced) {
    const trace::Report& report = traced.report;
    return {{"schema", 1},
            {"lesson", lesson.name},
            {"variant", text(shape.variant)},
            {"kernel", report.kernel},
            {"m", shape.M},
            {"n", shape.N},
            {"k", shape.K},
            {"alpha", shape.alpha},
            {"beta", shape.beta},
            {"batch", shape.batch},
            {"groups", groups_json(shape)},
            {"seed", seed},
            {"like", "sm_" + std::to_string(sm)},
            {"blocks", report.blocks},
            {"traced_blocks", report.traced_blocks},
            {"threads_per_block", report.threads_per_block},
            {"barriers_per_thread", report.barriers_per_thread},
            {"seconds", traced.seconds},
            {"lines", list_json(report.lines, line_json)},
            {"wgmma", list_json(report.multiplications, wgmma_json)},
            {"findings", findings_json(report)},
            {"totals", totals_json(report, shape)},
            {"owners", owners_json(report, result_of(operands(shape.problem())).name)},
            {"verdict", nullptr},
            {"error", error_json(traced)}};
}

}  // namespace gemm
