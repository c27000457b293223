#include "runner/programs/ladder.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <optional>
#include <random>

#include "common/dtype.hpp"
#include "common/error.hpp"
#ifdef GEMM_CPU_DEVICE
#include "common/cpu/execution/device.hpp"
#include "runner/programs/traced.hpp"
#endif

namespace gemm {
namespace {

constexpr std::int64_t kMostTile = 1024;
// However large the tiles are: tracing must stay a matter of milliseconds.
constexpr std::int64_t kMostSide = 512, kMostSteps = 256;
// A case whose K is beyond that, so that a counter of 8 bits runs over, has one small tile of C.
constexpr std::int64_t kLongSide = 32, kMostLongSteps = 511;

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
            const std::int64_t sign = from(0, 1) == 0 ? 1 : -1;
            if (eighths != 8) return static_cast<float>(sign * eighths) / 8.0f;
        }
    }

  private:
    std::mt19937_64 engine_;
};

#ifdef GEMM_CPU_DEVICE

namespace trace = cpu_device::trace;

constexpr double kHangSeconds = 3;
constexpr std::size_t kMostFindings = 5;
constexpr std::uint64_t kMostBlocks = 64;  // that are searched for the writer of an element
// Kept of a thread: 32 MiB. The largest case takes a thread some 2000 steps for each element of C.
constexpr std::size_t kMostKept = std::size_t{1} << 21;

/// Restores what a launch was told.
struct Restore {
    ~Restore() {
        cpu_device::set_block_filter({});
        cpu_device::set_hang_seconds(60);
    }
};

unsigned linear(uint3 thread, dim3 block) {
    return (thread.z * block.y + thread.y) * block.x + thread.x;
}

uint3 thread_of(int linear, dim3 block) {
    const auto l = static_cast<unsigned>(linear);
    return {l % block.x, l / block.x % block.y, l / block.x / block.y};
}

/// Whether Lesson::owner says of every element that the traced block wrote what the trace says; not where it
/// wrote none. The learner may have spread the threads otherwise.
bool owner_fits(const Lesson& lesson, const Problem& p, const trace::Report& report) {
    if (lesson.owner == nullptr || report.owners.empty()) return false;
    return std::all_of(report.owners.begin(), report.owners.end(), [&](const trace::Owned& o) {
        if (o.matrix != "C") return true;
        const Owner said = lesson.owner(p, o.row, o.col);
        return said.block.x == report.owners_block && said.block.y == 0 && said.block.z == 0 &&
               linear(said.thread, lesson.block) == static_cast<unsigned>(o.thread);
    });
}

/// Who stores C[row][col], by tracing block after block; who should have by Lesson::owner where nobody does.
/// Nothing where that would be a guess.
std::optional<Owner> find_owner(const Lesson& lesson, const Problem& p, const void* plan,
                                const trace::Report& report, std::int64_t row, std::int64_t col) {
    std::optional<Owner> said;
    if (owner_fits(lesson, p, report)) said = lesson.owner(p, row, col);
    const dim3& block = lesson.block;
    // Launched with other blocks than it says: where a thread is in them would be a guess.
    if (report.block != std::array<unsigned, 3>{block.x, block.y, block.z}) return std::nullopt;
    // A block's place in a grid of more dimensions is not in the report.
    const bool plain_grid = lesson.owner != nullptr && [&](const Owner& last) {
        return last.block.y == 0 && last.block.z == 0;
    }(lesson.owner(p, p.M - 1, p.N - 1));
    if (!plain_grid) return said;

    // The one that should have is tried first.
    std::vector<std::uint64_t> candidates;
    if (said && said->block.x < report.blocks) candidates.push_back(said->block.x);
    for (std::uint64_t b = 0; b < std::min(report.blocks, kMostBlocks); ++b) candidates.push_back(b);
    for (const std::uint64_t candidate : candidates) {
        cpu_device::set_block_filter([&](std::uint64_t b) { return b == candidate; });
        const TracedLaunch alone = launch_traced(lesson, p, plan, kMostKept);
        cpu_device::set_block_filter({});
        for (const trace::Owned& o : alone.report.owners) {
            if (o.matrix != "C" || o.row != row || o.col != col) continue;
            return Owner{{static_cast<unsigned>(candidate), 0, 0}, thread_of(o.thread, block)};
        }
    }
    return said;
}

/// Adds to each race whether it is there with one tile along K, too. If not, the barrier that is missing
/// stands between one round of the loop over K and the next.
void tell_races_apart(const Lesson& lesson, Problem p, const void* plan, Json& findings) {
    const auto is_race = [](const Json& finding) { return finding["id"] == name_of(FindingId::race); };
    if (std::none_of(findings.begin(), findings.end(), is_race)) return;
    p.K = std::min<std::int64_t>(p.K, lesson.tile.BK);
    const Json alone = findings_json(launch_traced(lesson, p, plan, kMostKept).report, kMostFindings);
    for (Json& finding : findings) {
        if (!is_race(finding)) continue;
        finding["in_one_tile"] = std::any_of(alone.begin(), alone.end(), [&](const Json& other) {
            return is_race(other) && other["line"] == finding["line"];
        });
    }
}

/// What the lesson's prepare() makes. Throws Error whatever it throws.
Plan prepared(const Lesson& lesson, const Problem& p) {
    if (lesson.prepare == nullptr) return nullptr;
    const std::string what = "prepare() of " + std::string(lesson.name) + " threw an exception";
    try {
        return lesson.prepare(p);
    } catch (const Error&) {
        throw;
    } catch (const std::exception& error) {
        throw Fault(FaultId::threw, what + ": " + error.what() + ".");
    } catch (...) {
        throw Fault(FaultId::threw, what + ".");
    }
}

/// One traced launch and all that is to be said about it.
TracedLaunch run_on(const Lesson& lesson, Workload& w, CaseResult& result) {
    const Restore restore;
    cpu_device::set_hang_seconds(kHangSeconds);
    const Problem p = w.problem();
    const Plan plan = prepared(lesson, p);
    TracedLaunch traced = launch_traced(lesson, p, plan.get(), kMostKept);
    const std::vector<float> c = w.download_c();  // before anything is launched again
    const std::string breach = w.breach();
    result.fault = traced.fault;
    result.error = traced.error;
    result.findings = findings_json(traced.report, kMostFindings);
    // What never ends would not end again.
    if (result.ended_by(FaultId::endless_loop)) return traced;
    tell_races_apart(lesson, p, plan.get(), result.findings);
    if (!result.error.empty()) return traced;
    const Verifier verifier(w);
    result.verdict = verifier.check(c, &lesson, [&](std::int64_t row, std::int64_t col) {
        return find_owner(lesson, p, plan.get(), traced.report, row, col);
    });
    if (!result.verdict->passed) return traced;
    fail_outside(*result.verdict, breach, lesson.name, w);
    if (!result.verdict->passed) return traced;
    if (Json finding = no_kernel_finding(traced.report, p); !finding.is_null()) {
        result.findings.push_back(std::move(finding));
    }
    return traced;
}

#else

void run_on(const Lesson& lesson, Workload& w, CaseResult& result) {
    result.verdict = verify(lesson, w, Verifier(w));
}

#endif

/// Whatever `body` throws is the result's error.
template <class Body>
void guarded(const Lesson& lesson, CaseResult& result, const Body& body) {
    try {
        body();
        return;
    } catch (const Error& error) {
        result.fault = fault_of(error);
        result.error = error.what();
    } catch (const std::exception& error) {
        result.fault = FaultId::threw;
        result.error =
            "launch() of " + std::string(lesson.name) + " threw an exception: " + error.what() + ".";
    } catch (...) {
        result.fault = FaultId::threw;
        result.error = "launch() of " + std::string(lesson.name) + " threw an exception.";
    }
    // A refused launch is forgotten by asking for it; after a wild access every further call fails.
    (void)cudaGetLastError();
    result.device_lost = cudaDeviceSynchronize() != cudaSuccess;
}

}  // namespace

std::vector<LadderCase> ladder_cases(const Tile& tile, std::uint64_t seed, const Variant& variant) {
    const std::int64_t BM = tile.BM, BN = tile.BN, BK = tile.BK;
    Draw draw(seed);
    std::vector<LadderCase> cases;
    const auto add = [&](const char* id, const char* what, std::int64_t m, std::int64_t n,
                         std::int64_t k) -> LadderCase& {
        Shape shape;
        shape.M = m;
        shape.N = n;
        shape.K = k;
        shape.variant = variant;
        return cases.emplace_back(LadderCase{id, what, shape, false});
    };
    // Where there are no tiles along K, 32 steps take their place.
    const std::int64_t steps = BK > 1 ? BK : 32;
    const auto side = [](std::int64_t n) { return std::min(n, kMostSide); };
    const std::int64_t K = std::min(3 * steps, kMostSteps);
    // Below and above one tile; three tiles at most.
    const auto odd_side = [&](std::int64_t t, bool far = false) {
        return draw.odd(std::min(t / 2 + 1, kMostSide / 2), std::max<std::int64_t>(side(3 * t), 7), t, far);
    };
    const auto odd_steps = [&](bool far = false) {
        return draw.odd(std::min(steps + 1, kMostSteps / 2), std::max<std::int64_t>(K, 7), BK, far);
    };

    // Elements of 16 bytes, the most that a thread loads at once.
    const std::int64_t vector = 16 / static_cast<std::int64_t>(size_of(variant.A));

    // Square, so that swapped indices stay inside the matrices and are recognised by what comes out.
    const std::int64_t square = std::min(std::max({BM, BN, BK}), kMostSteps);
    add("one_tile", "a square matrix of one block tile", square, square, square);
    add("tiles", "several block tiles in each direction", side(2 * BM), side(3 * BN), K);
    // Three different widths of padding: a pitch that is taken for another one shows. With padding between
    // the rows, what leaves a row does not land in the next one unseen.
    const auto pad = [&](LadderCase& c, std::int64_t unit) {
        Shape& shape = c.shape;
        const std::int64_t least = unit * draw.from(1, 4);
        shape.lda = shape.K + least;
        shape.ldb = shape.N + least + unit * draw.from(1, 4);
        shape.ldc = shape.ldb + unit * draw.from(1, 4);
    };
    pad(add("pitches", "rows that are padded: lda, ldb and ldc above K, N and N", side(2 * BM), side(3 * BN),
            K),
        vector);
    const std::int64_t rows = odd_side(BM, true);
    pad(add("edges", "M and N that are no multiple of the block tile", rows, odd_side(BN, true),
            std::min(2 * steps, kMostSteps)),
        1);
    pad(add("k_tail", "K that is no multiple of BK", side(2 * BM), side(3 * BN), odd_steps(true)), 1);
    if (BK > 2) {
        pad(add("k_tail", "K that is smaller than BK", side(2 * BM), side(3 * BN),
                draw.odd(1, std::min(BK - 1, kMostSteps), BK, true)),
            1);
    }
    pad(add("k_tail", "K beyond 256", std::min(BM, kLongSide), std::min(BN, kLongSide),
            draw.odd(kMostSteps + 3, kMostLongSteps, BK, true)),
        1);
    // Where a kernel takes four floats or eight shorter numbers at once it must still look at the edges, and
    // at every row's alignment.
    const auto fours = [&](std::int64_t t, std::int64_t most) {
        for (;;) {
            const std::int64_t n = vector * draw.from(1, std::max<std::int64_t>(most / vector, 3));
            if (vector % t == 0 || n % t != 0) return n;
        }
    };
    const std::int64_t fours_m = fours(BM, side(3 * BM)), fours_n = fours(BN, side(3 * BN)),
                       fours_k = fours(BK, K);
    add("fours",
        vector == 4 ? "M, N and K that are multiples of 4 and of no tile"
                    : "M, N and K that are multiples of 8 and of no tile",
        fours_m, fours_n, fours_k);
    Shape& unaligned =
        add("fours", "rows that begin at no multiple of 16 bytes", fours_m, fours_n, fours_k).shape;
    unaligned.lda = fours_k + 1;
    unaligned.ldb = fours_n + (vector == 4 ? 2 : 5);
    unaligned.ldc = fours_n + 3;
    if (vector == 8) {  // a thread may still take four of them at once there
        Shape& half =
            add("fours", "rows that begin at multiples of 8 bytes and not of 16", fours_m, fours_n, fours_k)
                .shape;
        half.lda = fours_k + 4;
        half.ldb = fours_n + 4;
        half.ldc = fours_n + 12;
    }
    const auto odd = [&](const char* id, const char* what) -> LadderCase& {
        const std::int64_t m = odd_side(BM), n = odd_side(BN);
        return add(id, what, m, n, odd_steps());
    };
    odd("odd", "M, N and K that are no multiples of the tile, without padding");
    odd("beta", "beta that is not 0").shape.beta = draw.scalar();
    const auto scalars = [&](Shape& shape) {
        shape.beta = draw.scalar();
        do {
            shape.alpha = draw.scalar();
        } while (shape.alpha == shape.beta);
    };
    scalars(odd("alpha", "alpha that is not 1, with beta").shape);
    {
        LadderCase& last = odd("alpha_zero", "alpha = 0, with which A and B must not be read");
        last.shape.alpha = 0.0f;
        last.shape.beta = draw.scalar();
        last.nan_inputs = true;
    }
    {
        Shape& shape = odd("k_zero", "K = 0, with which beta·C is left").shape;
        shape.K = 0;
        shape.beta = draw.scalar();
    }
    add("small", "a matrix of one element", 1, 1, 1);
    add("small", "a C of one row", 1, odd_side(BN), odd_steps());
    const std::int64_t column = odd_side(BM);
    add("small", "a C of one column", column, 1, odd_steps());
    add("empty", "M = 0, where there is nothing to do", 0, odd_side(BN), odd_steps());
    const std::int64_t tall = odd_side(BM);
    add("empty", "N = 0, where there is nothing to do", tall, 0, odd_steps());
    for (LadderCase& c : cases) c.shape = c.shape.resolved();
    return cases;
}

void require_sound(const Lesson& lesson) {
    if (lesson.name == nullptr || lesson.launch == nullptr) {
        throw Error("The lesson at the end of the file needs a name and a launch function.");
    }
    const Tile& t = lesson.tile;
    for (const int size : {t.BM, t.BN, t.BK}) {
        if (size >= 1 && size <= kMostTile) continue;
        throw Error("BM, BN and BK of " + std::string(lesson.name) + "'s tile must be from 1 to " +
                    std::to_string(kMostTile) + ", and are " + std::to_string(t.BM) + ", " +
                    std::to_string(t.BN) + " and " + std::to_string(t.BK) + ".");
    }
    if (lesson.block.x == 0 || lesson.block.y == 0 || lesson.block.z == 0) {
        throw Error(std::string(lesson.name) + "'s block has no threads: none of its sizes may be 0.");
    }
}

Workload workload_of(const LadderCase& problem, std::uint64_t seed) {
    std::function<void(HostMatrices&)> edit;
    if (problem.nan_inputs) {
        edit = [](HostMatrices& host) {
            for (std::vector<float>* matrix : {&host.A, &host.B}) {
                std::fill(matrix->begin(), matrix->end(), std::numeric_limits<float>::quiet_NaN());
            }
        };
    }
    return Workload(problem.shape, seed, edit);
}

CaseResult run_case(const Lesson& lesson, const LadderCase& problem, std::uint64_t seed) {
    CaseResult result;
    result.problem = problem;
    result.seed = seed;
    guarded(lesson, result, [&] {
        Workload w = workload_of(problem, seed);
        run_on(lesson, w, result);
    });
    return result;
}

#ifdef GEMM_CPU_DEVICE
CaseResult run_goal(const Lesson& lesson, const LadderCase& problem, std::uint64_t seed, int sm,
                    Json& trace) {
    CaseResult result;
    result.problem = problem;
    result.seed = seed;
    guarded(lesson, result, [&] {
        Workload w(problem.shape, seed);
        const TracedLaunch traced = run_on(lesson, w, result);
        trace = traced_json(lesson, w.shape(), seed, sm, traced);
        if (result.verdict) trace["verdict"] = verdict_json(*result.verdict);
    });
    return result;
}
#endif

std::vector<CaseResult> climb(const Lesson& lesson, std::uint64_t seed, const Progress& progress) {
    const std::vector<LadderCase> cases = ladder_cases(lesson.tile, seed, lesson.variant());
    std::vector<CaseResult> results;
    for (const LadderCase& next : cases) {
        if (progress) progress(results, cases.size(), next);
        results.push_back(run_case(lesson, next, seed));
        if (!results.back().passed()) break;
    }
    return results;
}

Json case_json(const CaseResult& result) {
    const Shape& s = result.problem.shape;
    return {{"id", result.problem.id},
            {"what", result.problem.what},
            {"m", s.M},
            {"n", s.N},
            {"k", s.K},
            {"lda", s.lda},
            {"ldb", s.ldb},
            {"ldc", s.ldc},
            {"alpha", s.alpha},
            {"beta", s.beta},
            {"seed", result.seed},
            {"passed", result.passed()},
            {"error", fault_json(result.fault, result.error)},
            {"verdict", result.verdict ? verdict_json(*result.verdict) : Json(nullptr)},
            {"findings", result.findings}};
}

}  // namespace gemm
