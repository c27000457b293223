// Runs programs of this build as a user runs them.
#pragma once

#include <filesystem>
#include <string>

namespace test {

/// The bytes of a file; none where there is no such file.
std::string contents(const std::filesystem::path& file);

/// A folder of the test case's own, removed with it.
struct Folder {
    Folder();
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
};

struct Result {
    int status = -1;  // exit status; -1 when a signal ended the program
    std::string out, err;
};

/// `command`: a program of this build and its options, as a shell reads them.
Result run_program(const std::string& command);

}  // namespace test
