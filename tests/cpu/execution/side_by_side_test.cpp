// Blocks that wait for each other, by flags: as many as the device holds at once, and no more.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"
#include "tests/cpu/execution/kernels.hpp"
#include "tests/device_array.hpp"
#include "tests/schedule.hpp"
#include "tests/support.hpp"

namespace {

using gemm::FaultId;
using test::DeviceArray;

/// So many SMs; a block of 1024 threads has two places on each.
struct Multiprocessors {
    explicit Multiprocessors(int count) { cpu_device::set_multiprocessors(count); }
    Multiprocessors(const Multiprocessors&) = delete;
    Multiprocessors& operator=(const Multiprocessors&) = delete;
    ~Multiprocessors() { cpu_device::set_multiprocessors(cpu_device::kFewMultiprocessors); }
};

struct UsualPatience {
    ~UsualPatience() { cpu_device::set_hang_seconds(60); }
};

std::vector<int> chain(bool reverse, int blocks, int threads) {
    const DeviceArray<unsigned> flags(static_cast<std::size_t>(blocks));
    const DeviceArray<int> values(static_cast<std::size_t>(blocks));
    kernels::chain(reverse, blocks, threads, flags.data(), values.data());
    return values.host();
}
std::vector<int> counted(bool down, int blocks) {
    std::vector<int> numbers(static_cast<std::size_t>(blocks));
    std::iota(numbers.begin(), numbers.end(), 1);
    if (down) std::reverse(numbers.begin(), numbers.end());
    return numbers;
}

std::vector<int> places(int blocks) {
    const DeviceArray<unsigned> counters(2);
    const DeviceArray<int> order(static_cast<std::size_t>(blocks));
    kernels::places(blocks, counters.data(), order.data());
    return order.host();
}

}  // namespace

TEST_CASE("side by side: each block waits for the next one, or the one before") {
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const test::Schedule schedule(seed);
        INFO("seed " << seed);
        CHECK(chain(true, 16, 128) == counted(true, 16));
        CHECK(chain(false, 16, 128) == counted(false, 16));
        CHECK(chain(true, 1, 32) == counted(true, 1));
    }
    // More than fit, where those that are waited for come first.
    CHECK(chain(false, 100, 1024) == counted(false, 100));
    // As many as an H200 has room for, of a block on each SM.
    const Multiprocessors all(132);
    CHECK(chain(true, 132, 256) == counted(true, 132));
}

TEST_CASE("side by side: a block adds up what others have computed of its sum") {
    const int tiles = 5, splits = 3, threads = 96, n = 31;
    std::vector<float> in(static_cast<std::size_t>(tiles * n * threads));
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 13);
    std::vector<float> expected(static_cast<std::size_t>(tiles * threads));
    for (std::size_t i = 0; i < in.size(); ++i)
        expected[i / static_cast<std::size_t>(n * threads) * threads + i % threads] += in[i];
    const DeviceArray<float> values(in);
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
        const test::Schedule schedule(seed);
        const DeviceArray<float> parts(static_cast<std::size_t>(tiles * splits * threads)),
            out(static_cast<std::size_t>(tiles * threads));
        const DeviceArray<unsigned> ready(static_cast<std::size_t>(tiles));
        kernels::split_sum(tiles, splits, threads, n, values.data(), parts.data(), ready.data(), out.data());
        CHECK(out.host() == expected);
    }
}

TEST_CASE("side by side: all blocks meet, again and again") {
    const int blocks = 24, rounds = 50;
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
        const test::Schedule schedule(seed);
        const DeviceArray<unsigned> arrived(1);
        const DeviceArray<int> numbers(2 * blocks);
        const DeviceArray<long long> sums(blocks);
        kernels::grid_barrier(blocks, rounds, arrived.data(), numbers.data(), sums.data());
        const long long expected =
            static_cast<long long>(rounds) * (rounds + 1) / 2 * blocks * (blocks - 1) / 2;
        CHECK(sums.host() == std::vector<long long>(blocks, expected));
    }
}

TEST_CASE("side by side: blocks that are left out begin where another one waits") {
    cpu_device::set_block_filter([](std::uint64_t block) { return block == 5; });
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
        const test::Schedule schedule(seed);
        const DeviceArray<unsigned> flags(16);
        const DeviceArray<int> values(16);
        kernels::chain(true, 16, 64, flags.data(), values.data());
        CHECK(values.host() == counted(true, 16));
    }
    cpu_device::set_block_filter({});
}

TEST_CASE(
    "side by side: blocks that are left out stay out where none waits, though others have waited before") {
    CHECK(chain(true, 16, 64) == counted(true, 16));  // now it is known of the kernel that its blocks wait
    const Multiprocessors one(1);
    cpu_device::set_block_filter([](std::uint64_t block) { return block == 0; });
    std::vector<int> expected(100);
    expected[0] = 1;
    CHECK(chain(false, 100, 1024) == expected);
    cpu_device::set_block_filter({});
}

TEST_CASE("side by side: ways to spin") {
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5}) {
        const test::Schedule schedule(seed);
        const DeviceArray<unsigned> flags(9);
        const DeviceArray<int> out(1);
        kernels::ways_to_spin(flags.data(), out.data());
        CHECK(out.host()[0] == 1);
    }
}

TEST_CASE("side by side: clusters") {
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
        const test::Schedule schedule(seed);
        const int blocks = 24;
        const DeviceArray<unsigned> flags(blocks);
        const DeviceArray<int> values(blocks);
        REQUIRE(kernels::chained_clusters(blocks, false, flags.data(), values.data()) == cudaSuccess);
        std::vector<int> expected(blocks);
        for (int i = blocks; i-- > 0;)
            expected[static_cast<std::size_t>(i)] =
                i + (i + 2 < blocks ? expected[static_cast<std::size_t>(i) + 2] : 0);
        CHECK(values.host() == expected);
    }
}

TEST_CASE("side by side: a cooperative launch of as many blocks as fit, and of one more") {
    test::device();  // which has two SMs
    const auto launched = [](int blocks, cudaError_t expected) {
        const DeviceArray<unsigned> flags(static_cast<std::size_t>(blocks));
        const DeviceArray<int> values(static_cast<std::size_t>(blocks));
        CHECK(kernels::chain_together(blocks, flags.data(), values.data()) == expected);
        std::string why = cpu_device::refusal();
        CHECK(cudaGetLastError() == expected);
        CHECK(values.host() == (expected == cudaSuccess
                                    ? counted(true, blocks)
                                    : std::vector<int>(static_cast<std::size_t>(blocks))));
        return why;
    };
    // Two SMs, each with room for two blocks of 1024 threads.
    for (const std::uint64_t seed : {0, 1, 2, 3}) {
        const test::Schedule schedule(seed);
        CHECK(launched(4, cudaSuccess).empty());
    }
    const std::uint64_t before = cpu_device::steps().launches;
    CHECK(launched(5, cudaErrorCooperativeLaunchTooLarge) ==
          "a cooperative launch of 5 blocks, but the device holds 4 at once (2 SMs with room for 2 each)");
    CHECK(cpu_device::steps().launches == before);
    CHECK(launched(4, cudaSuccess).empty());
    {
        const Multiprocessors one(1);
        CHECK(launched(2, cudaSuccess).empty());
        CHECK(launched(3, cudaErrorCooperativeLaunchTooLarge) ==
              "a cooperative launch of 3 blocks, but the device holds 2 at once (1 SM with room for 2 each)");
    }
    CHECK(std::string(cudaGetErrorString(cudaErrorCooperativeLaunchTooLarge)) ==
          "too many blocks in cooperative launch");
    // 64 threads: 32 blocks on each SM, in 32 clusters of two.
    for (const auto& [blocks, fits] : {std::pair{64, true}, {66, false}}) {
        const DeviceArray<unsigned> flags(static_cast<std::size_t>(blocks));
        const DeviceArray<int> values(static_cast<std::size_t>(blocks));
        CHECK(kernels::chained_clusters(blocks, true, flags.data(), values.data()) ==
              (fits ? cudaSuccess : cudaErrorCooperativeLaunchTooLarge));
        CHECK(cpu_device::refusal().empty() == fits);
        (void)cudaGetLastError();
        CHECK(values.host()[1] == (fits ? 32 * 32 : 0));  // 1 + 3 + … + 63
    }
}

TEST_CASE("side by side: by CUDA's atomic functions, of which nothing is known at first") {
    for (int launch = 0; launch < 4; ++launch) {
        const DeviceArray<unsigned> flags(64);
        const DeviceArray<int> values(64), sum(2);
        kernels::atomic_chain(64, flags.data(), values.data());
        CHECK(values.host() == counted(true, 64));
        kernels::locked(8, sum.data(), sum.data() + 1);
        CHECK(sum.host() == std::vector<int>{0, 8 * 64});
    }
}

TEST_CASE("side by side: the seed decides the order") {
    std::vector<std::vector<int>> seen;
    for (const std::uint64_t seed : {0, 1, 2, 3, 4, 5, 6, 7}) {
        const test::Schedule schedule(seed);
        const std::vector<int> order = places(24);
        for (int again = 0; again < 3; ++again) CHECK(places(24) == order);
        std::vector<int> sorted = order;
        std::sort(sorted.begin(), sorted.end());
        CHECK((sorted.front() == 0 && sorted.back() == 23));
        CHECK(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
        seen.push_back(order);
    }
    CHECK(std::is_sorted(seen[0].begin(), seen[0].end()));
    std::sort(seen.begin(), seen.end());
    CHECK(std::unique(seen.begin(), seen.end()) - seen.begin() > 6);
}

TEST_CASE("side by side: one block more than fits, and others that wait for nobody") {
    // Two SMs, each with room for two blocks of 1024 threads.
    CHECK(chain(true, 4, 1024) == counted(true, 4));
    const auto barrier = [] {
        const DeviceArray<unsigned> arrived(1);
        const DeviceArray<int> numbers(2 * 65);
        const DeviceArray<long long> sums(65);
        kernels::grid_barrier(65, 2, arrived.data(), numbers.data(), sums.data());
    };
    const UsualPatience usual;
    cpu_device::set_hang_seconds(1);
    const auto beside = [](kernels::WrongBeside kind) {
        return [kind] {
            const DeviceArray<unsigned> flags(2);
            const DeviceArray<int> out(1);
            kernels::wrong_beside(kind, flags.data(), out.data());
        };
    };
    using kernels::WrongBeside;
    test::require_faults("flag_hangs",
                         {{"null_pointer", FaultId::null_pointer, beside(WrongBeside::null_pointer)},
                          {"trap", FaultId::trap, beside(WrongBeside::trap)},
                          {"endless_loop", FaultId::endless_loop, beside(WrongBeside::endless_loop)},
                          {"divergent", FaultId::divergent_barrier, beside(WrongBeside::divergent)},
                          {"not_released", FaultId::flag_hang, beside(WrongBeside::not_released)},
                          {"one_more", FaultId::flag_hang, [] { chain(true, 5, 1024); }},
                          {"grid_barrier", FaultId::flag_hang, barrier}},
                         [] {
                             CHECK(chain(true, 4, 1024) == counted(true, 4));
                             CHECK(chain(false, 16, 64) == counted(false, 16));
                         });
#ifndef __SANITIZE_ADDRESS__  // which ends the program where a stack is overrun, before the CPU device sees
                              // it
    test::require_faults("stack_overruns",
                         {{"overrun", FaultId::stack_overflow, beside(WrongBeside::overrun)},
                          {"recursion", FaultId::stack_overflow, beside(WrongBeside::recursion)}},
                         [] { CHECK(chain(true, 4, 1024) == counted(true, 4)); });
#endif
}
