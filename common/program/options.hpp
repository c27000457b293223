// What the command-line programs share: strict options, and one sentence on stderr for whatever goes wrong.
// CLI11 itself is included by options.cpp alone: it takes seconds to compile, and nvcc, which reads this file
// too, rejects its headers where they are no system's (error 2361-D, narrowing).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/facts.hpp"

namespace gemm {

/// The largest number that an option takes (ranges.inc).
std::uint64_t largest(std::string_view option);

/// The value of an option. `name` ("--m") is for the message. Throws Error unless the whole text is a decimal
/// integer in [least, most]; most is the option's largest() where it is not given.
std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t least,
                          std::int64_t most);
std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t least = 0);
/// Of an option whose numbers all fit.
inline int small_number(const std::string& name, const std::string& text, int least = 0) {
    return static_cast<int>(whole_number(name, text, least));
}

/// Throws Error unless the whole text is a decimal integer of 64 bits without sign.
std::uint64_t seed_number(const std::string& name, const std::string& text);

/// Throws Error unless the whole text is a number that a float holds, neither infinite nor NaN.
float finite_number(const std::string& name, const std::string& text);

/// "a,b,c" → its parts. Throws Error when one is empty.
std::vector<std::string> comma_separated(const std::string& name, const std::string& text);

/// "64x32" → 64, 32. Throws Error unless each is a whole_number().
std::vector<std::int64_t> sizes(const std::string& name, const std::string& text, std::int64_t least = 0,
                                std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// An option that takes a value, or a flag. What is not given leaves the value as it is. A number is a
/// whole_number(), of 64 bits without sign a seed_number(), a float a finite_number().
struct Option {
    std::string name;  // "--m"
    std::variant<std::string*, bool*, int*, std::optional<int>*, std::int64_t*, std::uint64_t*, float*> value;
    std::string what, type = "INT";  // for --help; a flag has no type
    bool required = false;
    int least = 0;  // of a whole number
};

/// `--schedule`, of programs that run kernels on the CPU device.
Option schedule_option(std::uint64_t& seed);

/// Parses; --help prints the help and ends the run_program() around it with status 0. `about`: for --help.
/// Throws Error for options that are wrong.
void parse_options(const std::string& program, const std::string& about, const std::vector<Option>& options,
                   int argc, char** argv);

/// Runs body and returns what it returns. Any exception becomes "<program>: <one sentence>" on stderr (lines,
/// where it tells who waits for whom) and status 2.
int run_program(const std::string& program, const std::function<int()>& body);

/// Throws Error, which names the option, unless a file can be written there (empty: none): better now than
/// after the measurement.
void check_writable(const std::string& file, std::string_view option = "--output");

/// All of the text or nothing of it: whoever reads the file never sees half of it. Throws Error.
void write_file(const std::string& file, const std::string& text);

/// Writes to stdout. Throws Error when that fails (a full disk, a closed pipe).
void print(const std::string& text);

/// Writes the file, or to stdout where `file` is empty. Throws Error.
void deliver(const std::string& file, const std::string& text);

}  // namespace gemm
