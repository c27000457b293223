// stmatrix and barriers for a part of a block, on a GPU and on the CPU device alike.
#include "tests/ptx/results.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "tests/device_array.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"

namespace {

using kernels::Meeting;
using kernels::StMatrix;
using test::DeviceArray;

bool too_old() {
    if (test::device().sm >= 90 && test::device().sm < 100) return false;
    test::skip("stmatrix came with compute capability 9.0, and its kernels are compiled for that alone");
    return true;
}

}  // namespace

TEST_CASE("results: stmatrix in all its forms") {
    if (too_old()) return;
    std::mt19937 random(static_cast<unsigned>(test::seed()));
    std::vector<std::uint32_t> registers(32 * 4);
    for (auto& pair : registers) pair = static_cast<std::uint32_t>(random());
    std::vector<std::uint16_t> before(32 * 8);
    for (auto& element : before) element = static_cast<std::uint16_t>(random());
    std::vector<int> order(32);
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::shuffle(order.begin(), order.end(), random);
    const DeviceArray<std::uint32_t> in(registers);
    for (const auto& [kind, count, trans] :
         {std::tuple{StMatrix::x1, 1, false}, std::tuple{StMatrix::x2, 2, false},
          std::tuple{StMatrix::x4, 4, false}, std::tuple{StMatrix::x1_trans, 1, true},
          std::tuple{StMatrix::x2_trans, 2, true}, std::tuple{StMatrix::x4_trans, 4, true}}) {
        std::vector<int> rows = order;
        std::fill(rows.begin() + 8 * count, rows.end(), -1);
        const DeviceArray<int> row(rows);
        const DeviceArray<std::uint16_t> tile(before);
        kernels::stmatrix(kind, in.data(), row.data(), tile.data());
        std::vector<std::uint16_t> expected = before;
        for (int m = 0; m < count; ++m) {
            for (int lane = 0; lane < 32; ++lane) {
                for (int half = 0; half < 2; ++half) {
                    // PTX ISA, "stmatrix": thread T holds elements 2·(T mod 4) and the next of row T / 4, of
                    // the transposed matrix where .trans is given.
                    const int i = lane / 4, j = 2 * (lane % 4) + half;
                    const auto to =
                        static_cast<std::size_t>(order[static_cast<std::size_t>(8 * m + (trans ? j : i))]);
                    expected[8 * to + static_cast<std::size_t>(trans ? i : j)] = static_cast<std::uint16_t>(
                        registers[static_cast<std::size_t>(4 * lane + m)] >> (16 * half));
                }
            }
        }
        INFO("kind " << static_cast<int>(kind));
        REQUIRE(tile.host() == expected);
    }
}

TEST_CASE("results: groups of threads meet at barriers of their own") {
    if (too_old()) return;
    constexpr int rounds = 9;
    for (const int schedule : {0, 1, 2, 5}) {
        const test::Schedule drawn(schedule);
        const DeviceArray<float> out(384);
        kernels::meet(Meeting::right, rounds, out.data());
        const std::vector<float> got = out.host();
        for (int t = 0; t < 384; ++t) {
            const int opposite = t / 128 * 128 + 127 - t % 128;
            REQUIRE(got[static_cast<std::size_t>(t)] ==
                    static_cast<float>(opposite * rounds * (rounds + 1) / 2));
        }
    }
}

#ifdef GEMM_CPU_DEVICE

TEST_CASE("results: a barrier that not enough can come to is an error that says it") {
    const auto meeting = [](Meeting kind) {
        return [kind] {
            const DeviceArray<float> out(384);
            kernels::meet(kind, 3, out.data());
        };
    };
    test::require_faults(
        "named_barriers",
        {{"a_warp_is_away", gemm::FaultId::divergent_barrier, meeting(Meeting::a_warp_is_away)},
         {"other_number", gemm::FaultId::divergent_barrier, meeting(Meeting::other_number)},
         {"number_zero", gemm::FaultId::divergent_barrier, meeting(Meeting::number_zero)},
         {"no_whole_warps", gemm::FaultId::divergent_barrier, meeting(Meeting::no_whole_warps)}});
}

#endif
