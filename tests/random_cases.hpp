// Random cases for a unit of the GPU, and what must come of them: a test runs a few, and a program runs them
// all and prints what it saw, on a GPU and on the CPU device alike.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace test {

using Bytes = std::vector<std::uint8_t>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

struct RandomCase {
    std::string text;
    std::function<Bytes()> on_device, by_definition;
    Bytes before = {};  // of memory that the case stores to
};

struct RandomMode {
    std::string name;
    std::function<RandomCase(std::uint64_t seed, std::uint64_t index)> draw;
    std::size_t size = 1;  // bytes of what is counted
};

/// Requires that so many cases of a mode, from the first on, are what they must be.
void require_right(const RandomMode& mode, std::uint64_t first, std::uint64_t cases);

struct RandomProgram {
    const char* counted;  // what modes count: "bytes"
    const char* needs;    // what it says on a GPU of less than compute capability 9.0, or of `end` and higher
    int end;
    std::vector<RandomMode> modes;
    /// Prints a line for each thing that is refused, and returns how many were wrong.
    std::function<int()> refusals = [] { return 0; };
    bool with_each_mode = false;  // else where no mode was named, or the one behind the last
};

/// main() of such a program. It prints a line for each mode: how many cases, how much they showed, its hash,
/// and how many cases differ from what must come of them. A GPU and the CPU device print the same.
///     PROGRAM [cases a mode, 100 unless told] [seed, 1 unless told] [a mode's number from 0, all unless
///     told] [--dump CASE]
/// Of the first cases that differ in a mode it shows the first bytes that do; with --dump all of one case.
int run_random_cases(int argc, char** argv, const RandomProgram& program);

}  // namespace test
