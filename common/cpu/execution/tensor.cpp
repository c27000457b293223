#include "common/cpu/ptx/tensor.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include "common/cpu/execution/block.hpp"
#include "common/cpu/execution/scheduler.hpp"
#include "common/cpu/execution/tolerance.hpp"
#include "common/cpu/ptx/narrow_float.hpp"
#include "common/error.hpp"
#include "common/ptx/fragments.hpp"

namespace cpu_device {
namespace {

using gemm::ptx::Position;

/// The operands of a lane, which warp_instruction() passes on as numbers.
template <class Operands>
Operands& of_lane(const std::uint64_t* in, int lane) {
    return *reinterpret_cast<Operands*>(in[lane]);
}

std::uint16_t half_of(std::uint32_t pair, int half) {
    return static_cast<std::uint16_t>(pair >> (16 * half));
}

struct Load {
    std::uint32_t* registers;
    int count;
    std::uint16_t row[8];
};

template <bool TRANSPOSED>
void distribute(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    for (int lane = 0; lane < kWarp; ++lane) {
        const Load& load = of_lane<Load>(in, lane);
        for (int m = 0; m < load.count; ++m) {
            std::uint32_t pair = 0;
            for (int half = 0; half < 2; ++half) {
                const Position p = TRANSPOSED ? gemm::ptx::ldmatrix_trans_element(lane, half)
                                              : gemm::ptx::ldmatrix_element(lane, half);
                const std::uint32_t bits = of_lane<Load>(in, 8 * m + p.row).row[p.col];
                pair |= bits << (16 * half);
            }
            load.registers[m] = pair;
        }
    }
}

struct Store {
    const std::uint32_t* registers;
    int count;
    std::uint16_t row[8];
};

template <bool TRANSPOSED>
void collect(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    for (int lane = 0; lane < kWarp; ++lane) {
        const Store& store = of_lane<Store>(in, lane);
        for (int m = 0; m < store.count; ++m) {
            for (int half = 0; half < 2; ++half) {
                const Position p = TRANSPOSED ? gemm::ptx::ldmatrix_trans_element(lane, half)
                                              : gemm::ptx::ldmatrix_element(lane, half);
                of_lane<Store>(in, 8 * m + p.row).row[p.col] = half_of(store.registers[m], half);
            }
        }
    }
}

template <Input INPUT>
double value(std::uint16_t bits) {
    return static_cast<double>(INPUT == Input::half ? value_of_half(bits) : value_of_bfloat16(bits));
}

/// c += a·b, 16×16 by 16×N.
template <int N>
void multiply(const std::array<std::array<double, 16>, 16>& a, const std::array<std::array<double, N>, 16>& b,
              std::array<std::array<double, N>, 16>& c) {
    for (std::size_t k = 0; k < 16; ++k) {
        // Steps where both are zeros, behind the end of K, add nothing; a kernel that pads K multiplies many.
        bool zeros = std::all_of(b[k].begin(), b[k].end(), [](double x) { return x == 0.0; });
        for (std::size_t i = 0; zeros && i < 16; ++i) zeros = a[i][k] == 0.0;
        if (zeros) continue;
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t j = 0; j < N; ++j) c[i][j] += a[i][k] * b[k][j];
        }
    }
}

template <class Matrix>
auto& at(Matrix& matrix, Position p) {
    return matrix[static_cast<std::size_t>(p.row)][static_cast<std::size_t>(p.col)];
}

struct Multiply {
    float* acc;
    const std::uint32_t *a, *b;
};

template <Input INPUT>
void multiply_all(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    std::array<std::array<double, 16>, 16> a;
    std::array<std::array<double, 8>, 16> b, c;
    for (int lane = 0; lane < kWarp; ++lane) {
        const Multiply& mine = of_lane<Multiply>(in, lane);
        for (int half = 0; half < 2; ++half) {
            for (int r = 0; r < 4; ++r) {
                at(a, gemm::ptx::fragment_a(lane, r, half)) = value<INPUT>(half_of(mine.a[r], half));
            }
            for (int r = 0; r < 2; ++r) {
                at(b, gemm::ptx::fragment_b(lane, r, half)) = value<INPUT>(half_of(mine.b[r], half));
            }
        }
        for (int i = 0; i < 4; ++i) {
            at(c, gemm::ptx::fragment_c(lane, i)) = static_cast<double>(mine.acc[i]);
        }
    }
    multiply<8>(a, b, c);
    for (int lane = 0; lane < kWarp; ++lane) {
        float* acc = of_lane<Multiply>(in, lane).acc;
        for (int i = 0; i < 4; ++i) acc[i] = static_cast<float>(at(c, gemm::ptx::fragment_c(lane, i)));
    }
}

struct Move {
    const void* start;
    unsigned pitch;
    Site site;
};

void compare_moves(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    const Move& first = of_lane<Move>(in, 0);
    for (int lane = 1; lane < kWarp; ++lane) {
        const Move& other = of_lane<Move>(in, lane);
        if (other.start == first.start && other.pitch == first.pitch) continue;
        throw gemm::Error(std::string(first.site.what) + " at " + first.site.file + ":" +
                          std::to_string(first.site.line) + ": lanes 0 and " + std::to_string(lane) +
                          " of the warp name different " +
                          (other.start == first.start ? "pitches." : "addresses."));
    }
}

struct Wmma {
    float* d;
    WmmaInput a, b;
    const float* c;
};

Position wmma_input(int lane, int pair, int half, bool column_major) {
    const Position p = gemm::ptx::fragment_a(lane, pair, half);
    return column_major ? Position{p.col, p.row} : p;
}
std::uint32_t pair_of(const WmmaInput& input, int pair) {
    std::uint32_t bits;
    std::memcpy(&bits, static_cast<const std::byte*>(input.elements) + 4 * pair, 4);
    return bits;
}

template <Input INPUT>
void wmma_all(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    std::array<std::array<double, 16>, 16> a, b, c;
    for (int lane = 0; lane < kWarp; ++lane) {
        const Wmma& mine = of_lane<Wmma>(in, lane);
        for (int r = 0; r < 4; ++r) {
            for (int half = 0; half < 2; ++half) {
                at(a, wmma_input(lane, r, half, mine.a.column_major)) =
                    value<INPUT>(half_of(pair_of(mine.a, r), half));
                at(b, wmma_input(lane, r, half, mine.b.column_major)) =
                    value<INPUT>(half_of(pair_of(mine.b, r), half));
            }
        }
        for (int i = 0; i < 8; ++i) at(c, wmma_sum(lane, i)) = static_cast<double>(mine.c[i]);
    }
    multiply<16>(a, b, c);
    for (int lane = 0; lane < kWarp; ++lane) {
        float* d = of_lane<Wmma>(in, lane).d;
        for (int i = 0; i < 8; ++i) d[i] = static_cast<float>(at(c, wmma_sum(lane, i)));
    }
}

void multiply_all_shares(unsigned, const std::uint64_t* in, const int*, int, std::uint64_t*) {
    constexpr std::size_t kMost = 32;
    std::array<std::array<double, kMost>, kMost> a{}, b{}, c{};
    for (int lane = 0; lane < kWarp; ++lane) {
        const auto& mine = of_lane<Share>(in, lane);
        for (int i = 0; i < mine.a.count; ++i) at(a, mine.a.at[i]) = mine.a.value[i];
        for (int i = 0; i < mine.b.count; ++i) at(b, mine.b.at[i]) = mine.b.value[i];
        for (int i = 0; i < mine.c.count; ++i) at(c, mine.c.at[i]) = mine.c.value[i];
    }
    const auto& first = of_lane<Share>(in, 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(first.m); ++i) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(first.k); ++k) {
            for (std::size_t j = 0; j < static_cast<std::size_t>(first.n); ++j) c[i][j] += a[i][k] * b[k][j];
        }
    }
    for (int lane = 0; lane < kWarp; ++lane) {
        Share::Matrix& sums = of_lane<Share>(in, lane).c;
        for (int i = 0; i < sums.count; ++i) sums.value[i] = at(c, sums.at[i]);
    }
}

}  // namespace

void load_matrices(std::uint32_t* registers, int count, bool transposed, const void* row, Site site) {
    Load load{registers, count, {}};
    read_matrix_row(__builtin_return_address(0), row, lane() < 8 * count ? load.row : nullptr, site);
    warp_instruction(transposed ? distribute<true> : distribute<false>, &load, site);
}

void store_matrices(void* row, const std::uint32_t* registers, int count, bool transposed, Site site) {
    Store store{registers, count, {}};
    warp_instruction(transposed ? collect<true> : collect<false>, &store, site);
    write_matrix_row(__builtin_return_address(0), row, lane() < 8 * count ? store.row : nullptr, site);
}

void multiply_fragments(float* acc, const std::uint32_t* a, const std::uint32_t* b, Input input, Site site) {
    Multiply operands{acc, a, b};
    warp_instruction(input == Input::half ? multiply_all<Input::half> : multiply_all<Input::bfloat16>,
                     &operands, site);
}

void check_wmma_memory(const void* start, unsigned pitch, std::size_t element_bytes, Site site) {
    const auto where = [&] {  // Not before it is needed: this is on every load's way.
        return std::string(site.what) + " at " + site.file + ":" + std::to_string(site.line);
    };
    if (reinterpret_cast<std::uintptr_t>(start) % 32 != 0) {
        InWords words;
        const std::string why = where() + " names an address that is not a multiple of 32.";
        // 16 bytes are as much as the instructions want that it becomes.
        if (!words.goes_on(reinterpret_cast<std::uintptr_t>(start) % 16 == 0 &&
                           tolerates(gemm::FaultId::kernel_threw, where(), why)))
            throw gemm::Error(why);
    }
    if (pitch * element_bytes % 16 != 0)
        throw gemm::Error(where() + " names a pitch that is not a multiple of 16 bytes.");
}

void wmma_moved(const void* start, unsigned pitch, Site site) {
    Move move{start, pitch, site};
    warp_instruction(compare_moves, &move, site);
}

void wmma_multiply(float* d, WmmaInput a, WmmaInput b, const float* c, Input input, Site site) {
    Wmma operands{d, a, b, c};
    warp_instruction(input == Input::half ? wmma_all<Input::half> : wmma_all<Input::bfloat16>, &operands,
                     site);
}

void multiply_shares(Share& share, Site site) {
    warp_instruction(multiply_all_shares, &share, site);
}

}  // namespace cpu_device
