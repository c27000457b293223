#include "common/program/report.hpp"

#include <cmath>
#include <utility>

#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/check/words.hpp"

namespace gemm {
namespace {

/// A figure that may be missing.
Json known(double value) {
    return value > 0.0 ? Json(value) : Json(nullptr);
}

Json known(int value) {
    return value >= 0 ? Json(value) : Json(nullptr);
}

/// JSON has no numbers that are not finite.
Json number(double value) {
    if (std::isfinite(value)) return value;
    return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

Json three(uint3 v) {
    return {v.x, v.y, v.z};
}

Json pattern_json(const Pattern& p) {
    Json json = {{"id", name_of(p.id)}, {"text", pattern_text(p)}};
    if (!p.matrices.empty()) json["matrices"] = p.matrices;
    if (!p.lengths.empty()) json["lengths"] = p.lengths;
    const std::pair<const char*, Pattern::Number> fields[] = {{"from", p.from},
                                                              {"to", p.to},
                                                              {"of", p.of},
                                                              {"row", p.row},
                                                              {"column", p.column},
                                                              {"modulo", p.modulo},
                                                              {"tile_rows", p.tile_rows},
                                                              {"tile_columns", p.tile_columns},
                                                              {"problem", p.problem}};
    for (const auto& [name, value] : fields) {
        if (value) json[name] = *value;
    }
    return json;
}

Json first_json(const WrongElement& e, bool padding) {
    Json json = {
        {"row", e.row}, {"column", e.column}, {"block", nullptr}, {"warp", nullptr}, {"thread", nullptr}};
    if (e.problem) json["problem"] = *e.problem;
    if (e.owner) {
        json["block"] = three(e.owner->block);
        json["warp"] = e.warp;
        json["thread"] = three(e.owner->thread);
    }
    json["got"] = e.written ? number(e.got) : Json("nothing");
    json["expected"] = padding ? Json(nullptr) : number(e.expected);
    json["bound"] = padding ? Json(nullptr) : number(e.bound);
    return json;
}

/// Bytes of an element: ½ where two share one.
Json bytes_json(DType type) {
    const int bits = info(type).bits;
    return bits % 8 == 0 ? Json(bits / 8) : Json(bits / 8.0);
}

/// null where it is not known.
Json spread_json(const Spread& spread) {
    if (!(spread.median > 0.0)) return nullptr;
    return {{"median", spread.median}, {"p10", spread.p10}, {"p90", spread.p90}};
}

/// Of a timing with energy.
Json energy_json(const Timing& timing) {
    return {{"ms", spread_json({timing.ms_median, timing.ms_p10, timing.ms_p90})},
            {"joules", spread_json(timing.energy->joules)},
            {"megacycles", spread_json(timing.energy->megacycles)},
            {"power_w", known(timing.energy->power_w)}};
}

}  // namespace

Json device_json(const Device& device) {
    return {{"kind", device.kind},
            {"name", device.name},
            {"compute_capability", std::to_string(device.sm / 10) + "." + std::to_string(device.sm % 10)},
            {"multiprocessors", device.multiprocessors},
            {"l2_bytes", device.l2_bytes},
            {"driver", device.driver},
            {"cuda", device.runtime}};
}

Json verdict_json(const Verdict& verdict) {
    Json patterns = Json::array();
    for (const Pattern& pattern : verdict.patterns) patterns.push_back(pattern_json(pattern));
    const bool padding = verdict.what == FailureId::padding;
    return {{"passed", verdict.passed},
            {"checked", verdict.checked},
            {"compared", verdict.compared},
            {"wrong", verdict.wrong},
            {"error_over_bound", verdict.error_over_bound},
            {"rms_error", verdict.rms_error},
            {"rms_limit", verdict.rms_limit},
            {"failure", verdict.what ? Json(name_of(*verdict.what)) : Json(nullptr)},
            {"first", verdict.first ? first_json(*verdict.first, padding) : Json(nullptr)},
            {"patterns", std::move(patterns)},
            {"text", verdict.failure}};
}

Json groups_json(const Shape& shape) {
    return list_json(shape.groups, [](const Group& g) { return Json{g.M, g.N, g.K}; });
}

Json fault_json(FaultId id, const std::string& text) {
    if (text.empty()) return nullptr;
    return {{"id", name_of(id)}, {"text", text}};
}

Json resources_json(const Resources& resources) {
    return {{"registers", known(resources.registers)},
            {"local_bytes", known(resources.local_bytes)},
            {"blocks_per_sm", known(resources.blocks_per_sm)},
            {"threads_per_block", resources.threads_per_block},
            {"static_shared_bytes", resources.static_shared_bytes},
            {"dynamic_shared_bytes", resources.dynamic_shared_bytes}};
}

Json speed_json(const Speed& speed) {
    const Timing& t = speed.timing;
    Json json = {{"ms_median", t.ms_median},
                 {"ms_p10", t.ms_p10},
                 {"ms_p90", t.ms_p90},
                 {"rounds", t.rounds},
                 {"tflops", speed.tflops},
                 {"baseline", speed.baseline},
                 {"baseline_kernel", speed.baseline_kernel},
                 {"baseline_ms_median", speed.baseline_timing.ms_median},
                 {"ratio", t.ratio},
                 {"sm_clock_mhz", known(t.sm_clock_mhz)},
                 {"power_w", known(t.power_w)},
                 {"cache", speed.cold ? "cold" : "warm"}};
    if (t.energy) json["energy"] = energy_json(t);
    if (speed.baseline_timing.energy) json["baseline_energy"] = energy_json(speed.baseline_timing);
    return json;
}

Json tiling_json(const Tiling& t) {
    return {
        {"BM", t.tile.BM},    {"BN", t.tile.BN},
        {"BK", t.tile.BK},    {"slices", t.slices},
        {"blocks", t.blocks}, {"blocks_per_sm", blocks_per_sm(t.kernel, t.block, t.dynamic_shared_bytes)}};
}

Json lesson_json(const Lesson& lesson) {
    const std::string name = lesson.name;
    Json variants = Json::array();
    for (const Offer& offer : lesson.variants) {
        const Architectures& of = offer.architectures;
        const Json architectures =
            of.exactly != nullptr ? Json{{"exactly", of.exactly}} : Json{{"from", of.from}};
        Problem any{};
        any.variant = offer.variant;
        Json bytes;
        for (const Operand& o : operands(any)) bytes[o.name] = bytes_json(o.type);
        variants.push_back({{"text", text(offer.variant)},
                            {"architectures", architectures},
                            {"element_bytes", std::move(bytes)}});
    }
    Json constants = Json::object();
    for (const Constant& constant : lesson.configuration().constants)
        constants[constant.name] = constant.value;
    return {{"name", name},
            {"number", name.substr(0, name.find('_'))},
            {"part", lesson.part},
            {"ladder", lesson.ladder},
            {"tile", {{"BM", lesson.tile().BM}, {"BN", lesson.tile().BN}, {"BK", lesson.tile().BK}}},
            {"constants", std::move(constants)},
            {"block", {lesson.block().x, lesson.block().y, lesson.block().z}},
            {"dynamic_shared_bytes", lesson.configuration().dynamic_shared_bytes},
            {"variants", std::move(variants)}};
}

std::string to_text(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gemm
