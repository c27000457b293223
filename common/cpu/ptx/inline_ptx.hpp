// What an asm statement of a kernel does on the CPU device: common/cpu/foreign.py makes
//     asm volatile("TEXT" : "=r"(x) : "r"(y) : "memory")
// a call of run<"TEXT">(Here{}, out(x), in(y)). Every instruction that common/ptx has a function for calls
// what that calls, so that races, findings and lines are the same. One that is not known ends the launch when
// a thread comes to it, in a sentence that names it, its file and its line.
#pragma once

#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <type_traits>
#include <utility>

#include "common/cpu/ptx/async.hpp"
#include "common/cpu/ptx/barrier.hpp"
#include "common/cpu/ptx/barrier_object.hpp"
#include "common/cpu/ptx/cluster.hpp"
#include "common/cpu/ptx/inline_ptx_arithmetic.hpp"
#include "common/cpu/ptx/inline_ptx_text.hpp"
#include "common/cpu/ptx/shared_numbers.hpp"
#include "common/cpu/ptx/tensor.hpp"
#include "common/cpu/ptx/warpgroup.hpp"

// So that an access is found at the line of the asm statement, also by what a lambda does.
#define CPU_DEVICE_INLINED __attribute__((always_inline))

namespace cpu_device::inline_ptx {

/// What C++ has at an operand's place: a value, or where a result goes.
struct Operand {
    std::uint64_t bits = 0;
    void* at = nullptr;
    unsigned bytes = 0;

    __forceinline__ std::uint64_t get() const {
        switch (at == nullptr ? 0 : bytes) {
            case 0:
                return bits;
            case 1:
                return *static_cast<std::uint8_t*>(at);
            case 2:
                return *static_cast<std::uint16_t*>(at);
            case 4:
                return *static_cast<std::uint32_t*>(at);
            default:
                return *static_cast<std::uint64_t*>(at);
        }
    }
    __forceinline__ void put(std::uint64_t value) const {
        switch (bytes) {
            case 1:
                *static_cast<std::uint8_t*>(at) = static_cast<std::uint8_t>(value);
                break;
            case 2:
                *static_cast<std::uint16_t*>(at) = static_cast<std::uint16_t>(value);
                break;
            case 4:
                *static_cast<std::uint32_t*>(at) = static_cast<std::uint32_t>(value);
                break;
            default:
                *static_cast<std::uint64_t*>(at) = value;
        }
    }
};
template <class T>
__forceinline__ std::uint64_t bits_of(T value) {
    if constexpr (std::is_pointer_v<T>) {
        return reinterpret_cast<std::uint64_t>(value);
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return static_cast<std::uint64_t>(value);
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(std::uint16_t, value);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bit_cast(std::uint32_t, value);
    } else {
        return __builtin_bit_cast(std::uint64_t, value);
    }
}
template <class T>
__forceinline__ Operand in(T value) {
    return {bits_of(value), nullptr, sizeof value};
}
template <class T>
__forceinline__ Operand out(T& value) {
    return {0, const_cast<std::remove_const_t<T>*>(&value), sizeof value};
}

/// What a statement's instructions share.
struct Registers {
    const Operand* operands;
    std::uint64_t* named;
    Here here;
};

/// Instruction I of the text.
template <Text T, int I>
struct Step {
    static constexpr const Program& kProgram = program<T>;
    static constexpr const Instruction& kThis = kProgram.instruction[I];
    static constexpr std::string_view kName = T.view().substr(kThis.from, kThis.to - kThis.from);
    // mapa's addresses in shared memory of the cluster: the rank lies above the number, and 0 is one's own.
    static constexpr unsigned kRankShift = 24;
    static constexpr std::uint64_t kNumber = (1u << kRankShift) - 1;

    Registers& r;

    struct Name {
        static constexpr std::string_view view = kName;
    };

    static constexpr bool is(std::string_view begin) { return kName.starts_with(begin); }
    static constexpr bool of(std::string_view part) { return has(kName, part); }

    [[noreturn]] void unknown() const {
        static constexpr auto name = [] {
            struct {
                char text[kName.size() + 1];
            } copy{};
            for (std::size_t i = 0; i < kName.size(); ++i) copy.text[i] = kName[i];
            return copy;
        }();
        unknown_instruction({name.text, r.here.file, r.here.line});
    }
    Site site(const char* what) const { return {what, r.here.file, r.here.line}; }

    template <int S>
    __forceinline__ std::uint64_t scalar() const {
        constexpr Scalar s = kProgram.scalar[S];
        if constexpr (s.kind == Kind::operand) {
            return r.operands[s.value].get();
        } else if constexpr (s.kind == Kind::immediate) {
            return static_cast<std::uint64_t>(s.value);
        } else if constexpr (s.kind == Kind::named) {
            return r.named[s.value];
        } else if constexpr (s.kind == Kind::special) {
            return special<S>();
        } else {
            return 0;
        }
    }
    /// Scalar J of operand G.
    template <int G, int J = 0>
    __forceinline__ std::uint64_t at() const {
        constexpr Group group = kThis.group[G];
        return scalar<group.first + J>() + (J == 0 ? static_cast<std::uint64_t>(group.offset) : 0);
    }
    template <int G, int J = 0>
    __forceinline__ std::uint32_t word() const {
        return static_cast<std::uint32_t>(at<G, J>());
    }
    template <int G, int J = 0>
    __forceinline__ void to(std::uint64_t value) const {
        constexpr Scalar s = kProgram.scalar[kThis.group[G].first + J];
        if constexpr (s.kind == Kind::operand) r.operands[s.value].put(value);
        if constexpr (s.kind == Kind::named) r.named[s.value] = value;
    }
    /// Whether operand G is a register.
    template <int G>
    static constexpr bool gives() {
        constexpr Kind kind = kProgram.scalar[kThis.group[G].first].kind;
        return kind == Kind::operand || kind == Kind::named;
    }
    /// By its number; where the instruction names no state space, an operand of 64 bits is a generic address.
    template <int G>
    __forceinline__ void* shared() const {
        if constexpr (kName.find("shared") == kName.npos) {
            if (const std::uint64_t address = at<G>(); address >> 32 != 0)
                return reinterpret_cast<void*>(address);
        }
        return shared_pointer(at<G>() & kNumber);
    }
    template <int G>
    __forceinline__ void* global() const {
        return reinterpret_cast<void*>(at<G>());
    }
    template <int G>
    __forceinline__ void words(std::uint32_t* all) const {
        [&]<int... J>(std::integer_sequence<int, J...>) CPU_DEVICE_INLINED {
            ((all[J] = word<G, J>()), ...);
        }
        (std::make_integer_sequence<int, kThis.group[G].count>{});
    }
    template <int G>
    __forceinline__ void to_words(const std::uint32_t* all) const {
        [&]<int... J>(std::integer_sequence<int, J...>) CPU_DEVICE_INLINED {
            (to<G, J>(all[J]), ...);
        }
        (std::make_integer_sequence<int, kThis.group[G].count>{});
    }

    template <int S>
    std::uint64_t special() const {
        constexpr std::string_view rest = T.view().substr(static_cast<std::size_t>(kProgram.scalar[S].value));
        constexpr std::string_view name = rest.substr(0, rest.find_first_of(" ;,}]\n\t"));
        const ClusterPlace& place = cluster_place();
        if constexpr (name == "cluster_ctarank") return place.rank;
        if constexpr (name == "cluster_nctarank") return place.size;
        if constexpr (name == "cluster_ctaid.x") return place.block.x;
        if constexpr (name == "cluster_ctaid.y") return place.block.y;
        if constexpr (name == "clusterid.x") return place.id.x;
        if constexpr (name == "clusterid.y") return place.id.y;
        if constexpr (name == "nclusterid.x") return place.count.x;
        if constexpr (name == "laneid") return static_cast<std::uint64_t>(lane());
        if constexpr (name == "tid.x") return thread_idx().x;
        if constexpr (name == "tid.y") return thread_idx().y;
        if constexpr (name == "ctaid.x") return block_idx().x;
        if constexpr (name == "ctaid.y") return block_idx().y;
        if constexpr (name == "tid.z") return thread_idx().z;
        if constexpr (name == "ctaid.z") return block_idx().z;
        if constexpr (name == "ntid.x") return block_dim().x;
        if constexpr (name == "ntid.y") return block_dim().y;
        if constexpr (name == "nctaid.x") return grid_dim().x;
        if constexpr (name == "nctaid.y") return grid_dim().y;
        if constexpr (name == "ntid.z") return block_dim().z;
        if constexpr (name == "nctaid.z") return grid_dim().z;
        if constexpr (name == "cluster_ctaid.z") return place.block.z;
        if constexpr (name == "clusterid.z") return place.id.z;
        if constexpr (name == "nclusterid.y") return place.count.y;
        if constexpr (name == "nclusterid.z") return place.count.z;
        if constexpr (name == "cluster_nctaid.x") return place.dim.x;
        if constexpr (name == "cluster_nctaid.y") return place.dim.y;
        if constexpr (name == "cluster_nctaid.z") return place.dim.z;
        if constexpr (name == "warpid") {
            const auto warp =
                (thread_idx().z * block_dim().y + thread_idx().y) * block_dim().x + thread_idx().x;
            return warp / 32;
        }
        if constexpr (name == "nwarpid") return (block_dim().x * block_dim().y * block_dim().z + 31) / 32;
        const std::uint32_t own = 1u << lane();
        if constexpr (name == "lanemask_lt") return own - 1;
        if constexpr (name == "lanemask_le") return own - 1 + own;
        if constexpr (name == "lanemask_eq") return own;
        if constexpr (name == "lanemask_ge") return ~(own - 1);
        if constexpr (name == "lanemask_gt") return ~(own - 1 + own);
        if constexpr (name == "clock" || name == "clock64" || name == "globaltimer")
            return 0;  // there is no time
        unknown();
    }

    // cp.async, and the copy engine's
    __forceinline__ void copies() const {
        if constexpr (is("cp.async.ca.shared") || is("cp.async.cg.shared")) {
            const int bytes = static_cast<int>(at<2>());
            int valid = bytes;
            // The fourth is how many bytes are read, or a predicate that they are not.
            if constexpr (kThis.groups > (of("L2::cache_hint") ? 4 : 3)) {
                constexpr Kind kind = kProgram.scalar[kThis.group[3].first].kind;
                valid = kind == Kind::named ? (at<3>() != 0 ? 0 : bytes) : static_cast<int>(at<3>());
            }
            async_copy(shared<0>(), global<1>(), bytes, valid);
        } else if constexpr (kName == "cp.async.commit_group") {
            async_commit();
        } else if constexpr (kName == "cp.async.wait_group") {
            async_wait(static_cast<int>(at<0>()));
        } else if constexpr (kName == "cp.async.wait_all") {
            async_commit();
            async_wait(0);
        } else if constexpr (is("cp.async.mbarrier.arrive")) {
            // Copies are over here; on a GPU they may be later, when the phase ends. What .noinc leaves out
            // is one arrival more that is expected.
            async_commit();
            async_wait(0);
            if constexpr (of("noinc")) mbarrier_arrive(shared<0>(), 1, site("cp.async.mbarrier.arrive"));
        } else if constexpr (is("cp.async.bulk.prefetch")) {
        } else if constexpr (kName == "cp.async.bulk.commit_group") {
            bulk_commit();
        } else if constexpr (is("cp.async.bulk.wait_group")) {
            bulk_wait(static_cast<int>(at<0>()), of("read"));
        } else if constexpr (is("cp.async.bulk.tensor.")) {
            boxes();
        } else if constexpr (is("cp.async.bulk.shared::cluster.global") ||
                             is("cp.async.bulk.shared::cta.global")) {
            bulk_load(shared<0>(), global<1>(), word<2>(), shared<3>(), site("cp.async.bulk"));
        } else if constexpr (is("cp.async.bulk.global.shared::cta")) {
            bulk_store(global<0>(), shared<1>(), word<2>(), site("cp.async.bulk"));
        } else {
            unknown();
        }
    }
    __forceinline__ void boxes() const {
        constexpr int rank = number_at(kName, std::string_view("cp.async.bulk.tensor.").size());
        constexpr bool load = of("global") && kName.find(".global.shared") == kName.npos;
        if constexpr (rank < 1 || rank > 5 || of("im2col") || kName.find(".reduce.") != kName.npos) {
            unknown();
        } else {
            int where[rank];
            [&]<int... D>(std::integer_sequence<int, D...>) CPU_DEVICE_INLINED {
                ((where[D] = static_cast<int>(at < load ? 1 : 0, 1 + D > ())), ...);
            }
            (std::make_integer_sequence<int, rank>{});
            const auto& map = *static_cast<const CUtensorMap*>(global < load ? 1 : 0 > ());
            if constexpr (!load) {
                tensor_store(map, where, rank, shared<1>(), site("cp.async.bulk.tensor"));
            } else if constexpr (of("multicast::cluster")) {
                tensor_load_multicast(shared<0>(), map, where, rank, shared<2>(),
                                      static_cast<std::uint16_t>(at<3>()),
                                      site("cp.async.bulk.tensor.multicast"));
            } else {
                tensor_load(shared<0>(), map, where, rank, shared<2>(), site("cp.async.bulk.tensor"));
            }
        }
    }

    __forceinline__ void mbarriers() const {
        if constexpr (is("mbarrier.init")) {
            mbarrier_init(shared<0>(), word<1>(), site("mbarrier.init"));
        } else if constexpr (is("mbarrier.inval")) {
            mbarrier_inval(shared<0>(), site("mbarrier.inval"));
        } else if constexpr (is("mbarrier.expect_tx")) {
            mbarrier_expect_tx(shared<0>(), word<1>(), site("mbarrier.expect_tx"));
        } else if constexpr (is("mbarrier.arrive.expect_tx")) {
            if constexpr (gives<0>()) to<0>(mbarrier_parity(shared<1>(), site("mbarrier.arrive")));
            mbarrier_arrive_expect_tx(shared<1>(), word<2>(), site("mbarrier.arrive.expect_tx"));
        } else if constexpr (is("mbarrier.arrive") && !of("noComplete")) {
            unsigned count = 1;
            if constexpr (kThis.groups > 2) count = word<2>();
            const auto rank = static_cast<unsigned>(at<1>() >> kRankShift);
            if constexpr (gives<0>()) to<0>(mbarrier_parity(shared<1>(), site("mbarrier.arrive")));
            if (rank > 0) {
                mbarrier_arrive_at(shared<1>(), rank - 1, count, !of("relaxed"),
                                   site("mbarrier.arrive.shared::cluster"));
            } else {
                mbarrier_arrive(shared<1>(), count, site("mbarrier.arrive"));
            }
        } else if constexpr (is("mbarrier.try_wait.") || is("mbarrier.test_wait.")) {
            // A state is the parity of the phase that it is of.
            const Site here = site("mbarrier.try_wait");
            if constexpr (!kProgram.loops) {
                to<0>(mbarrier_is_complete(shared<1>(), word<2>(), here));
            } else {
                if constexpr (of("cluster")) {
                    mbarrier_wait_cluster(shared<1>(), word<2>(), here);
                } else {
                    mbarrier_wait(shared<1>(), word<2>(), here);
                }
                to<0>(1);
            }
        } else {
            unknown();
        }
    }

    // bar, barrier, fence, mapa, griddepcontrol: who waits for whom
    __forceinline__ void order() const {
        if constexpr (is("barrier.cluster.arrive")) {
            cluster_arrive(!of("relaxed"), site("barrier.cluster.arrive"));
        } else if constexpr (is("barrier.cluster.wait")) {
            cluster_wait(site("barrier.cluster.wait"));
        } else if constexpr (kName == "bar.sync" || kName == "barrier.sync" || kName == "barrier.cta.sync" ||
                             kName == "barrier.sync.aligned" || kName == "barrier.cta.sync.aligned") {
            if constexpr (kThis.groups > 1) {
                named_barrier(word<0>(), word<1>(), site("bar.sync"));
            } else if (at<0>() == 0) {
                barrier(site("bar.sync"), false);
            } else {
                const dim3& dim = block_dim();
                named_barrier(word<0>(), dim.x * dim.y * dim.z, site("bar.sync"));
            }
        } else if constexpr (kName == "bar.arrive" || is("barrier.arrive") || is("barrier.cta.arrive")) {
            named_barrier_arrive(word<0>(), word<1>(), site("bar.arrive"));
        } else if constexpr (kName == "bar.warp.sync") {
            collective(word<0>(), nullptr, 0, 0, 32, site("bar.warp.sync"));
        } else if constexpr (is("fence.proxy.async")) {
            fence_proxy_async();
        } else if constexpr (is("fence.mbarrier_init")) {
            fence_mbarrier_init();
        } else if constexpr (is("fence.") || is("membar.")) {
            fence();
        } else if constexpr (is("mapa.shared::cluster")) {
            to<0>((at<1>() & kNumber) | (at<2>() + 1) << kRankShift);
        } else if constexpr (kName == "mapa.u64") {
            to<0>(bits_of(at_rank(global<1>(), word<2>(), site("mapa"))));
        } else if constexpr (is("setmaxnreg.inc") || is("setmaxnreg.dec")) {
            set_registers(static_cast<int>(at<0>()), is("setmaxnreg.inc"), site("setmaxnreg"));
        } else if constexpr (kName == "elect.sync") {
            to<0>(static_cast<std::uint64_t>(__builtin_ctz(word<1>())));
            if constexpr (kThis.group[0].count > 1) to<0, 1>(lane() == __builtin_ctz(word<1>()));
            collective(word<1>(), nullptr, 0, 0, 32, site("elect.sync"));
        } else {
            unknown();
        }
    }

    __forceinline__ void matrices() const {
        if constexpr (is("ldmatrix.sync.aligned.m8n8") || is("ldmatrix.sync.aligned.x")) {
            std::uint32_t got[kThis.group[0].count];
            load_matrices(got, kThis.group[0].count, of("trans"), shared<1>(), site("ldmatrix"));
            to_words<0>(got);
        } else if constexpr (is("stmatrix.sync.aligned.m8n8") || is("stmatrix.sync.aligned.x")) {
            std::uint32_t given[kThis.group[1].count];
            words<1>(given);
            store_matrices(shared<0>(), given, kThis.group[1].count, of("trans"), site("stmatrix"));
        } else if constexpr (is("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") ||
                             is("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") ||
                             kName == "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16") {
            multiply();
        } else if constexpr ((is("mma.sync.aligned.m16n8k") && kName.ends_with("f32") &&
                              (of("tf32") ? of("m16n8k8") || of("m16n8k4")
                                          : of("m16n8k8") && (of("f16") || of("bf16")))) ||
                             kName == "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16") {
            multiply_shorter();
        } else if constexpr (is("mma.sync.aligned.m8n8k4.") && kName.find(".f16.f16.f") != kName.npos) {
            multiply_quads();
        } else if constexpr (kName == "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64") {
            multiply_doubles();
        } else {
            unknown();
        }
    }
    /// FP16's m8n8k4, of Volta: four products of four lanes each and the four 16 lanes on, which are the
    /// blocks on the diagonal of one of 32×32×16 ("Matrix Fragments for mma.m8n8k4 with .f16 floating point
    /// type").
    __forceinline__ void multiply_quads() const {
        constexpr bool short_sums = kName.ends_with(".f16"), short_before = kThis.group[3].count == 4;
        constexpr bool columns_a = is("mma.sync.aligned.m8n8k4.col"), columns_b = !rows_b();
        static_assert(kThis.group[1].count == 2 && kThis.group[2].count == 2);
        Share share{32, 32, 16};
        std::uint32_t a[2], b[2], c[8], d[8];
        words<1>(a), words<2>(b), words<3>(c);
        const int lane = ::cpu_device::lane(), quad = lane / 4 % 4, upper = lane / 16 * 4,
                  own = lane % 4 + upper;
        const auto value = [](const std::uint32_t* bits, int i) {
            return value_of_half(static_cast<std::uint16_t>(bits[i / 2] >> 16 * (i % 2)));
        };
        for (int i = 0; i < 4; ++i) {
            const int across_a = columns_a ? i + upper : own, deep_a = columns_a ? lane % 4 : i;
            const int across_b = columns_b ? own : i + upper, deep_b = columns_b ? i : lane % 4;
            share.a.add(static_cast<double>(value(a, i)), {8 * quad + across_a, 4 * quad + deep_a});
            share.b.add(static_cast<double>(value(b, i)), {4 * quad + deep_b, 8 * quad + across_b});
        }
        const auto place = [&](int i, bool in_short) {
            const gemm::ptx::Position at =
                in_short ? gemm::ptx::Position{own, i}
                         : gemm::ptx::Position{(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
            return gemm::ptx::Position{8 * quad + at.row, 8 * quad + at.col};
        };
        static_assert(short_sums == short_before, "the CPU device has m8n8k4 with C and D of one type");
        for (int i = 0; i < 8; ++i)
            share.c.add(static_cast<double>(short_before ? value(c, i) : __builtin_bit_cast(float, c[i])),
                        place(i, short_before));
        multiply_shares(share, site("mma.sync"));
        for (int i = 0; i < 8; ++i) {
            const auto sum = static_cast<float>(share.c.value[i]);
            if constexpr (!short_sums) d[i] = __builtin_bit_cast(std::uint32_t, sum);
            if constexpr (short_sums) {
                const auto bits = static_cast<std::uint32_t>(bits_of(__half(share.c.value[i])));
                d[i / 2] = i % 2 == 0 ? bits : d[i / 2] | bits << 16;
            }
        }
        to_words<0>(d);
    }
    static constexpr bool rows_b() {
        return kName.find(".row.row.") != kName.npos || kName.find(".col.row.") != kName.npos;
    }
    /// FP64's m8n8k4 ("Matrix Fragments for mma.m8n8k4 with .f64 floating point type").
    __forceinline__ void multiply_doubles() const {
        const auto value = [](std::uint64_t bits) { return __builtin_bit_cast(double, bits); };
        const int lane = ::cpu_device::lane();
        Share share{8, 8, 4};
        share.a.add(value(at<1>()), {lane / 4, lane % 4});
        share.b.add(value(at<2>()), {lane % 4, lane / 4});
        share.c.add(value(at<3>()), {lane / 4, lane % 4 * 2});
        share.c.add(value(at<3, 1>()), {lane / 4, lane % 4 * 2 + 1});
        multiply_shares(share, site("mma.sync"));
        to<0>(bits_of(share.c.value[0]));
        to<0, 1>(bits_of(share.c.value[1]));
    }
    /// m16n8k8, and TF32's m16n8k4 ("Matrix Fragments for mma.m16n8k8", "… mma.m16n8k4").
    __forceinline__ void multiply_shorter() const {
        constexpr bool tf32 = of("tf32"), short_sums = kName.ends_with("f16");
        Share share{16, 8, of("m16n8k4") ? 4 : 8};
        std::uint32_t a[kThis.group[1].count], b[kThis.group[2].count], c[4];
        words<1>(a), words<2>(b), words<3>(c);
        const int lane = ::cpu_device::lane();
        const auto add = [&](Share::Matrix& matrix, std::uint32_t bits, gemm::ptx::Position at, int half) {
            const auto narrow = static_cast<std::uint16_t>(bits >> 16 * half);
            matrix.add(tf32         ? tf32_value(__builtin_bit_cast(float, bits))
                       : of("bf16") ? static_cast<double>(value_of_bfloat16(narrow))
                                    : static_cast<double>(value_of_half(narrow)),
                       at);
        };
        for (int half = 0; half < (tf32 ? 1 : 2); ++half) {
            for (int r = 0; r < kThis.group[1].count; ++r)
                add(share.a, a[r],
                    tf32 ? gemm::ptx::Position{lane / 4 + r % 2 * 8, lane % 4 + r / 2 * 4}
                         : gemm::ptx::fragment_a(lane, r, half),
                    half);
            for (int r = 0; r < kThis.group[2].count; ++r)
                add(share.b, b[r],
                    tf32 ? gemm::ptx::Position{lane % 4 + r * 4, lane / 4}
                         : gemm::ptx::fragment_b(lane, r, half),
                    half);
        }
        for (int i = 0; i < 4; ++i)
            share.c.add(static_cast<double>(sum_of<short_sums>(c, i)), gemm::ptx::fragment_c(lane, i));
        multiply_shares(share, site("mma.sync"));
        float sums[4];
        for (int i = 0; i < 4; ++i) sums[i] = static_cast<float>(share.c.value[i]);
        put_sums<short_sums>(c, sums);
        to_words<0>(c);
    }
    /// Sum i of four, which lie in four registers, or in two where they are of FP16.
    template <bool SHORT>
    static __forceinline__ float sum_of(const std::uint32_t* c, int i) {
        return SHORT ? value_of_half(static_cast<std::uint16_t>(c[i / 2] >> 16 * (i % 2)))
                     : __builtin_bit_cast(float, c[i]);
    }
    template <bool SHORT>
    static __forceinline__ void put_sums(std::uint32_t* c, const float* sums) {
        if constexpr (SHORT) {
            for (int i = 0; i < 2; ++i)
                c[i] = static_cast<std::uint32_t>(bits_of(__half(sums[2 * i]))) |
                       static_cast<std::uint32_t>(bits_of(__half(sums[2 * i + 1]))) << 16;
        } else {
            for (int i = 0; i < 4; ++i) c[i] = __builtin_bit_cast(std::uint32_t, sums[i]);
        }
    }
    __forceinline__ void multiply() const {
        constexpr bool short_sums = kName.ends_with("f16.f16.f16.f16");
        std::uint32_t a[4], b[2], c[4];
        words<1>(a), words<2>(b), words<3>(c);
        float sums[4];
        for (int i = 0; i < 4; ++i) sums[i] = sum_of<short_sums>(c, i);
        multiply_fragments(sums, a, b, of("bf16") ? Input::bfloat16 : Input::half, site("mma.sync"));
        put_sums<short_sums>(c, sums);
        to_words<0>(c);
    }

    __forceinline__ void warpgroup() const {
        constexpr bool half = kName.ends_with("k16.f32.f16.f16");
        if constexpr (is("wgmma.fence")) {
            wgmma_fence(site("wgmma.fence"));
        } else if constexpr (is("wgmma.commit_group")) {
            wgmma_commit(site("wgmma.commit_group"));
        } else if constexpr (is("wgmma.wait_group")) {
            wgmma_wait(static_cast<int>(at<0>()), site("wgmma.wait_group"));
        } else if constexpr (is("wgmma.mma_async.sync.aligned.m64n") &&
                             (half || kName.ends_with("k16.f32.bf16.bf16"))) {
            constexpr int count = number_at(kName, kName.find("m64n") + 4) / 2;
            constexpr bool registers = kThis.group[1].count == 4;
            constexpr int transposed = registers ? 6 : 7;  // B's, and A's in front of it
            const Operand& first = r.operands[kProgram.scalar[kThis.group[0].first].value];
            const Operand& last = r.operands[kProgram.scalar[kThis.group[0].first + count - 1].value];
            auto* const sums = static_cast<float*>(first.at);
            if (static_cast<float*>(last.at) - sums != count - 1)
                unknown_instruction(site("wgmma.mma_async with sums that are not one array"));
            std::uint32_t a[4]{};
            bool major_a = false, major_b = false;
            if constexpr (registers) words<1>(a);
            if constexpr (!registers && kThis.groups > 7) major_a = at<6>() != 0;
            if constexpr (kThis.groups > transposed) major_b = at<transposed>() != 0;
            using gemm::ptx::Major;
            wgmma({.sums = sums,
                   .count = count,
                   .registers = registers ? a : nullptr,
                   .a = registers ? 0 : at<1>(),
                   .b = at<2>(),
                   .major_a = major_a ? Major::row : Major::k,
                   .major_b = major_b ? Major::row : Major::k,
                   .minus_a = static_cast<int>(at<4>()) < 0,
                   .minus_b = static_cast<int>(at<5>()) < 0,
                   .add = (at<3>() & 1) != 0,
                   .half = half},
                  site("wgmma.mma_async"));
        } else {
            unknown();
        }
    }

    /// ld and st, of global and shared memory.
    __forceinline__ void memory() const {
        constexpr bool load = is("ld.");
        constexpr int address = load ? 1 : 0, values = load ? 0 : 1, count = kThis.group[values].count;
        constexpr int bytes = kName.ends_with("64")   ? 8
                              : kName.ends_with("32") ? 4
                              : kName.ends_with("16") ? 2
                                                      : 1;
        // Without a state space the address is generic.
        constexpr bool generic = !of("shared") && !of("shared::cta") && !of("shared::cluster") &&
                                 !of("local") && !of("param") && !of("const");
        constexpr bool in_shared = of("shared") || of("shared::cta") || of("shared::cluster");
        if constexpr (!generic && !in_shared) {
            unknown();
        } else {
            using Unsigned = std::conditional_t<
                bytes == 8, std::uint64_t,
                std::conditional_t<bytes == 4, std::uint32_t,
                                   std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>;
            struct alignas(bytes * count) Vector {  // one access, as the instruction is
                Unsigned of[count];
            };
            void* p = in_shared ? shared<address>() : global<address>();
            if constexpr (of("shared::cluster")) {
                const auto rank = static_cast<unsigned>(at<address>() >> kRankShift);
                if (rank > 0)
                    p = at_rank(p, rank - 1, site(load ? "ld.shared::cluster" : "st.shared::cluster"));
            }
            [&]<int... J>(std::integer_sequence<int, J...>) CPU_DEVICE_INLINED {
                if constexpr (load) {
                    const Vector got = *static_cast<const Vector*>(p);
                    (to<values, J>(got.of[J]), ...);
                } else {
                    *static_cast<Vector*>(p) = Vector{static_cast<Unsigned>(at<values, J>())...};
                }
            }
            (std::make_integer_sequence<int, count>{});
        }
    }

    /// atom and red, of one element.
    __forceinline__ void atomics() const {
        constexpr bool gives = is("atom.");
        constexpr int address = gives ? 1 : 0, value = address + 1;
        constexpr bool shared_one = of("shared") || of("shared::cta");
        if constexpr (of("release") || of("acq_rel")) fence();
        const auto go = [&]<class E>(E) CPU_DEVICE_INLINED {
            auto* const p = static_cast<E*>(shared_one ? shared<address>() : global<address>());
            using Bits = std::conditional_t<sizeof(E) == 8, std::uint64_t,
                                            std::conditional_t<sizeof(E) == 4, std::uint32_t, std::uint16_t>>;
            const E given = __builtin_bit_cast(E, static_cast<Bits>(at<value>()));
            E before;
            if constexpr (of("add")) {
                before = atomicAdd(p, given);
            } else if constexpr (of("exch") && sizeof(E) >= 4) {
                before = atomicExch(p, given);
            } else if constexpr (of("min") && std::is_integral_v<E>) {
                before = atomicMin(p, given);
            } else if constexpr (of("max") && std::is_integral_v<E>) {
                before = atomicMax(p, given);
            } else if constexpr (of("cas") && std::is_integral_v<E>) {
                before = atomicCAS(p, given, static_cast<E>(at<value + 1>()));
            } else {
                unknown();
            }
            if constexpr (gives) to<0>(bits_of(before));
        };
        if constexpr (of("cluster") || of("shared::cluster") || of("v2") || of("v4")) {
            unknown();
        } else if constexpr (kName.ends_with(".f32")) {
            go(float());
        } else if constexpr (kName.ends_with(".f64")) {
            go(double());
        } else if constexpr (kName.ends_with(".f16x2")) {
            go(__half2());
        } else if constexpr (kName.ends_with(".f16")) {
            go(__half());
        } else if constexpr (kName.ends_with(".u64") || kName.ends_with(".b64")) {
            go(0ull);
        } else if constexpr (kName.ends_with(".s32")) {
            go(0);
        } else if constexpr (kName.ends_with(".u32") || kName.ends_with(".b32")) {
            go(0u);
        } else {
            unknown();
        }
        if constexpr (of("acquire") || of("acq_rel")) fence();
    }

    /// shfl, vote, redux and activemask: lanes of a warp that tell each other something.
    __forceinline__ void lanes() const {
        if constexpr (is("activemask.")) {
            to<0>(active_mask(site("activemask")));
        } else if constexpr (is("shfl.sync.") && kThis.groups == 5) {
            // The fourth is the last lane of a segment, and which bits of the lane choose the segment.
            const std::uint32_t clamp = word<3>(), segment = clamp >> 8 & 31;
            const int width = static_cast<int>(32 - segment);
            constexpr Collective kCompute = of("bfly")   ? shuffle_xor
                                            : of("up")   ? shuffle_up
                                            : of("down") ? shuffle_down
                                                         : shuffle_index;
            to<0>(static_cast<std::uint32_t>(collective(
                word<4>(), kCompute, word<1>(), static_cast<int>(word<2>()), width, site("shfl.sync"))));
        } else if constexpr (is("vote.sync.ballot")) {
            to<0>(static_cast<std::uint32_t>(
                collective(word<2>(), ballot, at<1>() != 0, 0, 32, site("vote.sync"))));
        } else if constexpr (is("vote.sync.any")) {
            to<0>(collective(word<2>(), ballot, at<1>() != 0, 0, 32, site("vote.sync")) != 0);
        } else if constexpr (is("vote.sync.all")) {
            to<0>(collective(word<2>(), ballot, at<1>() == 0, 0, 32, site("vote.sync")) == 0);
        } else if constexpr (is("redux.sync.") && !of("f32")) {
            constexpr bool kSigned = of("s32");
            const std::uint32_t mask = word<2>();
            std::uint32_t result = 0;
            bool first = true;
            for (int from = 0; from < 32; ++from) {
                if ((mask >> from & 1) == 0) continue;
                const auto other = static_cast<std::uint32_t>(
                    collective(mask, shuffle_index, word<1>(), from, 32, site("redux.sync")));
                const bool less = kSigned
                                      ? static_cast<std::int32_t>(other) < static_cast<std::int32_t>(result)
                                      : other < result;
                result = first               ? other
                         : of("add")         ? result + other
                         : of("and")         ? result & other
                         : of("or")          ? result | other
                         : of("xor")         ? result ^ other
                         : of("min") == less ? other
                                             : result;
                first = false;
            }
            to<0>(result);
        } else {
            unknown();
        }
    }

    /// Operand G, where there is one.
    template <int G>
    __forceinline__ std::uint64_t input() const {
        if constexpr (G < kThis.groups) return at<G>();
        return 0;
    }
    /// Moves, and what computes around the others.
    __forceinline__ void scalars() const {
        if constexpr (is("cvta.to.shared") || is("cvta.shared")) {
            to<0>(shared_number(global<1>()));
        } else if constexpr (is("cvta.to.global") || is("cvta.global")) {
            to<0>(at<1>());
        } else if constexpr (is("mov.b64") && kThis.group[1].count == 2) {
            to<0>(word<1>() | at<1, 1>() << 32);
        } else if constexpr (is("mov.b64") && kThis.group[0].count == 2) {
            to<0>(word<1>());
            to<0, 1>(at<1>() >> 32);
        } else if constexpr (is("mov.b32") && kThis.group[1].count == 2) {
            to<0>((at<1>() & 0xffff) | at<1, 1>() << 16);
        } else if constexpr (is("mov.")) {
            to<0>(at<1>());
        } else if constexpr (is("createpolicy.")) {
            to<0>(0);
        } else if constexpr (Arithmetic<Name>::kKnown) {
            to<0>(Arithmetic<Name>::of_inputs(input<1>(), input<2>(), input<3>(), input<4>()));
        } else {
            unknown();
        }
    }

    __forceinline__ void go() const {
        if constexpr (!kProgram.readable) {
            unknown();
        } else if constexpr (is("cp.")) {
            copies();
        } else if constexpr (is("mbarrier.")) {
            mbarriers();
        } else if constexpr (is("bar") || is("fence.") || is("membar.") || is("mapa.") || is("setmaxnreg.") ||
                             is("elect.")) {
            order();
        } else if constexpr (is("ldmatrix.") || is("stmatrix.") || is("mma.")) {
            matrices();
        } else if constexpr (is("wgmma.")) {
            warpgroup();
        } else if constexpr (is("ld.") || is("st.")) {
            memory();
        } else if constexpr (is("atom.") || is("red.")) {
            atomics();
        } else if constexpr (is("shfl.") || is("vote.") || is("redux.") || is("activemask.")) {
            lanes();
        } else if constexpr (kName == "trap") {
            trap(site("trap"));
        } else if constexpr (!is("bra") && !is("prefetch") && !is("griddepcontrol.") && !is("nanosleep.") &&
                             !is("discard.") && !is("applypriority.")) {
            scalars();
        }
    }
    __forceinline__ void maybe() const {
        if constexpr (kThis.predicate >= 0) {
            if ((r.named[kThis.predicate] != 0) != kThis.negated) go();
        } else {
            go();
        }
    }
};

template <Text T, class... O>
__forceinline__ void run(Here here, const O&... operands) {
    const Operand all[] = {operands..., Operand{}};
    std::uint64_t named[kMostNames]{};
    Registers registers{all, named, here};
    [&]<int... I>(std::integer_sequence<int, I...>) CPU_DEVICE_INLINED {
        (Step<T, I>{registers}.maybe(), ...);
    }
    (std::make_integer_sequence<int, program<T>.instructions>{});
    if constexpr (!program<T>.readable && program<T>.instructions == 0)
        unknown_instruction({"inline PTX that cannot be read", here.file, here.line});
}

}  // namespace cpu_device::inline_ptx

#undef CPU_DEVICE_INLINED
