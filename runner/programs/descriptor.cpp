// gemm_descriptor: what a matrix descriptor of wgmma or a tensor map says, and which bytes of shared memory
// the hardware reads or writes by it; or encodes a descriptor from its fields. Its JSON is what
// ./gemm descriptor shows.

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "common/error.hpp"
#include "common/program/options.hpp"
#include "common/program/report.hpp"
#include "runner/programs/descriptor_json.hpp"

namespace {

using gemm::Error;
using gemm::whole_number;
using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;

constexpr std::int64_t kFar = 1 << 18;  // what 14 bits of sixteenths can count, in bytes

/// What was given, as text.
struct Given {
    std::string number, start, leading, stride, base_offset, swizzle, rows = "64", major = "k";
    std::string tile, tile_at, tile_swizzle, row = "0", k = "0";
    std::string type, size, strides, box, element_strides, fill = "zero";

    bool wgmma_fields() const {
        return !(start.empty() && leading.empty() && stride.empty() && base_offset.empty());
    }
    bool map() const { return !type.empty() || !size.empty() || !strides.empty() || !box.empty(); }
};

Given read_options(int argc, char** argv) {
    Given g;
    std::vector<gemm::Option> options;
    options.push_back(
        {"--number", &g.number, "a matrix descriptor of 64 bits, such as 0x4000004000010000", "NUMBER"});
    options.push_back({"--start", &g.start, "to encode one: matrix start address, bytes"});
    options.push_back({"--leading", &g.leading, "leading dimension byte offset [0]"});
    options.push_back({"--stride", &g.stride, "stride dimension byte offset [0]"});
    options.push_back({"--base-offset", &g.base_offset, "matrix base offset, 0 to 7 [0]"});
    options.push_back({"--swizzle", &g.swizzle, "swizzle mode: none, 32, 64 or 128 [none]", "BYTES"});
    options.push_back({"--rows", &g.rows, "of the matrix: 64 of A, N of B [64]"});
    options.push_back(
        {"--major", &g.major, "the dimension whose elements are neighbors: k or row [k]", "DIMENSION"});
    options.push_back(
        {"--tile", &g.tile, "the tile that is meant, rows x steps along K, such as 64x64", "SIZE"});
    options.push_back(
        {"--tile-swizzle", &g.tile_swizzle, "of the tile, as TMA brings it [the descriptor's]", "BYTES"});
    options.push_back(
        {"--tile-at", &g.tile_at, "where the tile begins [where the descriptor would be right]"});
    options.push_back({"--row", &g.row, "the row of the tile that is meant to be the first [0]"});
    options.push_back({"--k", &g.k, "and the step along K [0]"});
    options.push_back({"--type", &g.type, "of a tensor map: float32, bfloat16, … [float32]", "TYPE"});
    options.push_back({"--size", &g.size, "globalDim, innermost first, such as 4096x4096", "SIZE"});
    options.push_back({"--strides", &g.strides, "globalStrides, bytes, such as 16384 [tight]", "BYTES"});
    options.push_back({"--box", &g.box, "boxDim, innermost first, such as 32x128", "SIZE"});
    options.push_back({"--element-strides", &g.element_strides, "elementStrides [1]", "SIZE"});
    options.push_back({"--fill", &g.fill, "of what is outside: zero or nan [zero]", "WHAT"});
    gemm::parse_options("gemm_descriptor",
                        "Says what a matrix descriptor or a tensor map makes the hardware do.", options, argc,
                        argv);
    return g;
}

/// "0x4000…" or a decimal number, of 64 bits.
std::uint64_t number_of(const std::string& text) {
    char* end = nullptr;
    errno = 0;
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    const std::uint64_t value = std::strtoull(text.c_str(), &end, hex ? 16 : 10);
    if (text.empty() || text.find_first_of("+- \t") != std::string::npos || *end != '\0' || errno != 0 ||
        (hex && text.size() == 2))
        throw Error("A descriptor is a number of 64 bits, such as 0x4000004000010000, and \"" + text +
                    "\" is none.");
    return value;
}

/// A field that counts sixteenths of it.
unsigned sixteenths(const std::string& option, const std::string& text) {
    if (text.empty()) return 0;
    const std::int64_t bytes = whole_number(option, text, 0, kFar - 1);
    if (bytes % 16 != 0)
        throw Error(option + " must be a multiple of 16 below 262144, and is " + std::to_string(bytes) +
                    ": the descriptor has no room for its lowest 4 bits.");
    return static_cast<unsigned>(bytes);
}

/// "64x32" → 64, 32.
std::vector<std::int64_t> sizes_of(const std::string& option, const std::string& text, std::size_t least,
                                   std::size_t most) {
    const std::vector<std::int64_t> sizes = gemm::sizes("A number in " + option, text);
    if (sizes.size() < least || sizes.size() > most) {
        throw Error(option + " has " + std::to_string(sizes.size()) +
                    (sizes.size() == 1 ? " number" : " numbers") + ", and must have " +
                    std::to_string(least) + (least == most ? "." : " to " + std::to_string(most) + "."));
    }
    return sizes;
}

std::optional<gemm::IntendedTile> tile_of(const Given& g, gemm::ptx::WgmmaSwizzle swizzle) {
    if (g.tile.empty()) {
        if (!g.tile_at.empty() || !g.tile_swizzle.empty() || g.row != "0" || g.k != "0")
            throw Error(
                "--tile-at, --tile-swizzle, --row and --k belong to a tile; add --tile, such as --tile "
                "64x64.");
        return std::nullopt;
    }
    const std::vector<std::int64_t> sizes = sizes_of("--tile", g.tile, 2, 2);
    for (const std::int64_t side : sizes) {
        if (side < 1 || side > 4096)
            throw Error("A side of --tile must be 1 to 4096, and is " + std::to_string(side) + ".");
    }
    gemm::IntendedTile tile;
    tile.rows = static_cast<unsigned>(sizes[0]);
    tile.columns = static_cast<unsigned>(sizes[1]);
    tile.row = static_cast<unsigned>(whole_number("--row", g.row, 0, tile.rows - 1));
    tile.k = static_cast<unsigned>(whole_number("--k", g.k, 0, tile.columns - 1));
    tile.swizzle = g.tile_swizzle.empty() ? swizzle : gemm::swizzle_of("--tile-swizzle", g.tile_swizzle);
    if (!g.tile_at.empty()) tile.at = sixteenths("--tile-at", g.tile_at);
    return tile;
}

gemm::Json wgmma(const Given& g) {
    std::uint64_t number = 0;
    if (g.number.empty()) {
        WgmmaFields f;
        f.start = sixteenths("--start", g.start);
        f.leading = sixteenths("--leading", g.leading);
        f.stride = sixteenths("--stride", g.stride);
        if (!g.base_offset.empty())
            f.base_offset = static_cast<unsigned>(whole_number("--base-offset", g.base_offset, 0, 7));
        if (!g.swizzle.empty()) f.swizzle = gemm::swizzle_of("--swizzle", g.swizzle);
        number = encode(f);
    } else {
        if (g.wgmma_fields() || !g.swizzle.empty())
            throw Error("A descriptor is a number or its fields; give one of the two.");
        number = number_of(g.number);
    }
    const std::int64_t rows = whole_number("--rows", g.rows, 8, 256);
    if (rows % 8 != 0) throw Error("--rows must be a multiple of 8, and is " + std::to_string(rows) + ".");
    if (g.major != "k" && g.major != "row")
        throw Error("--major must be k or row, and is \"" + g.major + "\".");
    return gemm::descriptor_json(number, g.major == "k" ? Major::k : Major::row, static_cast<unsigned>(rows),
                                 tile_of(g, gemm::ptx::decode(number).swizzle));
}

gemm::Json tensor_map(const Given& g) {
    if (g.wgmma_fields() || !g.number.empty() || !g.tile.empty())
        throw Error(
            "A tensor map has --type, --size, --strides, --box, --element-strides, --swizzle and --fill; "
            "leave "
            "what is a matrix descriptor's out.");
    if (g.size.empty() || g.box.empty())
        throw Error("A tensor map needs --size and --box, such as --size 4096x4096 --box 32x128.");
    gemm::TensorMapFields f;
    f.type = gemm::data_type("--type", g.type.empty() ? "float32" : g.type);
    f.address = reinterpret_cast<const void*>(std::uintptr_t{1} << 20);
    const std::vector<std::int64_t> size = sizes_of("--size", g.size, 1, gemm::TensorMapFields::kMostRank);
    const std::size_t rank = size.size();
    f.rank = static_cast<int>(rank);
    const std::vector<std::int64_t> box = sizes_of("--box", g.box, rank, rank);
    const std::vector<std::int64_t> each = g.element_strides.empty()
                                               ? std::vector<std::int64_t>(rank, 1)
                                               : sizes_of("--element-strides", g.element_strides, rank, rank);
    std::vector<std::int64_t> strides;
    if (!g.strides.empty()) strides = sizes_of("--strides", g.strides, rank - 1, rank - 1);
    std::int64_t tight = static_cast<std::int64_t>(cpu_device::element_bytes(f.type));
    for (std::size_t i = 0; i < rank; ++i) {
        if (i > 0) f.strides[i - 1] = static_cast<cuuint64_t>(strides.empty() ? tight : strides[i - 1]);
        if (__builtin_mul_overflow(tight, size[i], &tight))
            throw Error("--size has more bytes than 64 bits count.");
        f.sizes[i] = static_cast<cuuint64_t>(size[i]);
        f.box[i] = static_cast<cuuint32_t>(std::min<std::int64_t>(box[i], 1 << 20));
        f.element_strides[i] = static_cast<cuuint32_t>(std::min<std::int64_t>(each[i], 1 << 20));
    }
    f.swizzle = gemm::of_map(gemm::swizzle_of("--swizzle", g.swizzle.empty() ? "none" : g.swizzle));
    if (g.fill != "zero" && g.fill != "nan")
        throw Error("--fill must be zero or nan, and is \"" + g.fill + "\".");
    if (g.fill == "nan") f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    cpu_device::TensorMap map;
    const CUtensorMap encoded = gemm::tensor_map(f);
    if (!map.read(encoded)) throw Error("The tensor map cannot be read.");
    return gemm::box_json(map);
}

}  // namespace

int main(int argc, char** argv) {
    return gemm::run_program("gemm_descriptor", [&] {
        const Given given = read_options(argc, argv);
        if (given.number.empty() && !given.wgmma_fields() && !given.map())
            throw Error(
                "There is nothing to read; give a descriptor's number, its --start, --leading, --stride and "
                "--swizzle, or a tensor map's --size and --box.");
        gemm::print(gemm::to_text(given.map() ? tensor_map(given) : wgmma(given)));
        return gemm::kRight;
    });
}
