// The index arithmetic of lessons 09 to 11, derived with lesson 20's layouts and held against the formulas
// that those lessons have, for every index; and boxes of the copy engine against the layouts that stand for
// them.
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "20_layout_algebra/layout.hpp"
#include "20_layout_algebra/layout_text.hpp"
#include "common/parts/swizzle.hpp"
#include "common/ptx/fragments.hpp"
#include "common/ptx/wgmma_descriptor.hpp"
#include "common/tma/tensor_map.hpp"
#include "tests/device_array.hpp"
#include "tests/support.hpp"
#include "tests/tma/tma.hpp"

using namespace layout;  // NOLINT: the subject
using gemm::ptx::Major;
using gemm::ptx::WgmmaFields;
using gemm::ptx::WgmmaSwizzle;

namespace {

// mma.sync and ldmatrix: (lane, element) and lane, to row + 16·column of a tile of 16 rows.
const Layout kSums(tuple(tuple(4, 8), tuple(2, 2)), tuple(tuple(32, 1), tuple(16, 8)));
const Layout kRows(tuple(16, 2), tuple(1, 8 * 16));

/// The number of coordinates, of those up to `extents`, at which two functions differ.
int differences(const std::vector<int>& extents, const std::function<Int(const int*)>& f,
                const std::function<Int(const int*)>& g) {
    std::vector<int> at(extents.size(), 0);
    int count = 0;
    for (;;) {
        count += f(at.data()) != g(at.data());
        std::size_t i = 0;
        for (; i < at.size() && ++at[i] == extents[i]; ++i) at[i] = 0;
        if (i == at.size()) return count;
    }
}

/// Bytes of an offset in elements of 2, seen by the hardware's swizzle of `span` bytes.
Swizzle in_elements(WgmmaSwizzle swizzle) {
    constexpr int bits[] = {0, 3, 2, 1};
    return {bits[static_cast<int>(swizzle)], 3, 3};
}

}  // namespace

TEST_CASE("layout: 09b's copies, ldmatrix addresses and sums are compositions") {
    constexpr int BM = 128, BN = 128, BK = 32, WM = 64, WN = 64;  // 09b's constants and formulas
    const auto a_at = [](int row, int k) { return gemm::Swizzle<2, 3, 3>::apply(row * BK + k); };
    const auto b_at = [](int k, int col) { return gemm::Swizzle<3, 3, 4>::apply(k * BN + col); };
    const Swizzled as = composition(Swizzle{2, 3, 3}, Layout(tuple(BM, BK), tuple(BK, 1))),
                   bs = composition(Swizzle{3, 3, 4}, Layout(tuple(BK, BN), tuple(BN, 1)));

    // What a thread copies: eight neighbors of a row, threads along the row first.
    const Layout a_eights = zipped_divide(Layout(tuple(BM, BK)), Tiler(tuple(32, 8)));
    const Layout a_copy = make_layout(make_layout(mode(mode(a_eights, 1), 1), mode(mode(a_eights, 0), 0)),
                                      mode(mode(a_eights, 1), 0));
    const Layout b_eights = zipped_divide(Layout(tuple(BK, BN)), Tiler(tuple(8, 8)));
    const Layout b_copy = make_layout(make_layout(mode(mode(b_eights, 1), 1), mode(mode(b_eights, 0), 0)),
                                      mode(mode(b_eights, 1), 0));
    CHECK(text(a_copy) == "((4,32),4):((1024,1),32)");
    CHECK(differences(
              {128, 4}, [&](const int* i) { return composition(as, a_copy)(i[0], i[1]); },
              [&](const int* i) { return a_at(i[0] / 4 + 32 * i[1], i[0] % 4 * 8); }) == 0);
    CHECK(differences(
              {128, 4}, [&](const int* i) { return composition(bs, b_copy)(i[0], i[1]); },
              [&](const int* i) { return b_at(i[0] / 16 + 8 * i[1], i[0] % 16 * 8); }) == 0);

    // The row of which fragment's tile whose address a lane gives: (lane, warp, i or j, k-step).
    const Layout a_16 = zipped_divide(Layout(tuple(BM, BK)), Tiler(tuple(16, 16)));
    const Layout a_warps = logical_divide(mode(mode(a_16, 1), 0), leaf(WM / 16, 1));
    const Layout a_read = make_layout(composition(mode(a_16, 0), kRows), mode(a_warps, 1), mode(a_warps, 0),
                                      mode(mode(a_16, 1), 1));
    CHECK(differences(
              {32, 2, 4, 2}, [&](const int* i) { return composition(as, a_read)(i[0], i[1], i[2], i[3]); },
              [&](const int* i) {
                  const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(i[0]);
                  return a_at(i[1] * WM + i[2] * 16 + at.row, i[3] * 16 + at.col);
              }) == 0);
    const Layout b_16 = zipped_divide(Layout(tuple(BK, BN)), Tiler(tuple(16, 16)));
    const Layout b_warps = logical_divide(mode(mode(b_16, 1), 1), leaf(WN / 16, 1));
    const Layout b_read = make_layout(composition(mode(b_16, 0), kRows), mode(b_warps, 1), mode(b_warps, 0),
                                      mode(mode(b_16, 1), 0));
    CHECK(differences(
              {32, 2, 4, 2}, [&](const int* i) { return composition(bs, b_read)(i[0], i[1], i[2], i[3]); },
              [&](const int* i) {
                  const gemm::ptx::Position at = gemm::ptx::ldmatrix_row(i[0]);
                  return b_at(i[3] * 16 + at.row, i[1] * WN + i[2] * 16 + at.col);
              }) == 0);

    // acc[i][j][e] of a lane and a warp, in a C of any pitch.
    constexpr int ldc = 1000;
    const Layout c_warps = zipped_divide(Layout(tuple(BM, BN), tuple(ldc, 1)), Tiler(tuple(WM, WN)));
    const Layout c_mmas = zipped_divide(mode(c_warps, 0), Tiler(tuple(16, 8)));
    const Layout sums = composition(mode(c_mmas, 0), kSums);
    const Layout c = make_layout(mode(sums, 0), mode(mode(c_warps, 1), 0), mode(mode(c_warps, 1), 1),
                                 mode(mode(c_mmas, 1), 0), mode(mode(c_mmas, 1), 1), mode(sums, 1));
    CHECK(differences(
              {32, 2, 2, 4, 8, 4}, [&](const int* i) { return c(i[0], i[1], i[2], i[3], i[4], i[5]); },
              [&](const int* i) {
                  const gemm::ptx::Position in = gemm::ptx::fragment_c(i[0], i[5]);
                  return (i[1] * WM + i[3] * 16 + in.row) * ldc + i[2] * WN + i[4] * 8 + in.col;
              }) == 0);
}

TEST_CASE("layout: wgmma's canonical layouts, in each swizzle mode and major") {
    constexpr unsigned leading = 4096, stride = 2048, rows = 64, steps = 64;  // bytes; elements of 2 bytes
    for (const WgmmaSwizzle mode :
         {WgmmaSwizzle::none, WgmmaSwizzle::bytes32, WgmmaSwizzle::bytes64, WgmmaSwizzle::bytes128}) {
        const WgmmaFields fields{.leading = leading, .stride = stride, .swizzle = mode};
        const int span = static_cast<int>(gemm::ptx::wgmma_span(mode)) / 2;  // elements
        const Int next = leading / 2, down = stride / 2;
        const bool plain = mode == WgmmaSwizzle::none;
        INFO("span of " << 2 * span << " bytes");
        // K-major: a row of the pattern runs along K. Eight rows are a pattern.
        const Layout k_major =
            plain ? Layout(tuple(tuple(8, 8), tuple(8, 8)), tuple(tuple(8, down), tuple(1, next)))
                  : Layout(tuple(tuple(8, 8), span), tuple(tuple(span, down), 1));
        // MN-major: a row of the pattern runs along M or N.
        const Layout mn_major =
            plain ? Layout(tuple(tuple(8, 8), tuple(8, 8)), tuple(tuple(1, down), tuple(8, next)))
                  : Layout(tuple(tuple(span, 64 / span), tuple(8, 8)),
                           tuple(tuple(1, next), tuple(span, down)));
        const Swizzle swizzle = in_elements(mode);
        const int k_steps = plain ? static_cast<int>(steps) : span;
        CHECK(differences(
                  {static_cast<int>(rows), k_steps},
                  [&](const int* i) { return 2 * composition(swizzle, k_major)(i[0], i[1]); },
                  [&](const int* i) {
                      return Int{gemm::ptx::wgmma_address(fields, Major::k, static_cast<unsigned>(i[0]),
                                                          static_cast<unsigned>(i[1]))};
                  }) == 0);
        CHECK(differences(
                  {static_cast<int>(rows), static_cast<int>(steps)},
                  [&](const int* i) { return 2 * composition(swizzle, mn_major)(i[0], i[1]); },
                  [&](const int* i) {
                      return Int{gemm::ptx::wgmma_address(fields, Major::row, static_cast<unsigned>(i[0]),
                                                          static_cast<unsigned>(i[1]))};
                  }) == 0);
    }
}

TEST_CASE("layout: the strides of 11a's descriptors are strides of its tiles, divided by a pattern") {
    constexpr int BM = 128, BN = 128, BK = 64, BOX = 64;
    constexpr unsigned SPAN = 128;  // 11a's a_at() and b_at() say .stride = 8 * SPAN and .leading = BK * SPAN
    const Layout as(tuple(BM, BK), tuple(BK, 1));
    const Layout a = zipped_divide(as, Tiler(tuple(8, BOX)));
    CHECK(2 * mode(mode(a, 1), 0).stride.value[0] == 8 * SPAN);
    // (column, step): boxes of 64 columns, one after the other.
    const Layout bs(tuple(tuple(BOX, BN / BOX), BK), tuple(tuple(1, BOX * BK), BOX));
    const Layout b = zipped_divide(bs, Tiler(tuple(BOX, 8)));
    CHECK(2 * mode(mode(b, 1), 0).stride.value[0] == BK * SPAN);
    CHECK(2 * mode(mode(b, 1), 1).stride.value[0] == 8 * SPAN);

    // Every element that a wgmma reads, from where the descriptors of 11a start.
    const Swizzle swizzle{3, 3, 3};
    for (int k = 0; k < BK; k += 16) {
        for (int row = 0; row < BM; row += 64) {
            const WgmmaFields at{.start = static_cast<unsigned>(row) * SPAN + 2 * static_cast<unsigned>(k),
                                 .stride = 8 * SPAN,
                                 .swizzle = WgmmaSwizzle::bytes128};
            CHECK(differences(
                      {64, 16},
                      [&](const int* i) { return 2 * composition(swizzle, as)(row + i[0], k + i[1]); },
                      [&](const int* i) {
                          return Int{gemm::ptx::wgmma_address(at, Major::k, static_cast<unsigned>(i[0]),
                                                              static_cast<unsigned>(i[1]))};
                      }) == 0);
        }
        const WgmmaFields at{.start = static_cast<unsigned>(k) * SPAN,
                             .leading = BK * SPAN,
                             .stride = 8 * SPAN,
                             .swizzle = WgmmaSwizzle::bytes128};
        CHECK(differences(
                  {BN, 16}, [&](const int* i) { return 2 * composition(swizzle, bs)(i[0], k + i[1]); },
                  [&](const int* i) {
                      return Int{gemm::ptx::wgmma_address(at, Major::row, static_cast<unsigned>(i[0]),
                                                          static_cast<unsigned>(i[1]))};
                  }) == 0);
    }
    // A thread's sums: (thread, index) to row + 64·column.
    const Layout sums(tuple(tuple(4, 8, 4), tuple(2, 2, 16)), tuple(tuple(128, 1, 16), tuple(64, 8, 512)));
    CHECK(differences(
              {128, 64}, [&](const int* i) { return sums(i[0], i[1]); },
              [](const int* i) {
                  const auto place =
                      gemm::ptx::wgmma_sum(static_cast<unsigned>(i[0]), static_cast<unsigned>(i[1]));
                  return Int{place.row} + 64 * Int{place.column};
              }) == 0);
}

TEST_CASE("layout: 10a reads a swizzled box of floats where its layout says") {
    // Floats have 4 bytes: 16 bytes are 2^2 of them, and a row of 128 bytes 2^5.
    const Swizzled as = composition(Swizzle{3, 2, 3}, Layout(tuple(128, 32), tuple(32, 1)));
    CHECK(differences(
              {128, 32}, [&](const int* i) { return 4 * as(i[0], i[1]); },
              [](const int* i) {
                  const int y = i[0], k = i[1], as_read = 4 * y * 32 + y % 8 * 16;  // 10a's
                  return Int{as_read ^ (k / 4 * 16)} + 4 * (k % 4);
              }) == 0);
}

TEST_CASE("layout: the three swizzle modes, in bytes, in elements and by rows") {
    for (int bits = 1; bits <= 3; ++bits) {
        INFO("mode of " << (16 << bits) << " bytes");
        const Swizzle bytes{bits, 4, 3};
        for (int e = 0; e <= 3; ++e) {  // elements of 2^e bytes
            const Swizzle elements{bits, 4 - e, 3};
            CHECK(differences(
                      {4096}, [&](const int* i) { return bytes(Int{*i} << e); },
                      [&](const int* i) { return elements(Int{*i}) << e; }) == 0);
        }
        // Chunk u of row r, of a box whose rows are as long as the mode says.
        const int chunks = 1 << bits, rows_of_a_line = 8 / chunks;
        CHECK(differences(
                  {64, chunks}, [&](const int* i) { return bytes(16 * (Int{i[0]} * chunks + i[1])); },
                  [&](const int* i) {
                      return 16 * (Int{i[0]} * chunks + (i[1] ^ i[0] / rows_of_a_line % chunks));
                  }) == 0);
        // It repeats after eight, four or two lines, and not before.
        const auto moved_by = [&](int distance) {
            return differences(
                {4096}, [&](const int* i) { return bytes(Int{*i} + distance); },
                [&](const int* i) { return bytes(Int{*i}) + distance; });
        };
        CHECK(moved_by(128 * chunks) == 0);
        CHECK(moved_by(64 * chunks) > 0);
        CHECK(moved_by(16) > 0);
    }
    // A shift by rows of 64 bytes instead of by lines is none of them.
    CHECK(differences(
              {4096},
              [](const int* i) {
                  return Swizzle{2, 4, 2}(Int{*i});
              },
              [](const int* i) {
                  return Swizzle{2, 4, 3}(Int{*i});
              }) > 0);
}

TEST_CASE("layout: a box that the copy engine brings is a swizzled layout") {
    if (test::device().sm < 90) return test::skip("the copy engine needs compute capability 9.0");
    struct Box {
        CUtensorMapSwizzle mode;
        int bits, cols;  // a row of the box is a span
    };
    for (const Box& box : {Box{CU_TENSOR_MAP_SWIZZLE_NONE, 0, 64}, Box{CU_TENSOR_MAP_SWIZZLE_32B, 1, 16},
                           Box{CU_TENSOR_MAP_SWIZZLE_64B, 2, 32}, Box{CU_TENSOR_MAP_SWIZZLE_128B, 3, 64}}) {
        INFO(box.cols << " columns of 2 bytes");
        constexpr int rows = 64, pitch = 64;
        std::vector<std::uint8_t> memory(2 * rows * pitch);
        for (std::size_t i = 0; i < memory.size(); ++i) {
            memory[i] = static_cast<std::uint8_t>(i % 2 == 0 ? i / 2 : i / 512);  // the element's number
        }
        const test::DeviceArray<std::uint8_t> tensor(memory);
        const auto columns = static_cast<cuuint64_t>(box.cols);
        kernels::TmaCase c{};
        c.map = gemm::tensor_map({.type = CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
                                  .address = tensor.data(),
                                  .sizes = {pitch, rows},
                                  .strides = {2 * pitch},
                                  .box = {static_cast<cuuint32_t>(columns), rows},
                                  .swizzle = box.mode});
        c.rank = 2;
        c.phases = 1;
        c.box_bytes = c.bytes = static_cast<unsigned>(2 * rows * box.cols);
        const test::DeviceArray<std::uint8_t> shared(c.bytes);
        kernels::tma_load(c, shared.data());
        const std::vector<std::uint8_t> there = shared.host();
        const Swizzled place =
            composition(Swizzle{box.bits, 3, 3}, Layout(tuple(rows, box.cols), tuple(box.cols, 1)));
        CHECK(differences(
                  {rows, box.cols},
                  [&](const int* i) {
                      const auto at = static_cast<std::size_t>(2 * place(i[0], i[1]));
                      return Int{there[at]} + 256 * Int{there[at + 1]};
                  },
                  [](const int* i) { return Int{i[0]} * pitch + i[1]; }) == 0);
    }
}
