#include "tests/process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "tests/catch.hpp"

namespace test {

std::string contents(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Folder::Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "gemm-test-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path = pattern;
}

Folder::~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

Result run_program(const std::string& command) {
    const Folder folder;
    const std::filesystem::path out = folder.path / "out", err = folder.path / "err";
    const std::string line = std::string("'" GEMM_BIN_DIR "'/") + command + " >'" + out.string() + "' 2>'" +
                             err.string() + "' </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out), contents(err)};
}

}  // namespace test
