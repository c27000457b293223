#include "common/program/options.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <new>
#include <system_error>
#include <type_traits>
#include <utility>

#include "common/error.hpp"

namespace gemm {
namespace {

/// True when the whole text is one number of this type and in its range.
template <typename Number>
bool parse(const std::string& text, Number& value) {
    const char* const end = text.data() + text.size();
    const auto [stopped_at, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stopped_at == end;
}

/// Library messages may span lines and end in a full stop or not; ours are one line that ends in one.
std::string one_sentence(std::string text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    for (std::size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, " ");
    if (!text.empty() && text.back() != '.' && text.back() != '!' && text.back() != '?') text += '.';
    return text;
}

int complain(const std::string& program, const std::string& what) {
    std::cout.flush();
    // Some sentences begin with the lesson's name already.
    const bool named = what.rfind(program, 0) == 0;
    std::cerr << (named ? "" : program + ": ") << what << std::endl;
    return kCouldNotRun;
}

/// Ends a program that has shown its options.
struct HelpShown {};

/// What was given for an option, into its value.
template <typename Value>
void take(const Option& option, const std::string& text, Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        value = text;
    } else if constexpr (std::is_same_v<Value, float>) {
        value = finite_number(option.name, text);
    } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
        value = seed_number(option.name, text);
    } else if constexpr (std::is_same_v<Value, std::int64_t>) {
        value = whole_number(option.name, text, option.least);
    } else if constexpr (!std::is_same_v<Value, bool>) {  // CLI11 has set a flag
        value = small_number(option.name, text, option.least);
    }
}

}  // namespace

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t least,
                          std::int64_t most) {
    std::int64_t value = 0;
    if (!parse(text, value) || value < least || value > most) {
        throw Error(name + " must be a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", and is \"" + text + "\".");
    }
    return value;
}

std::uint64_t largest(std::string_view option) {
    constexpr std::pair<std::string_view, std::uint64_t> kLargest[] = {
#include "common/program/ranges.inc"
    };
    for (const auto& [name, most] : kLargest) {
        if (name == option) return most;
    }
    return std::numeric_limits<std::int64_t>::max();
}

std::int64_t whole_number(const std::string& name, const std::string& text, std::int64_t least) {
    return whole_number(name, text, least, static_cast<std::int64_t>(largest(name)));
}

std::uint64_t seed_number(const std::string& name, const std::string& text) {
    std::uint64_t value = 0;
    if (!parse(text, value)) {
        throw Error(name + " must be a whole number from 0 to " + std::to_string(largest("--seed")) +
                    ", and is \"" + text + "\".");
    }
    return value;
}

float finite_number(const std::string& name, const std::string& text) {
    float value = 0.0f;
    if (!parse(text, value) || !std::isfinite(value)) {
        throw Error(name + " must be a finite number that a float holds, such as -0.5, and is \"" + text +
                    "\".");
    }
    return value;
}

std::vector<std::string> comma_separated(const std::string& name, const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ',') {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    for (const std::string& part : parts) {
        if (part.empty()) {
            throw Error(name + " must be a list separated by commas with nothing left out, and is \"" + text +
                        "\".");
        }
    }
    return parts;
}

std::vector<std::int64_t> sizes(const std::string& name, const std::string& text, std::int64_t least,
                                std::int64_t most) {
    std::vector<std::int64_t> numbers;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find('x', at), text.size());
        numbers.push_back(whole_number(name, text.substr(at, end - at), least, most));
        at = end + 1;
    }
    return numbers;
}

Option schedule_option(std::uint64_t& seed) {
    return {"--schedule", &seed, "seed of what a GPU leaves open: who goes on first, when bytes come [0]"};
}

void parse_options(const std::string& program, const std::string& about, const std::vector<Option>& options,
                   int argc, char** argv) {
    CLI::App app(about, program);
    std::vector<std::string> texts(options.size());
    for (std::size_t i = 0; i < options.size(); ++i) {
        const Option& option = options[i];
        if (bool* const* flag = std::get_if<bool*>(&option.value)) {
            app.add_flag(option.name, **flag, option.what);
        } else {
            app.add_option(option.name, texts[i], option.what)
                ->type_name(option.type)
                ->required(option.required);
        }
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        print(app.help());
        throw HelpShown();
    } catch (const CLI::ParseError& error) {
        throw Error(one_sentence(error.what()) + " See --help.");
    }
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (app.count(options[i].name) == 0) continue;
        std::visit([&](auto* value) { take(options[i], texts[i], *value); }, options[i].value);
    }
}

int run_program(const std::string& program, const std::function<int()>& body) {
    try {
        return body();
    } catch (const HelpShown&) {
        return kRight;
    } catch (const std::bad_alloc&) {
        return complain(program, "The machine's memory is not enough for this size.");
    } catch (const Fault& fault) {
        // Who waits for whom takes several lines.
        const bool lines = fault.id == FaultId::mbarrier_hang || fault.id == FaultId::flag_hang;
        return complain(program, lines ? fault.what() : one_sentence(fault.what()));
    } catch (const std::exception& error) {
        return complain(program, one_sentence(error.what()));
    }
}

void print(const std::string& text) {
    std::cout << text << std::flush;
    if (!std::cout) throw Error("Standard output cannot be written.");
}

void deliver(const std::string& file, const std::string& text) {
    file.empty() ? print(text) : write_file(file, text);
}

void check_writable(const std::string& file, std::string_view option) {
    if (file.empty()) return;
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(file, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
        throw Error(std::string(option) + " must name a file, and " + file + " is something else.");
    }
    const std::string temporary = file + ".tmp";
    if (!std::ofstream(temporary))
        throw Error(std::string(option) + " cannot be written: " + temporary + " cannot be created.");
    std::filesystem::remove(temporary, error);
}

void write_file(const std::string& file, const std::string& text) {
    const std::string temporary = file + ".tmp";
    std::error_code error;
    errno = 0;
    std::ofstream out(temporary, std::ios::binary);
    out << text;
    out.close();
    if (!out) {
        const std::string why =
            errno != 0 ? std::generic_category().message(errno) : "not all of it was taken";
        std::filesystem::remove(temporary, error);
        throw Error(temporary + " cannot be written: " + why + ".");
    }
    std::filesystem::rename(temporary, file, error);
    if (error) {
        const std::string why = error.message();
        std::filesystem::remove(temporary, error);
        throw Error(file + " cannot be replaced: " + why + ".");
    }
}

}  // namespace gemm
