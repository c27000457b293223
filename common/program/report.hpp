// The JSON objects that lesson programs and gemm_bench print. Their keys are what runner/ and plots/ read.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "common/check/verify.hpp"
#include "common/check/workload.hpp"
#include "common/facts.hpp"
#include "common/measure/device.hpp"
#include "common/measure/speed.hpp"

namespace gemm {

using Json = nlohmann::ordered_json;  // keys in the order in which they are written

/// one(item) of each.
template <class Items, class One>
Json list_json(const Items& items, const One& one) {
    Json list = Json::array();
    for (const auto& item : items) list.push_back(one(item));
    return list;
}

/// kind, name, compute_capability ("9.0"), multiprocessors, l2_bytes, driver, cuda (CUDA versions, "13.0").
Json device_json(const Device& device);

/// passed, checked, compared, wrong, error_over_bound, rms_error, rms_limit; failure: a FailureId's name or
/// null; first: row, column, block, warp, thread (null where it is not known who computes it), got ("nothing"
/// where nothing was written), expected, bound, or null; patterns: id, text and the fields of that id; text:
/// all of it for people. What is not finite is "nan", "inf" or "-inf".
Json verdict_json(const Verdict& verdict);

/// [M, N, K] of each group; empty where there are none.
Json groups_json(const Shape& shape);

/// id, text; null where there is no text.
Json fault_json(FaultId id, const std::string& text);

/// registers, local_bytes, blocks_per_sm (null where only ptxas knows), threads_per_block,
/// static_shared_bytes, dynamic_shared_bytes.
Json resources_json(const Resources& resources);

/// ms_median, ms_p10, ms_p90, rounds, tflops, baseline, baseline_kernel, baseline_ms_median, ratio,
/// sm_clock_mhz, power_w (null where NVML does not answer), cache ("cold" or "warm"); where energy was
/// measured, also energy and baseline_energy: ms, joules, megacycles (each median, p10, p90 of a launch; null
/// where the GPU does not tell), power_w (the loops' average, or null).
Json speed_json(const Speed& speed);

/// BM, BN, BK: of the C tile; slices: of K, for each C tile; blocks: of the launch; blocks_per_sm: that an SM
/// has at once.
Json tiling_json(const Tiling& tiling);

/// What a lesson's descriptor says, as lessons.json has it: name, number ("09a"), part, ladder, tile {BM, BN,
/// BK}, constants {TM, …}, block [x, y, z], dynamic_shared_bytes, variants [{text, architectures: {from} or
/// {exactly}}]. Tile, constants, block and shared memory are those of the variant that is chosen.
Json lesson_json(const Lesson& lesson);

/// One object as text, indented, with a newline at its end. Kernel names and file names may hold anything:
/// bytes that are no UTF-8 are replaced.
std::string to_text(const Json& json);

}  // namespace gemm
