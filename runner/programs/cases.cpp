// Which problems a kernel is checked with.
#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <random>
#include <string_view>

#include "common/check/dtype.hpp"
#include "common/check/operands.hpp"
#include "common/check/variant.hpp"
#include "common/error.hpp"
#include "runner/programs/cases.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#endif

namespace gemm {
namespace {

// However large the tiles are: tracing must stay a matter of milliseconds.
constexpr std::int64_t kMostSide = 512, kMostSteps = 256;
// k-tiles where a C tile is that much work.
constexpr std::int64_t kLargeTile = std::int64_t{1} << 19;
// A case whose K is beyond that, so that a counter of 8 or 9 bits runs over, has one small tile of C.
constexpr std::int64_t kLong = 512, kLongRows = 32, kLongColumns = 128;
// Products have a C of so many rows and columns, at most: what they are about is in its first tile.
constexpr std::int64_t kProductRows = 40, kProductColumns = 72;
constexpr std::int64_t kMany = 65536;  // more than 16 bits count
constexpr std::int64_t kMeant = 17;    // rows and columns of a C that has enough elements for a mean
constexpr std::int64_t kManyBlocks = 8 * kMany;  // also by groups of eight
constexpr std::int64_t kFewRows = 4096;          // of a C that may be padded by a tile
constexpr std::int64_t kFewSteps = 3;            // k-tiles of a path that is about what comes after them
constexpr int kWholeGpu = 100;                   // multiprocessors: a path of which has few C tiles for each
constexpr std::int64_t kFewTiles = 16;           // of C, that a path is run with in whole
constexpr std::int64_t kElsewhere = 64;          // elements: an address that allows all that others do
#ifdef GEMM_CPU_DEVICE
constexpr bool kOnCpu = true;
#else
constexpr bool kOnCpu = false;
#endif

/// Sizes and scalars. The same for a seed on every machine, which std's distributions are not.
class Draw {
  public:
    explicit Draw(std::uint64_t seed) : engine_(seed) {}

    std::int64_t from(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most - least + 1));
    }
    /// An odd number, no multiple of `unit` where that is above 1. There must be one. `far`: nor one less
    /// than a multiple, where a guard that is missing reaches as far as one that is off by one.
    std::int64_t odd(std::int64_t least, std::int64_t most, std::int64_t unit, bool far = false) {
        for (;;) {
            const std::int64_t n = from(least, most);
            const bool near = far && unit > 2 && n % unit == unit - 1;
            if (n % 2 != 0 && (unit == 1 || n % unit != 0) && !near) return n;
        }
    }
    /// ±1/8 … ±15/8 but not ±1: exact in binary, short in decimal, and nothing that a kernel may take for a
    /// default.
    float scalar() {
        for (;;) {
            const std::int64_t eighths = from(1, 15);
            if (eighths != 8) return sign() * static_cast<float>(eighths) / 8.0f;
        }
    }
    /// A whole number: ±2 … ±15.
    float whole() { return sign() * static_cast<float>(from(2, 15)); }
    /// One that neither BF16 nor FP16 has, nor anything near: halfway between two that BF16 has, and of two
    /// that FP16 has.
    float long_scalar() {
        constexpr float kHalfway[] = {0.2511f, 0.5022f, 1.0044f};
        return sign() * kHalfway[from(0, 2)];
    }

  private:
    float sign() { return from(0, 1) == 0 ? 1.0f : -1.0f; }
    std::mt19937_64 engine_;
};

std::string number(float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    return text;
}

class CaseList {
  public:
    CaseList(const Lesson& lesson, std::uint64_t seed, bool long_k)
        : lesson_(lesson),
          BM(lesson.tile().BM),
          BN(lesson.tile().BN),
          BK(lesson.tile().BK),
          long_k_(long_k),
          draw_(seed) {
        variant_ = lesson.variant();
        // Elements of 16 bytes, the most that a thread loads at once.
        vector_ = 16 / static_cast<std::int64_t>(size_of(variant_.A));
        // Where there are no tiles along K, 32 steps take their place.
        steps_ = BK > 1 ? BK : 32;
        const std::int64_t rounds = BM * BN * steps_ >= kLargeTile ? 2 : 3;
        most_steps_ = std::min(rounds * steps_, kMostSteps);
    }

    std::vector<CheckCase> cases() {
        sizes();
        scalars();
        little();
        again();
        const std::size_t alone = cases_.size();
        batches();
        products();
        types();
        few_tiles_ = false;
        paths();
        numbers();
        alignments();
        orders();
        if (kOnCpu) indices();
        for (std::size_t i = 0; i < cases_.size(); ++i) {
            if (i >= alone) put_in_batch(cases_[i], i);
            cases_[i].shape = cases_[i].shape.in_whole_bytes().resolved();
        }
        return std::move(cases_);
    }

    std::vector<CheckCase> remainders() {
        // Strides without a common divisor with any tile meet each remainder once, and not the same ones
        // together.
        constexpr std::int64_t kStride = 37, kOther = 101;
        const std::int64_t first = draw_.from(0, kMostSide);
        const std::int64_t wide = std::min(std::max({BM, BN, steps_}), kMostSide);
        for (std::int64_t i = first; i < first + wide; ++i) {
            CheckCase& c = add("remainders", "another remainder of M, N and K by the tile", 1 + i % BM,
                               1 + i * kStride % BN, 1 + i * kOther % steps_);
            vary(c, i);
        }
        const std::int64_t most = 2 * stages();
        for (std::int64_t i = first; i < first + std::max(steps_, most); ++i) {
            CheckCase& c = add("remainders", "another number of k-tiles, or of steps after them", kMeant,
                               kMeant + 2, (1 + i % most) * steps_ + i * kOther % steps_);
            vary(c, i);
        }
        vary(add("remainders", "K beyond 1024", kMeant, kMeant + 2, draw_.odd(1025, 4099, 2)), first);
        for (std::size_t i = 0; i < cases_.size(); ++i) {
            put_in_batch(cases_[i], i);
            cases_[i].shape = cases_[i].shape.in_whole_bytes().resolved();
        }
        return std::move(cases_);
    }

  private:
    /// Of the lesson's ring; 2 where it has none.
    std::int64_t stages() const {
        for (const Constant& constant : lesson_.configuration().constants) {
            if (std::string_view(constant.name) == "STAGES") return constant.value;
        }
        return 2;
    }
    // Where C is of integers, scalars are whole numbers.
    float scalar() { return is_integer(variant_.C) ? draw_.whole() : draw_.scalar(); }
    float long_scalar() { return is_integer(variant_.C) ? draw_.whole() : draw_.long_scalar(); }

    /// Every second one without beta, every third one with padding.
    void vary(CheckCase& c, std::int64_t i) {
        c.untraced = true;
        c.shape.alpha = scalar();
        if (i % 2 == 0) c.shape.beta = scalar();
        if (i % 3 == 0) pad(c, 1);
    }

    CheckCase& add(const char* id, std::string what, std::int64_t m, std::int64_t n, std::int64_t k) {
        Shape shape;
        shape.M = m;
        shape.N = n;
        shape.K = k;
        shape.variant = variant_;
        return cases_.emplace_back(CheckCase{id, std::move(what), shape});
    }

    // ---- sizes ----

    static std::int64_t side(std::int64_t n) { return std::min(n, kMostSide); }
    /// One C tile, or several where they are small.
    static std::int64_t tiles(std::int64_t t) { return side(t < 16 ? 2 * t : t); }
    std::int64_t most_of(std::int64_t t) const { return side(t <= 64 ? 3 * t : few_tiles_ ? t : 2 * t); }
    /// Below and above one tile.
    std::int64_t odd_side(std::int64_t t, bool far = false) {
        return draw_.odd(std::min(t / 2 + 1, kMostSide / 2), std::max<std::int64_t>(most_of(t), 7), t, far);
    }
    std::int64_t odd_steps(bool far = false) {
        return draw_.odd(std::min(steps_ + 1, kMostSteps / 2), std::max<std::int64_t>(most_steps_, 7), BK,
                         far);
    }
    /// Beyond one tile, however large it is: in the last one a row's end is not what it is in the first.
    std::int64_t second_tile(std::int64_t t) {
        return draw_.odd(std::min(t + 1, kMostSide / 2),
                         std::max<std::int64_t>(side(t <= 64 ? 3 * t : 2 * t), 7), t, true);
    }
    /// A multiple of 16 bytes and of no tile, unless tiles are smaller than that; above `least`.
    std::int64_t fours(std::int64_t t, std::int64_t most, std::int64_t least = 0) {
        const std::int64_t first = least / vector_ + 1;
        for (;;) {
            const std::int64_t n = vector_ * draw_.from(first, std::max(most / vector_, first + 2));
            if (vector_ % t == 0 || n % t != 0) return n;
        }
    }
    /// Three different widths of padding: a pitch that is taken for another one shows. With padding between
    /// the rows, what leaves a row does not land in the next one unseen.
    CheckCase& pad(CheckCase& c, std::int64_t unit) {
        Shape& shape = c.shape;
        const std::int64_t least = unit * draw_.from(1, 4);
        shape.lda = shape.a_cols() + least;
        const std::int64_t more = least + unit * draw_.from(1, 4);
        shape.ldb = shape.b_cols() + more;
        shape.ldc = shape.N + more + unit * draw_.from(1, 4);
        pad_others(shape, shape.ldc, unit);
        return c;
    }
    /// Those beside A, B and C: each by `unit` more than the one before; `last` is C's.
    static void pad_others(Shape& shape, std::int64_t last, std::int64_t unit) {
        for (const Operand& o : operands(shape.problem())) {
            if (o.id > OperandId::C && o.pitch_name != nullptr) *pitch_in(shape, o.id) = last += unit;
        }
    }
    /// Of the matrix that is written.
    std::int64_t& result_pitch(Shape& s) const { return variant_.D ? s.ldd : s.ldc; }
    OperandId result() const { return variant_.D ? OperandId::D : OperandId::C; }
    static void set_offsets(Shape& s, std::int64_t offset) { s.offsets.fill(offset); }

    void sizes() {
        // Square, so that swapped indices stay inside the matrices and are recognised by what comes out.
        const std::int64_t square = std::min(std::max({BM, BN, BK}), kMostSteps);
        add("one_tile", "a square matrix of one C tile", square, square, square);
        add("tiles", "several C tiles in each direction", side(2 * BM), side(3 * BN), most_steps_);
        // Below the first row of tiles there is another: tiles that are counted by a pitch go astray there.
        pad(add("pitches", "rows that are padded: lda, ldb and ldc above K, N and N", side(2 * BM), tiles(BN),
                std::min(2 * steps_, kMostSteps)),
            vector_);
        const std::int64_t rows = second_tile(BM);
        pad(add("edges", "M and N that are not multiples of the C tile", rows, second_tile(BN),
                std::min(steps_, kMostSteps)),
            1);
        pad(add("k_tail", "K that is not a multiple of BK", tiles(BM), tiles(BN), odd_steps(true)), 1);
        if (BK > 2) {
            pad(add("k_tail", "K that is smaller than BK", tiles(BM), tiles(BN),
                    draw_.odd(1, std::min(BK - 1, kMostSteps), BK, true)),
                1);
        }
        Shape& deep = pad(add("k_tail", "K beyond 512", std::min(BM, kLongRows), std::min(BN, kLongColumns),
                              draw_.odd(kLong + 3, kLong + 33, BK, true)),
                          1)
                          .shape;
        // Its rows never allow 16 bytes at once: no other case takes a ring that far with narrow copies.
        const std::int64_t more = deep.ldb % vector_ == 0 ? 1 : 0;
        deep.ldb += more;
        deep.ldc += more;
        // Where a kernel takes four floats or eight shorter numbers at once it must still look at the edges,
        // and at every row's alignment.
        const std::int64_t k = fours(BK, most_steps_),
                           tall = fours(BM, side(3 * BM / 2), std::min(BM, kMostSide / 2));
        add("fours", "M, N and K that are multiples of " + std::to_string(vector_) + " and of no tile", tall,
            fours(BN, side(3 * BN / 2), std::min(BN, kMostSide / 2)), k);
        const std::int64_t m = fours(BM, tiles(BM)), n = fours(BN, tiles(BN));
        Shape& unaligned = add("fours", "rows that do not begin at multiples of 16 bytes", m, n, k).shape;
        unaligned.lda = unaligned.a_cols() + 1;
        unaligned.ldb = unaligned.b_cols() + (vector_ == 4 ? 2 : 5);
        unaligned.ldc = n + 3;
        pad_others(unaligned, unaligned.ldc, 2);
        if (vector_ > 4) {  // a thread may still take half as many of them at once there
            Shape& half =
                add("fours", "rows that begin at multiples of 8 bytes but not of 16", m, n, k).shape;
            half.lda = half.a_cols() + vector_ / 2;
            half.ldb = half.b_cols() + vector_ / 2;
            half.ldc = n + vector_ + vector_ / 2;
            pad_others(half, half.ldc, vector_);
        }
        odd("odd", "M, N and K that are not multiples of the tile, without padding");
    }

    CheckCase& odd(const char* id, const char* what) {
        const std::int64_t m = odd_side(BM), n = odd_side(BN);
        return add(id, what, m, n, odd_steps());
    }

    // ---- one scalar after the other ----

    void scalars() {
        few_tiles_ = true;  // several are right by now
        odd("beta", "beta that is not 0").shape.beta = scalar();
        odd("alpha_alone", "alpha that is not 1, without beta").shape.alpha = scalar();
        Shape& both = odd("alpha", "alpha that is not 1, with beta").shape;
        both.beta = scalar();
        do {
            both.alpha = scalar();
        } while (both.alpha == both.beta);
        CheckCase& without = odd("alpha_zero", "alpha = 0, where A and B must not be read");
        without.shape.alpha = 0.0f;
        without.shape.beta = scalar();
        without.nan_inputs = true;
        Shape& nothing = odd("k_zero", "K = 0, which leaves beta·C").shape;
        nothing.K = 0;
        nothing.beta = scalar();
    }

    CheckCase& scaled(const char* id, const std::string& what, float alpha) {
        CheckCase& c = add(id, what, small(kProductRows), small(kProductColumns), draw_.odd(7, 15, 2));
        c.shape.alpha = alpha;
        c.shape.beta = scalar();
        return c;
    }

    /// What a kernel may take for nothing, or for too much.
    void numbers() {
        if (is_integer(variant_.C)) return;  // which has none of them
        for (const bool with_scalars : {false, true}) {
            CheckCase& c = add("numbers", "NaN, infinity and 0 in A and B", small(kProductRows),
                               small(kProductColumns), draw_.odd(steps_ + 1, steps_ + 15, 2));
            c.specials = true;
            if (with_scalars) {
                c.shape.alpha = scalar();
                c.shape.beta = scalar();
            }
        }
        for (const float alpha : {1e5f, -1e5f}) scaled("numbers", "alpha = " + number(alpha), alpha);
        scaled("numbers", "beta = NaN", scalar()).shape.beta = std::numeric_limits<float>::quiet_NaN();
    }

    void little() {
        add("small", "a matrix of one element", 1, 1, 1);
        add("small", "a C of one row", 1, odd_side(BN), odd_steps());
        const std::int64_t column = odd_side(BM);
        add("small", "a C of one column", column, 1, odd_steps());
        add("empty", "M = 0, where there is nothing to do", 0, odd_side(BN), odd_steps());
        const std::int64_t tall = odd_side(BM);
        add("empty", "N = 0, where there is nothing to do", tall, 0, odd_steps());
    }

    void again() {
        CheckCase& c = add("again", "a second launch with the same pointers and sizes, and other numbers",
                           small(kProductRows), small(kProductColumns), vector_ + 1);
        c.earlier = Earlier::other_numbers;
        c.shape.beta = scalar();
        // Right behind it: what was made for these sizes before must not be taken for these matrices.
        Shape same = c.shape;
        for (std::size_t i = 0; i < same.offsets.size(); ++i)
            same.offsets[i] = static_cast<std::int64_t>(i + 1) * kElsewhere;
        add("elsewhere", "the same sizes with matrices at other addresses", 0, 0, 0).shape = same;
        // Nor must what an address or a size allows, for one that allows less.
        const std::int64_t n = 2 * vector_;
        const auto of = [&](const char* what, std::int64_t size) -> CheckCase& {
            CheckCase& one = add("elsewhere", what, n, size, size);
            one.shape.beta = same.beta;
            return one;
        };
        of("sizes and addresses that are multiples of 16 bytes", n);
        set_offsets(of("the same sizes with matrices one element past that", n).shape, 1);
        of("a second launch with the same pointers, and odd sizes", n + 1).earlier = Earlier::narrower;
        CheckCase& padded = of("a second launch with the same pointers and sizes, and padded rows", n);
        pad(padded, vector_).earlier = Earlier::tight;
        padded.shape.beta = 0.0f;  // C's pitch may be kept, too, of stores that do not read it
        of("a second launch with the same matrices, after one with alpha = 0", n).earlier =
            Earlier::without_product;
    }

    // ---- batches ----

    /// Several problems, of which those before were each alone.
    void batches() {
        if (variant_.batch == Batch::one) return;
        const auto of = [&](std::int64_t batch, const char* what) -> Shape& {
            Shape& s = add("batch", what, small(kProductRows), small(kProductColumns), vector_ + 1).shape;
            s.batch = batch;
            return s;
        };
        if (variant_.batch == Batch::strided) {
            of(3, "problems right behind each other");
            spread(of(3, "problems with something between them, at multiples of 16 bytes"), vector_);
            spread(of(3, "problems with something between them"), 1);
        } else {
            of(usual_batch(variant_), "problems of several sizes, one without rows, one of 1×1×1");
            groups();
        }
        of(0, "a batch of no problems");
    }

    /// Sizes in another order, each of which is 0 in one problem; rows of all with padding of their own.
    void groups() {
        const std::int64_t m = small(kProductRows), n = small(kProductColumns), k = vector_ + 1;
        CheckCase& c =
            add("batch", "problems of which the largest comes last, and one without steps", m, n, k);
        Shape& s = c.shape;
        s.beta = scalar();
        for (const auto& [M, N, K] : {std::array{std::int64_t{1}, std::int64_t{1}, std::int64_t{1}},
                                      {0, n, k},
                                      {m, n, 0},
                                      {m, 0, k},
                                      {2, n, 3},
                                      {m, n, k}}) {
            s.groups.push_back({.M = M, .N = N, .K = K});
        }
        cases_.push_back(c);  // (copied before the list grows)
        cases_.back().what = "the same problems with padded rows";
        std::int64_t more = 0;
        for (Group& g : cases_.back().shape.groups) {
            const bool ta = variant_.a_transposed(), tb = variant_.b_transposed();
            g.lda = (ta ? g.M : g.K) + ++more;
            g.ldb = (tb ? g.K : g.N) + ++more;
            g.ldc = g.N + ++more;
            if (variant_.D) g.ldd = g.N + ++more;
        }
    }

    /// Strides that are longer than they must be, of each matrix by more than of the one before.
    static void spread(Shape& s, std::int64_t unit) {
        s = s.in_whole_bytes().resolved();
        std::int64_t more = 0;
        for (const Operand& o : operands(s.problem())) {
            if (o.stride_name != nullptr) *stride_in(s, o.id) = o.size() + (more += unit);
        }
    }

    /// What is difficult alone, or several things together, in two problems of a batch. Not of what is about
    /// indices, or of single blocks.
    static void put_in_batch(CheckCase& c, std::size_t number) {
        Shape& s = c.shape;
        const bool whole = s.stored == Stored::whole && c.blocks.empty();
        if (s.variant.batch == Batch::one || c.id == "batch" || !whole) return;
        s.batch = 2;
        const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(s.variant.A));
        if (number % 3 != 0) spread(s, number % 3 == 1 ? vector : 3);
    }

    /// Grids of C tiles, each of which has to be computed once. A float's 1/41 is not large enough.
    void orders() {
        for (const auto& [rows, columns] : {std::pair{4, 4}, {3, 5}, {9, 2}, {17, 3}, {2, 41}}) {
            CheckCase& c = add("order", std::to_string(rows) + "×" + std::to_string(columns) + " tiles of C",
                               rows * BM - 1, columns * BN - 1, 1);
            c.shape.beta = scalar();
            c.untraced = true;
        }
    }

    /// One thing after the other that is off by 4 or 8 bytes, where all others allow 16 at once.
    void alignments() {
        for (const std::int64_t bytes : {4, 8}) {
            const std::int64_t off = bytes * vector_ / 16;
            const auto like = [&](const std::string& what, std::int64_t columns) -> Shape& {
                CheckCase& c =
                    add("alignment", what + std::to_string(bytes) + " bytes off, all else at multiples of 16",
                        small(kProductRows), columns, 2 * vector_ + whole(std::min(steps_, kMostSteps)));
                Shape& s = c.shape;
                s.lda = s.a_cols() + vector_;
                s.ldb = s.b_cols() + vector_;
                s.ldc = s.N + 2 * vector_;
                pad_others(s, s.ldc, vector_);
                s.alpha = scalar();
                return s;
            };
            const std::int64_t some = 2 * vector_ + whole(std::min(BN, kProductColumns));
            // One C tile of whole rows, which a store of 16 bytes may take, and that is not right.
            const std::int64_t tile = whole(std::min(BN, kMostSide));
            const auto with_beta = [&](Shape& s) -> Shape& {
                if (bytes == 4) s.beta = scalar();
                return s;
            };
            Shape any;
            any.variant = variant_;
            const std::vector<Operand> all = operands(any.problem());
            const auto of = [&](const Operand& o, const char* what) -> Shape& {
                if (o.role != Role::in) return like(what, tile);
                Shape& s = with_beta(like(what, some));
                if (o.id == OperandId::C && s.beta == 0.0f) s.beta = 1.0f;  // or it is not read
                return s;
            };
            for (const Operand& o : all)
                of(o, (std::string(o.name) + " begins ").c_str()).offsets[place_of(o.id)] = off;
            for (const Operand& o : all) {
                if (o.pitch_name == nullptr) continue;
                *pitch_in(of(o, (std::string(o.pitch_name) + " is ").c_str()), o.id) += off;
            }
            like("N is ", tile).N -= off;
            with_beta(like("K is ", some)).K -= off;
        }
    }

    // ---- products of difficulties ----

    /// Odd, and not far below `most`.
    std::int64_t small(std::int64_t most) { return draw_.odd(most / 2, most - 1, 2); }

    /// Where rows begin, for a product. The first four are what a path of 16 bytes at once may take, the
    /// others are not.
    enum Place { tight, whole_tile, padded, padded_tile, odd_sizes, odd_pitches, one_off, all_off };
    static constexpr std::size_t kOddN = 0, kOddK = 1, kAll = 3;

    /// Makes the case's sizes and pitches what the place says. deep: beyond one tile along K; else within
    /// one. which: matrix is off, of one_off; of odd_sizes and odd_pitches which one is odd, where the others
    /// would do for 16 bytes at once (all of them from kAll on).
    void put(CheckCase& c, Place place, bool deep, std::size_t which) {
        Shape& s = c.shape;
        const bool odd_n = place == odd_sizes && which != kOddK, odd_k = place == odd_sizes && which != kOddN;
        s.M = small(kProductRows);
        if (which < kAll) s.M = whole(s.M);  // on which no alignment depends
        s.N = place == whole_tile || place == padded_tile ? std::min(BN, kProductColumns)
              : odd_n                                     ? small(kProductColumns)
                                                          : fours(BN, kProductColumns);
        if (!odd_n) s.N = whole(s.N);
        const std::int64_t least = deep ? steps_ : 0;
        const std::int64_t more = std::min<std::int64_t>(steps_, 16);
        s.K = odd_k ? draw_.odd(least + 1, least + std::max<std::int64_t>(more - 1, 7), 2)
                    : least / vector_ * vector_ +
                          vector_ * draw_.from(1, std::max<std::int64_t>(more / vector_, 1));
        if (place == padded || place == padded_tile || place == all_off) pad(c, vector_);
        if (place == odd_sizes && which < kAll) {
            s.lda = whole(s.a_cols());
            s.ldb = whole(s.b_cols());
            s.ldc = whole(s.N);
            pad_others(s, s.ldc, 0);
        }
        if (place == odd_pitches) {
            s.lda = s.a_cols() + (which == 0 || which >= kAll ? 1 : vector_);
            s.ldb = s.b_cols() + (which == 1 || which >= kAll ? 3 : 2 * vector_);
            s.ldc = s.N + (which >= kAll ? 5 : 3 * vector_);
            pad_others(s, s.ldc, which >= kAll ? 2 : vector_);
            if (which == 2) result_pitch(s) = s.N + 5;
        }
        if (place == one_off) s.offsets[which == 2 ? place_of(result()) : which] = 1;
        if (place == all_off) set_offsets(s, 1);
    }
    /// The next multiple of 16 bytes.
    std::int64_t whole(std::int64_t n) const { return (n + vector_ - 1) / vector_ * vector_; }

    std::string place_text(Place place, std::size_t which) const {
        const char result = variant_.D ? 'd' : 'c';
        switch (place) {
            case tight:
            case whole_tile:
                return "rows that begin at multiples of 16 bytes";
            case padded:
            case padded_tile:
                return "padded rows that begin at multiples of 16 bytes";
            case odd_sizes:
                return which >= kAll ? "odd sizes" : which == kOddK ? "an odd K" : "an odd N";
            case odd_pitches:
                return which >= kAll ? "odd pitches"
                                     : "an odd ld" + std::string(1, which == 2 ? result : "ab"[which]);
            case one_off:
                return std::string(1, which == 2 ? (variant_.D ? 'D' : 'C') : "AB"[which]) +
                       " that begins one element past a multiple of 16 bytes";
            case all_off:
                break;
        }
        return "matrices that begin one element past a multiple of 16 bytes";
    }

    // Every pair of alpha and beta meets rows that allow 16 bytes at once, and rows that do not. Alpha, beta,
    // the place and K are the columns of an orthogonal array (Rao, 1947: two Latin squares over the field of
    // four elements), so that every two of them meet in every way: no pair of mistakes' conditions is left
    // out, and of three those that share a store.
    void products() {
        constexpr std::array<unsigned, 4> kTimes{0, 2, 3, 1};  // by the field's third element
        // What is odd, by place and alpha: each once where alpha is not 0 and K not either, or C is written
        // alone.
        constexpr std::array<std::array<std::size_t, 4>, 3> kWhich{
            {{kOddN, kOddK, kAll, kAll}, {0, 2, 1, kAll}, {0, 1, 2, 2}}};
        const float other_alpha = long_scalar(), other_beta = long_scalar();
        const std::array<float, 4> alphas{1.0f, -1.0f, other_alpha, 0.0f};
        const std::array<float, 4> betas{0.0f, 1.0f, -1.0f, other_beta};
        for (const bool fast : {false, true}) {
            for (unsigned a = 0; a < 4; ++a) {
                for (unsigned b = 0; b < 4; ++b) {
                    const auto place = static_cast<Place>((a ^ b) + (fast ? 0 : 4));
                    const unsigned depth = a ^ kTimes[b];
                    const std::size_t which =
                        place >= odd_sizes && place <= one_off ? kWhich[place - odd_sizes][a] : kAll;
                    CheckCase& c = add("products", "", 0, 0, 0);
                    put(c, place, depth == 3 && BM * BN * steps_ < kLargeTile, which);
                    if (depth == 1) {
                        c.shape.K = 0;
                        if (fast && c.shape.lda == 0)
                            c.shape.lda = whole(std::max(c.shape.a_cols(), vector_));
                    }
                    c.shape.alpha = alphas[a];
                    c.shape.beta = betas[b];
                    c.nan_inputs = a == 3;
                    c.what = "alpha = " + number(alphas[a]) + " with beta = " + number(betas[b]) +
                             (depth == 1 ? ", K = 0" : "") + " and " + place_text(place, which);
                }
            }
        }
    }

    /// The other types that the lesson takes, where the device is new enough for them.
    std::vector<Variant> other_types() const {
        int device = 0;
        cudaDeviceProp properties{};
        CUDA_CHECK(cudaGetDevice(&device));
        CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
        std::vector<Variant> found;
        for (const Offer& offer : lesson_.variants) {
            if (offer.variant == lesson_.variant()) continue;
            if (!runs_on(offer.architectures, 10 * properties.major + properties.minor)) continue;
            found.push_back(offer.variant);
        }
        return found;
    }

    void types() {
        for (const Variant& variant : other_types()) {
            variant_ = variant;
            const std::string name = text(variant);
            for (const Place place : {tight, odd_sizes, padded_tile}) {
                CheckCase& c = add("types", name + " and " + place_text(place, kAll), 0, 0, 0);
                put(c, place, false, kAll);
                // As many tiles along K as a ring of stages may have, and one more.
                if (place != padded_tile) c.shape.K += std::min(4 * steps_, kMostSteps);
                c.shape.alpha = long_scalar();
                if (place != padded_tile) c.shape.beta = long_scalar();
            }
            for (const Place place : {tight, odd_sizes}) {
                CheckCase& c = add("types", name + ", alpha = 0 and " + place_text(place, 0), 0, 0, 0);
                put(c, place, false, 0);
                without_product(c);
            }
            if (variant.result() == DType::fp16)
                scaled("types", name + " and results that it cannot hold", 3e4f);
        }
        variant_ = lesson_.variant();
    }

    // ---- what launch() and large indices lead to ----

    std::int64_t tiles_of(std::int64_t m, std::int64_t n) const { return ceil_div(m, BM) * ceil_div(n, BN); }
    /// With alpha = 0, which costs little, so that C may have more tiles than there are multiprocessors to
    /// begin with: a block that goes on to another tile must know its place there.
    void without_product(CheckCase& c) {
        if (tiles_of(c.shape.M, c.shape.N) <= kFewTiles) c.shape.M += 2 * BM;
        c.shape.alpha = 0.0f;
        c.shape.beta = scalar();
        c.nan_inputs = true;
    }

    void paths() {
        for (const Reach& reach : lesson_.reaching) {
            if (!kOnCpu && reach.sm != 0) continue;  // a GPU is of one kind
            std::vector<Variant> variants{lesson_.variant()};
            if (reach.every_type) {
                for (const Variant& other : other_types()) variants.push_back(other);
            }
            for (const Variant& variant : variants) {
                variant_ = variant;
                path(reach, variants.size() > 1 ? ", " + text(variant) : "");
            }
        }
        variant_ = lesson_.variant();
    }

    void path(const Reach& reach, const std::string& type) {
        // A ring that goes on does so with the block's next tiles of C, too: several for each of few
        // multiprocessors, whichever tile the launch chooses. (On a whole GPU no block goes on.)
        const bool goes_on = reach.K > kMostSteps && reach.multiprocessors < kWholeGpu;
        const std::int64_t rows = goes_on ? std::max<std::int64_t>(reach.M, 3 * BM) : reach.M;
        CheckCase c = add("paths", reach.path + type, rows, reach.N, reach.K);
        c.sm = reach.sm;
        c.multiprocessors = reach.multiprocessors;
        c.shape.alpha = scalar();
        // Padding of a tile and more, by which tiles that are counted by a pitch come out wrong.
        c.shape.ldb = c.shape.b_cols() + whole(BN);
        if (reach.M <= kFewRows) result_pitch(c.shape) = reach.N + 2 * whole(BN);
        const std::int64_t count = tiles_of(rows, reach.N);
        const bool some = kOnCpu && count > kFewTiles;  // the product in some blocks, beta·C in all of them
        c.shape.beta = scalar();
        if (reach.again) c.earlier = Earlier::other_numbers;
        if (some) c.blocks = {0, static_cast<std::uint64_t>(count) - 1};
        cases_.back() = c;
        // A row of tiles fewer: where a size decides between two ways, on its other side. Without beta, for
        // stores that do not read C.
        const std::int64_t fewer = (ceil_div(rows, BM) - 1) * BM;
        if (some && fewer > 0) {
            cases_.push_back(c);
            cases_.back().shape.M = fewer;
            cases_.back().shape.beta = 0.0f;
            cases_.back().what += ", and a row of tiles fewer";
        }
        c.blocks.clear();
        c.earlier = Earlier::nothing;
        // Blocks that go on store a second tile, too; a store that does not read C may be another one.
        if (reach.K > kMostSteps) {
            cases_.push_back(c);
            cases_.back().shape.K = kFewSteps * BK;
            cases_.back().shape.beta = 0.0f;
            cases_.back().what += ", fewer steps and without beta";
        }
        cases_.push_back(c);
        cases_.back().what += ", alpha = 0";
        without_product(cases_.back());
    }

    void indices() {
        constexpr std::int64_t kFar = std::int64_t{1} << 31;
        for (const bool aligned : {false, true}) {
            const std::int64_t unit = aligned ? vector_ : 1;
            Shape& s = add("far",
                           aligned ? "rows more than 2^31 elements apart, at multiples of 16 bytes"
                                   : "rows more than 2^31 elements apart",
                           3, std::min(BN, kMostSide / 2) + (aligned ? vector_ : 5), aligned ? vector_ : 3)
                           .shape;
            s.stored = Stored::rows;
            s.lda = kFar + unit * (2 * draw_.from(1, 8) + 1);
            s.ldb = s.lda + 2 * unit;
            s.ldc = s.ldb + 2 * unit;
            pad_others(s, s.ldc, 2 * unit);
            s.alpha = scalar();
            s.beta = scalar();
        }
        // The same within a tile, and from one to the next: rows that are close enough for 32 bits alone.
        for (const bool aligned : {false, true}) {
            const std::int64_t unit = aligned ? vector_ : 1, deep = std::min(steps_, kMostSteps);
            const auto pitch = [&](std::int64_t rows) { return (3 * kFar / rows + unit) / unit * unit; };
            Shape& s = add("far",
                           aligned ? "tiles more than 2^31 elements apart, at multiples of 16 bytes"
                                   : "tiles more than 2^31 elements apart",
                           side(BM + 3), aligned ? vector_ : 5, 2 * deep + (aligned ? vector_ : 3))
                           .shape;
            s.stored = Stored::rows;
            s.lda = pitch(s.M) + 2 * unit;
            s.ldb = pitch(variant_.b_transposed() ? s.N : deep);
            s.ldc = s.lda + 2 * unit;
            pad_others(s, s.ldc, 2 * unit);
            s.alpha = scalar();
        }
        if (variant_.batch == Batch::strided) {
            Shape& s = add("far", "problems more than 2^31 elements apart", 3, 5, 7).shape;
            s.stored = Stored::problems;
            s.batch = 3;
            spread(s, kFar);
            s.beta = scalar();
        }
        for (const bool rows : {true, false}) {
            const std::int64_t tile = rows ? BM : BN, size = 2 * kManyBlocks * tile + tile;
            CheckCase& c = add("many_blocks",
                               rows ? "block 524288 of a C of one column" : "block 524288 of a C of one row",
                               rows ? size : 1, rows ? 1 : size, 1);
            c.shape.stored = rows ? Stored::in_rows : Stored::in_columns;
            c.shape.window = tile;
            c.shape.apart = kManyBlocks * tile;
            c.blocks = {kManyBlocks};
        }
        if (BK == 1) add("long_k", "K beyond 65536", 1, 1, kMany + 5);
        // Of sums that are so long the bound lets much pass, and their mean nothing that 16 bits cut off.
        // With tiles along K a block multiplies a whole tile of C at every step, however few elements C has:
        // that takes seconds, which a check has where it is asked to alone.
        if (long_k_) {
            CheckCase& c = add("long_k", "K beyond 65536", kMeant, kMeant, kMany + 5);
            c.shape.lda = whole(c.shape.a_cols());
            c.shape.ldb = whole(c.shape.b_cols());
            c.shape.ldc = whole(kMeant);
            c.long_run = true;
        }
    }

    const Lesson& lesson_;
    const std::int64_t BM, BN, BK;
    const bool long_k_;
    Draw draw_;
    Variant variant_;
    std::int64_t vector_ = 0, steps_ = 0, most_steps_ = 0;
    bool few_tiles_ = false;
    std::vector<CheckCase> cases_;
};

}  // namespace

namespace {

/// On the CPU device each has a schedule of its own.
std::vector<CheckCase> scheduled(std::vector<CheckCase> cases) {
#ifdef GEMM_CPU_DEVICE
    if (const std::uint64_t first = cpu_device::schedule_seed(); first != 0) {
        for (std::size_t i = 0; i < cases.size(); ++i) cases[i].schedule = first + i;
    }
#endif
    return cases;
}

}  // namespace

std::vector<CheckCase> check_cases(const Lesson& lesson, std::uint64_t seed, bool long_k) {
    return scheduled(CaseList(lesson, seed, long_k).cases());
}

std::vector<CheckCase> remainder_cases(const Lesson& lesson, std::uint64_t seed) {
    return scheduled(CaseList(lesson, seed, false).remainders());
}

}  // namespace gemm
