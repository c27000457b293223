#include "runner/programs/descriptor_json.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "common/error.hpp"

namespace gemm {
namespace {

using cpu_device::Chunk;
using cpu_device::kChunk;
using cpu_device::TensorMap;
using ptx::Major;
using ptx::WgmmaFields;
using ptx::WgmmaSwizzle;

constexpr unsigned kDepth = 16, kElement = 2;   // of an instruction along K; bytes
constexpr unsigned kEight = kChunk / kElement;  // elements of a chunk
constexpr std::uintptr_t kTensor = 1u << 20;    // where a tensor is, of which nothing is read

constexpr std::array kTypes = {"uint8",       "uint16",   "uint32",      "int32",   "uint64",
                               "int64",       "float16",  "float32",     "float64", "bfloat16",
                               "float32_ftz", "tfloat32", "tfloat32_ftz"};

Json fields_json(std::uint64_t number, const WgmmaFields& f) {
    const auto field = [&](const char* name, int high, int low, auto value, const char* unit) {
        const std::uint64_t bits = number >> low & ((std::uint64_t{1} << (high - low + 1)) - 1);
        return Json{{"name", name},
                    {"bits", std::to_string(high) + "–" + std::to_string(low)},
                    {"encoded", bits},
                    {"value", value},
                    {"unit", unit}};
    };
    const unsigned span = f.swizzle == WgmmaSwizzle::none ? 0 : ptx::wgmma_span(f.swizzle);
    return {field("matrix start address", 13, 0, f.start, "bytes"),
            field("leading dimension byte offset", 29, 16, f.leading, "bytes"),
            field("stride dimension byte offset", 45, 32, f.stride, "bytes"),
            field("matrix base offset", 51, 49, f.base_offset, ""),
            field("swizzle mode", 63, 62, span, "bytes")};
}

/// Of a tile: which element lies first in the 16 bytes at an address.
std::map<unsigned, std::pair<unsigned, unsigned>> elements_of(const IntendedTile& tile, Major major,
                                                              unsigned at) {
    const unsigned span = ptx::wgmma_span(tile.swizzle) / kElement;
    const unsigned inner = major == Major::k ? tile.columns : tile.rows;
    const unsigned outer = major == Major::k ? tile.rows : tile.columns;
    TensorMapFields f;
    f.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    f.address = reinterpret_cast<const void*>(kTensor);
    f.sizes[0] = (inner + kEight - 1) / kEight * kEight;
    f.sizes[1] = outer;
    f.strides[0] = f.sizes[0] * kElement;
    f.box[0] = span;
    f.box[1] = outer;
    f.swizzle = of_map(tile.swizzle);
    TensorMap map;
    const CUtensorMap encoded = tensor_map(f);
    if (!map.read(encoded)) throw Error("The tile's tensor map cannot be read.");
    std::map<unsigned, std::pair<unsigned, unsigned>> elements;
    for (unsigned first = 0, start = at; first < inner; first += span, start += map.shared_bytes()) {
        const int from[] = {static_cast<int>(first), 0};
        auto* const shared = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(start));
        for (const Chunk& c : map.chunks(from, shared, true)) {
            if (c.global == nullptr) continue;
            const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(c.global) - kTensor;
            const auto line = static_cast<unsigned>(offset / f.strides[0]);
            const auto place = static_cast<unsigned>(offset % f.strides[0] / kElement);
            elements[static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(c.shared))] =
                major == Major::k ? std::pair(line, place) : std::pair(place, line);
        }
    }
    return elements;
}

/// Where the tile begins if the descriptor begins rightly.
unsigned begin_of(const IntendedTile& tile, Major major, unsigned start) {
    const unsigned span = ptx::wgmma_span(tile.swizzle), each = span / kElement;
    const unsigned inner = major == Major::k ? tile.k : tile.row;
    const unsigned outer = major == Major::k ? tile.row : tile.k;
    const unsigned lines = major == Major::k ? tile.rows : tile.columns;
    const unsigned offset = inner / each * lines * span + outer * span + inner % each * kElement;
    if (offset > start) {
        throw Error("The descriptor begins at " + std::to_string(start) + ", and its tile cannot begin " +
                    std::to_string(offset) + " bytes before that; say where with --tile-at.");
    }
    return start - offset;
}

/// What is worth knowing, and no error of its own.
Json notes_json(std::uint64_t number, const WgmmaFields& f, Major major, unsigned highest) {
    Json notes = Json::array();
    const auto note = [&](const char* id, const std::string& text) {
        notes.push_back({{"id", id}, {"text", text}});
    };
    const bool swizzled = f.swizzle != WgmmaSwizzle::none;
    if (swizzled && major == Major::k)
        note("leading_unused",
             "With a swizzle mode and K as the major dimension the leading dimension byte "
             "offset is not used.");
    if (const unsigned pattern = 8 * ptx::wgmma_span(f.swizzle);
        swizzled && f.base_offset == 0 && f.start / 128 * 128 % pattern != 0)
        note("off_the_pattern", "It begins " + std::to_string(f.start % pattern) +
                                    " bytes into a pattern of 8 rows of " +
                                    std::to_string(ptx::wgmma_span(f.swizzle)) +
                                    " bytes: right only where the tile itself begins at a multiple of " +
                                    std::to_string(pattern) + ".");
    if (const std::uint64_t others = number ^ ptx::encode(f); others != 0)
        note("unused_bits", "Bits that belong to no field are set: " + hex(others) + ".");
    if (highest >= 227 * 1024)
        note("past_shared_memory", "It reads up to byte " + std::to_string(highest) +
                                       ", and a block of an H100 has 232448 bytes at most.");
    return notes;
}

}  // namespace

std::string hex(std::uint64_t number, int digits) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*" PRIx64, digits, number);
    return text;
}

const char* name_of(CUtensorMapSwizzle swizzle) {
    constexpr const char* names[] = {"none", "32B", "64B", "128B"};
    return names[swizzle];
}

WgmmaSwizzle swizzle_of(const std::string& option, const std::string& bytes) {
    const std::string digits = bytes.ends_with('B') ? bytes.substr(0, bytes.size() - 1) : bytes;
    if (bytes == "none" || bytes == "0") return WgmmaSwizzle::none;
    if (digits == "32") return WgmmaSwizzle::bytes32;
    if (digits == "64") return WgmmaSwizzle::bytes64;
    if (digits == "128") return WgmmaSwizzle::bytes128;
    throw Error(option + " must be none, 32, 64 or 128, and is \"" + bytes + "\".");
}

CUtensorMapSwizzle of_map(WgmmaSwizzle swizzle) {
    constexpr CUtensorMapSwizzle kModes[] = {CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_SWIZZLE_64B, CU_TENSOR_MAP_SWIZZLE_32B};
    return kModes[static_cast<std::size_t>(swizzle)];  // wgmma counts them the other way round
}

CUtensorMapDataType data_type(const std::string& option, const std::string& name) {
    const std::map<std::string, std::string> ours = {
        {"fp32", "float32"}, {"fp16", "float16"}, {"bf16", "bfloat16"}, {"tf32", "tfloat32"}};
    const auto known = ours.find(name);
    const std::string wanted = known == ours.end() ? name : known->second;
    std::string all;
    for (std::size_t i = 0; i < kTypes.size(); ++i) {
        if (wanted == kTypes[i]) return static_cast<CUtensorMapDataType>(i);
        all += (all.empty() ? "" : ", ") + std::string(kTypes[i]);
    }
    throw Error(option + " must be one of " + all + ", and is \"" + name + "\".");
}

Json descriptor_json(std::uint64_t number, Major major, unsigned rows,
                     const std::optional<IntendedTile>& tile) {
    const WgmmaFields f = ptx::decode(number);
    std::map<unsigned, std::pair<unsigned, unsigned>> elements;
    Json tile_json = nullptr;
    if (tile) {
        const unsigned at = tile->at ? *tile->at : begin_of(*tile, major, f.start);
        elements = elements_of(*tile, major, at);
        tile_json = {{"rows", tile->rows},
                     {"columns", tile->columns},
                     {"row", tile->row},
                     {"k", tile->k},
                     {"swizzle", name_of(of_map(tile->swizzle))},
                     {"at", at}};
    }
    Json chunks = Json::array();
    unsigned highest = 0, wrong = 0;
    const unsigned row_step = major == Major::k ? 1 : kEight, k_step = major == Major::k ? kEight : 1;
    for (unsigned row = 0; row < rows; row += row_step) {
        for (unsigned k = 0; k < kDepth; k += k_step) {
            const unsigned address = ptx::wgmma_address(f, major, row, k);
            highest = std::max(highest, address + kChunk - 1);
            Json chunk = {{"row", row}, {"k", k}, {"address", address}};
            if (tile) {
                const auto there = elements.find(address);
                const bool right =
                    there != elements.end() && there->second == std::pair(row + tile->row, k + tile->k);
                chunk["holds"] = there == elements.end()
                                     ? Json(nullptr)
                                     : Json{{"row", there->second.first}, {"k", there->second.second}};
                chunk["wrong"] = !right;
                wrong += !right;
            }
            chunks.push_back(std::move(chunk));
        }
    }
    return {{"schema", 1},
            {"kind", "wgmma"},
            {"number", hex(number, 16)},
            {"fields", fields_json(number, f)},
            {"rows", rows},
            {"depth", kDepth},
            {"major", major == Major::k ? "k" : "row"},
            {"chunks", std::move(chunks)},
            {"tile", std::move(tile_json)},
            {"wrong", wrong},
            {"notes", notes_json(number, f, major, highest)}};
}

Json tensor_map_json(const TensorMap& map) {
    const auto listed = [&](const auto& values, int from, int to) {
        Json all = Json::array();
        for (int i = from; i < to; ++i) all.push_back(values[i]);
        return all;
    };
    std::uint32_t box[cpu_device::kMostRank];
    for (int i = 0; i < map.rank; ++i) box[i] = map.box[i] * map.element_strides[i];
    const bool nan = map.fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
    return {{"tensorDataType", kTypes[static_cast<std::size_t>(map.type)]},
            {"tensorRank", map.rank},
            {"globalDim", listed(map.sizes, 0, map.rank)},
            {"globalStrides", listed(map.strides, 1, map.rank)},
            {"boxDim", listed(box, 0, map.rank)},
            {"elementStrides", listed(map.element_strides, 0, map.rank)},
            {"swizzle", name_of(map.swizzle)},
            {"oobFill", nan ? "nan" : "zero"}};
}

Json box_json(const TensorMap& map) {
    Json chunks = Json::array();
    const int at[cpu_device::kMostRank] = {};
    const std::uint32_t row_bytes = map.row_pitch();
    const auto wide = static_cast<std::uint32_t>(map.box[0] * map.strides[0]);
    unsigned number = 0;
    for (const Chunk& c : map.chunks(at, nullptr, true)) {
        const std::uint32_t byte = number++ * kChunk;
        chunks.push_back({{"row", byte / wide},
                          {"column", byte % wide / map.strides[0]},
                          {"address", reinterpret_cast<std::uintptr_t>(c.shared)}});
    }
    return {{"schema", 1},
            {"kind", "tensor_map"},
            {"fields", tensor_map_json(map)},
            {"box_bytes", map.box_bytes()},
            {"shared_bytes", map.shared_bytes()},
            {"row_bytes", row_bytes},
            {"chunks", std::move(chunks)}};
}

}  // namespace gemm
