#include "tests/tma/tma_cases.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/device_array.hpp"
#include "tests/numbers.hpp"

namespace test {
namespace {

using kernels::kTmaPhases;
using kernels::kTmaUntouched;

std::int64_t size_of(CUtensorMapDataType type) {
    switch (type) {
        case CU_TENSOR_MAP_DATA_TYPE_UINT8:
            return 1;
        case CU_TENSOR_MAP_DATA_TYPE_UINT16:
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
        case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
            return 2;
        case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
        case CU_TENSOR_MAP_DATA_TYPE_INT64:
        case CU_TENSOR_MAP_DATA_TYPE_UINT64:
            return 8;
        default:
            return 4;
    }
}

int span_of(CUtensorMapSwizzle swizzle) {
    return swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 1024 : 16 << static_cast<int>(swizzle);
}

/// Elements of the box along a dimension, as they lie in shared memory.
std::int64_t side(const gemm::TensorMapFields& f, int d) {
    if (d == 0) return f.box[0];
    return (f.box[d] + f.element_strides[d] - 1) / f.element_strides[d];
}

/// Bytes from a row of the box to the next in shared memory.
std::int64_t row_pitch(const gemm::TensorMapFields& f) {
    return f.swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? f.box[0] * size_of(f.type) : span_of(f.swizzle);
}

/// What the box takes there.
std::int64_t shared_bytes(const gemm::TensorMapFields& f) {
    std::int64_t bytes = row_pitch(f);
    for (int d = 1; d < f.rank; ++d) bytes *= side(f, d);
    return bytes;
}

/// Where a byte lies in shared memory that would be at this offset from a multiple of 1024 without swizzling.
std::int64_t swizzled(CUtensorMapSwizzle mode, std::int64_t offset) {
    const std::int64_t rows =
        mode == CU_TENSOR_MAP_SWIZZLE_NONE ? 1 : std::int64_t{1} << static_cast<int>(mode);
    const std::int64_t line = offset / 128, chunk = offset % 128 / 16;
    return line * 128 + (chunk ^ line % rows) * 16 + offset % 16;
}

/// Calls body(where the element lies in shared memory, in the tensor's memory or −1 outside of it) for the
/// whole box. Stores move whole 16 bytes, also where a row of the tensor ends within them.
template <class Body>
void each_element(const TmaRun& run, bool store, int phase, Body body) {
    const gemm::TensorMapFields& f = run.fields;
    const std::int64_t size = size_of(f.type), unit = store ? 16 / size : 1;
    std::int64_t count = 1;
    for (int d = 0; d < f.rank; ++d) count *= side(f, d);
    for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t rest = i, global = static_cast<std::int64_t>(run.address);
        bool inside = true;
        for (int d = 0; d < f.rank; ++d) {
            const std::int64_t step = d == 0 ? 1 : f.element_strides[d];
            const std::int64_t at = run.box.at[phase][d] + rest % side(f, d) * step;
            rest /= side(f, d);
            auto last = static_cast<std::int64_t>(f.sizes[d]);
            if (d == 0) last = (last + unit - 1) / unit * unit;
            inside = inside && at >= 0 && at < last;
            global += at * (d == 0 ? size : static_cast<std::int64_t>(f.strides[d - 1]));
        }
        const std::int64_t place = i / f.box[0] * row_pitch(f) + i % f.box[0] * size;
        body(swizzled(f.swizzle, run.box.offset + place), inside ? global : -1);
    }
}

/// What a load makes of an element's bytes. (Subnormal values stay, in types with FTZ, too.)
void converted(CUtensorMapDataType type, std::uint8_t* element) {
    if (type != CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 && type != CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return;
    std::uint32_t bits;
    std::memcpy(&bits, element, 4);
    const std::uint32_t exponent = bits >> 23 & 0xff, lost = bits & 0x1fff;
    if (exponent != 0xff) {  // to nearest of 10 bits of fraction, ties to even
        bits -= lost;
        if (lost > 0x1000 || (lost == 0x1000 && (bits & 0x2000) != 0)) bits += 0x2000;
    } else if ((bits & 0x7fffff) != 0) {  // the one NaN that there is
        bits = 0x7fffe000;
    }
    std::memcpy(element, &bits, 4);
}

void draw_box(const TmaMode& mode, Numbers& numbers, gemm::TensorMapFields& f) {
    const std::int64_t size = size_of(f.type), span = span_of(f.swizzle);
    std::int64_t room = 24 * 1024;  // bytes
    const std::int64_t units =
        std::min({span / 16, 256 * size / 16, numbers.from(0, 3) == 0 ? std::int64_t{64} : 8});
    // Most often the whole span, which is what tiles of matrices have.
    const bool whole = f.swizzle != CU_TENSOR_MAP_SWIZZLE_NONE && numbers.from(0, 2) > 0;
    f.box[0] = static_cast<cuuint32_t>((whole ? span / 16 : numbers.from(1, units)) * 16 / size);
    room /= f.box[0] * size;
    for (int d = 1; d < f.rank; ++d) {
        const std::int64_t most =
            std::max<std::int64_t>(1, std::min<std::int64_t>(room, f.rank == 2 ? 256 : 24));
        f.box[d] = static_cast<cuuint32_t>(numbers.from(1, most));
        if (mode.element_strides) f.element_strides[d] = static_cast<cuuint32_t>(numbers.from(1, 3));
        room = std::max<std::int64_t>(1, room / side(f, d));
    }
    // Rows that are shorter than a swizzle's span take the whole of it: so much there must be.
    for (int d = f.rank - 1; shared_bytes(f) > 80 * 1024; d = d > 1 ? d - 1 : f.rank - 1)
        f.box[d] = (f.box[d] + 1) / 2;
}

std::int64_t drawn_start(const TmaMode& mode, Numbers& numbers, std::int64_t size, std::int64_t box) {
    // Often in the tensor, at its first or last edge, or wholly outside.
    const std::int64_t where = numbers.from(0, 9);
    const std::int64_t at = where < 4   ? numbers.from(0, std::max<std::int64_t>(0, size - box))
                            : where < 9 ? numbers.from(1 - box, size - 1)
                                        : numbers.from(-box - 3, size + 3);
    if (!mode.store) return at;
    return std::clamp<std::int64_t>(at, 0, mode.behind ? size + 3 : size - 1);
}

}  // namespace

const std::vector<TmaMode>& tma_modes() {
    static const std::vector<CUtensorMapDataType> plain = {
        CU_TENSOR_MAP_DATA_TYPE_UINT8,    CU_TENSOR_MAP_DATA_TYPE_UINT16,  CU_TENSOR_MAP_DATA_TYPE_INT32,
        CU_TENSOR_MAP_DATA_TYPE_FLOAT16,  CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
    };
    static const std::vector<CUtensorMapDataType> floats = {
        CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16};
    constexpr auto none = CU_TENSOR_MAP_SWIZZLE_NONE, s32 = CU_TENSOR_MAP_SWIZZLE_32B,
                   s64 = CU_TENSOR_MAP_SWIZZLE_64B, s128 = CU_TENSOR_MAP_SWIZZLE_128B;
    static const std::vector<TmaMode> modes = {
        {"load", false, none, false, false, plain},
        {"load, swizzle 32", false, s32, false, false, plain},
        {"load, swizzle 64", false, s64, false, false, plain},
        {"load, swizzle 128", false, s128, false, false, plain},
        {"store", true, none, false, false, plain},
        {"store, swizzle 32", true, s32, false, false, plain},
        {"store, swizzle 64", true, s64, false, false, plain},
        {"store, swizzle 128", true, s128, false, false, plain},
        {"load, element strides", false, none, true, false, plain},
        {"load, NaN outside", false, none, false, true, floats},
        {"load, FP32 without subnormals", false, none, false, false, {CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ}},
        {"load, TF32", false, s128, false, false, {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32}},
        {"load, TF32 without subnormals", false, s128, false, false, {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}},
        {"store, TF32", true, s128, false, false, {CU_TENSOR_MAP_DATA_TYPE_TFLOAT32}},
        {"store, boxes behind the tensor", true, none, false, false, plain, true},
    };
    return modes;
}

TmaRun draw_tma(const TmaMode& mode, std::uint64_t seed, std::uint64_t index) {
    Numbers numbers(mode.name, seed, index);
    TmaRun run;
    gemm::TensorMapFields& f = run.fields;
    f.swizzle = mode.swizzle;
    f.type = mode.types[index % mode.types.size()];
    f.rank = static_cast<int>(index / mode.types.size() % 5 + 1);
    if (f.rank == 1 && mode.element_strides) f.rank = 2;
    if (mode.nan_fill) f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    draw_box(mode, numbers, f);
    const std::int64_t size = size_of(f.type);
    std::int64_t extent = 0;  // bytes from the first element to behind the last
    for (int d = 0; d < f.rank; ++d) {
        const std::int64_t box = f.box[d],
                           most = f.rank < 3 || d == 0 ? 2 * box + 5 : std::min<std::int64_t>(box + 3, 9);
        f.sizes[d] = static_cast<cuuint64_t>(numbers.from(1, most));
        const auto last = static_cast<std::int64_t>(f.sizes[d]) - 1;
        const std::int64_t stride = d == 0 ? size : static_cast<std::int64_t>(f.strides[d - 1]);
        extent += last * stride + (d == 0 ? size : 0);
        if (d + 1 < f.rank)
            f.strides[d] = static_cast<cuuint64_t>((extent + 15) / 16 * 16 + 16 * numbers.from(0, 2));
    }
    run.address = static_cast<std::size_t>(16 * numbers.from(0, 4));
    run.tensor.resize(run.address + static_cast<std::size_t>(extent) +
                      static_cast<std::size_t>(numbers.from(0, 64)));
    for (std::uint8_t& byte : run.tensor) byte = static_cast<std::uint8_t>(numbers.next() >> 32);
    // Subnormal floats, and such as lie between two of TF32's, are rare among random bits.
    if (size == 4) {
        for (std::size_t i = 0; i + 4 <= run.tensor.size(); i += 4) {
            const std::int64_t kind = numbers.from(0, 7);
            if (kind == 0) run.tensor[i + 3] &= 0x80, run.tensor[i + 2] &= 0x7f;
            if (kind == 1)
                run.tensor[i] = 0,
                run.tensor[i + 1] = static_cast<std::uint8_t>((run.tensor[i + 1] & 0xe0) | 0x10);
        }
    }

    kernels::TmaCase& c = run.box;
    c = {};
    c.rank = f.rank;
    c.phases = static_cast<int>(numbers.from(1, kTmaPhases));
    c.box_bytes = static_cast<unsigned>(size);
    for (int d = 0; d < f.rank; ++d) c.box_bytes *= static_cast<unsigned>(side(f, d));
    c.offset = static_cast<unsigned>(128 * numbers.from(0, 9));
    c.bytes = (c.offset + static_cast<unsigned>(shared_bytes(f)) + 1023) / 1024 * 1024 + 128;
    for (int phase = 0; phase < c.phases; ++phase) {
        for (int d = 0; d < f.rank; ++d) {
            c.at[phase][d] =
                static_cast<int>(drawn_start(mode, numbers, static_cast<std::int64_t>(f.sizes[d]), f.box[d]));
        }
        // Within a row at a multiple of 16 bytes: any other one is an illegal instruction.
        c.at[phase][0] -= c.at[phase][0] % static_cast<int>(16 / size);
    }
    return run;
}

std::string TmaRun::text() const {
    std::ostringstream out;
    const auto list = [&](const char* what, const auto* values, int count) {
        out << ", " << what;
        for (int i = 0; i < count; ++i) out << (i == 0 ? " " : "×") << values[i];
    };
    out << "type " << fields.type << ", rank " << fields.rank;
    list("sizes", fields.sizes, fields.rank);
    list("strides", fields.strides, fields.rank - 1);
    list("box", fields.box, fields.rank);
    list("element strides", fields.element_strides, fields.rank);
    for (int phase = 0; phase < box.phases; ++phase) list("at", box.at[phase], fields.rank);
    out << ", " << box.box_bytes << " bytes to " << box.offset;
    return out.str();
}

std::vector<std::uint8_t> tma_on_device(const TmaMode& mode, const TmaRun& run) {
    const DeviceArray<std::uint8_t> tensor(run.tensor);
    gemm::TensorMapFields fields = run.fields;
    fields.address = tensor.data() + run.address;
    kernels::TmaCase c = run.box;
    c.map = gemm::tensor_map(fields);
    if (!mode.store) {
        const DeviceArray<std::uint8_t> out(std::size_t{c.bytes} * static_cast<std::size_t>(c.phases));
        kernels::tma_load(c, out.data());
        return out.host();
    }
    std::vector<std::uint8_t> source(c.bytes);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
    const DeviceArray<std::uint8_t> in(source);
    kernels::tma_store(c, in.data());
    return tensor.host();
}

std::vector<std::uint8_t> tma_by_definition(const TmaMode& mode, const TmaRun& run) {
    const auto size = static_cast<std::size_t>(size_of(run.fields.type));
    std::vector<std::uint8_t> tensor = run.tensor, shared(run.box.bytes, kTmaUntouched), shown;
    std::uint8_t outside[8] = {};
    if (mode.nan_fill) {
        for (std::size_t b = 0; b < size; ++b) outside[b] = b % 2 == 0 ? 0xf7 : 0x7f;
    }
    for (int phase = 0; phase < run.box.phases; ++phase) {
        each_element(run, mode.store, phase, [&](std::int64_t at, std::int64_t global) {
            if (mode.store) {
                for (std::size_t b = 0; b < size && global >= 0; ++b) {
                    const std::size_t i = static_cast<std::size_t>(at) + b;
                    // (Behind the last row, what is shown may end first.)
                    if (static_cast<std::size_t>(global) + b >= tensor.size()) break;
                    tensor[static_cast<std::size_t>(global) + b] =
                        static_cast<std::uint8_t>(i * 7 + i / 251 + static_cast<std::size_t>(phase));
                }
                return;
            }
            std::uint8_t element[8];
            std::memcpy(element, global >= 0 ? tensor.data() + global : outside, size);
            if (global >= 0) converted(run.fields.type, element);
            std::memcpy(shared.data() + at, element, size);
        });
        shown.insert(shown.end(), shared.begin(), shared.end());
    }
    return mode.store ? tensor : shown;
}

std::vector<RandomMode> tma_random() {
    std::vector<RandomMode> all;
    for (const TmaMode& mode : tma_modes()) {
        all.push_back({mode.name, [&mode](std::uint64_t seed, std::uint64_t index) {
                           const TmaRun run = draw_tma(mode, seed, index);
                           return RandomCase{run.text(), [&mode, run] { return tma_on_device(mode, run); },
                                             [&mode, run] { return tma_by_definition(mode, run); },
                                             mode.store ? run.tensor : Bytes()};
                       }});
    }
    return all;
}

std::vector<TmaRefusal> tma_refusals() {
    // An address that nobody follows.
    const auto* const address = reinterpret_cast<const void*>(std::uintptr_t{1} << 32);
    gemm::TensorMapFields good;
    good.rank = 3;
    good.address = address;
    for (int d = 0; d < 3; ++d) good.sizes[d] = 64, good.box[d] = 8;
    good.strides[0] = 256;
    good.strides[1] = 256 * 64;
    std::vector<TmaRefusal> all = {{"as the others, and right", false, good}};
    const auto add = [&](const char* name, bool refused, auto change) {
        all.push_back({name, refused, good});
        change(all.back().fields);
    };
    using F = gemm::TensorMapFields;
    add("address + 8", true, [&](F& f) { f.address = static_cast<const char*>(address) + 8; });
    add("address + 16", false, [&](F& f) { f.address = static_cast<const char*>(address) + 16; });
    add("rank 0", true, [](F& f) { f.rank = 0; });
    add("rank 6", true, [](F& f) { f.rank = 6; });
    add("rank 1", false, [](F& f) { f.rank = 1; });
    add("size 0", true, [](F& f) { f.sizes[1] = 0; });
    add("size 2^32", false, [](F& f) { f.sizes[2] = std::uint64_t{1} << 32; });
    add("size 2^32 + 1", true, [](F& f) { f.sizes[2] = (std::uint64_t{1} << 32) + 1; });
    add("stride 248", true, [](F& f) { f.strides[0] = 248; });
    add("stride 264", true, [](F& f) { f.strides[0] = 264; });
    add("stride 272", false, [](F& f) { f.strides[0] = 272; });
    add("stride 2^40", true, [](F& f) { f.strides[1] = std::uint64_t{1} << 40; });
    add("stride 2^40 - 16", false, [](F& f) { f.strides[1] = (std::uint64_t{1} << 40) - 16; });
    add("box side 0", true, [](F& f) { f.box[1] = 0; });
    add("box side 256", false, [](F& f) { f.box[1] = 256; });
    add("box side 257", true, [](F& f) { f.box[1] = 257; });
    add("row of 20 bytes", true, [](F& f) { f.box[0] = 5; });
    add("row of 16 bytes", false, [](F& f) { f.box[0] = 4; });
    add("row of 1024 bytes", false, [](F& f) { f.box[0] = 256; });
    add("element stride 0", true, [](F& f) { f.element_strides[1] = 0; });
    add("element stride 8", false, [](F& f) { f.element_strides[1] = 8; });
    add("element stride 9", true, [](F& f) { f.element_strides[1] = 9; });
    constexpr CUtensorMapSwizzle modes[] = {CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
                                            CU_TENSOR_MAP_SWIZZLE_128B};
    constexpr const char* within[] = {"row of 32 bytes, swizzle 32", "row of 64 bytes, swizzle 64",
                                      "row of 128 bytes, swizzle 128"};
    constexpr const char* beyond[] = {"row of 48 bytes, swizzle 32", "row of 80 bytes, swizzle 64",
                                      "row of 144 bytes, swizzle 128"};
    for (cuuint32_t i = 0; i < 3; ++i) {
        add(within[i], false, [&](F& f) { f.swizzle = modes[i], f.box[0] = 8u << i; });
        add(beyond[i], true, [&](F& f) { f.swizzle = modes[i], f.box[0] = (8u << i) + 4; });
    }
    add("row of 16 bytes, swizzle 128", false,
        [](F& f) { f.swizzle = CU_TENSOR_MAP_SWIZZLE_128B, f.box[0] = 4; });
    add("NaN outside, of integers", true, [](F& f) {
        f.type = CU_TENSOR_MAP_DATA_TYPE_INT32;
        f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    });
    add("NaN outside, of BF16", false, [](F& f) {
        f.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
        f.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    });
    add("a stride less than a row", false, [](F& f) { f.strides[0] = 128; });
    add("a stride that is no multiple of the one before", false, [](F& f) { f.strides[1] = 256 * 64 + 16; });
    return all;
}

}  // namespace test
