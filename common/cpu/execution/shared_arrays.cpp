// Finds the __shared__ arrays of a kernel. On the CPU device they are thread-local variables of a function,
// which the Itanium C++ ABI names _ZZ<function>E<variable>; the ELF symbol table of the program gives each
// its offset in the thread-local block and its size (System V ABI, "Symbol Table"; Drepper, "ELF Handling for
// Thread-Local Storage").
#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <string_view>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

struct Symbol {
    std::string name;
    std::size_t value, size;
};

struct SymbolTable {
    std::vector<Symbol> functions, thread_locals;
};

// Initialised thread-local variables lie in front of all others: a kernel that writes below its first shared
// array must not reach the thread-local memory of the C library, which may end there.
[[gnu::used]] thread_local std::array<char, 65536> below{1};
thread_local char anchor;  // its address and its offset give the start of the calling thread's block
constexpr std::string_view kAnchorName = "6anchorE";

SymbolTable read_symbols() {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    const std::string image((std::istreambuf_iterator<char>(file)), {});
    const auto at = [&](std::size_t offset, std::size_t bytes) {
        if (offset > image.size() || bytes > image.size() - offset) {
            throw gemm::Error(
                "The symbol table of this program cannot be read; build it again without stripping it.");
        }
        return image.data() + offset;
    };
    const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(at(0, sizeof(ElfW(Ehdr))));
    const auto* sections =
        reinterpret_cast<const ElfW(Shdr)*>(at(header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr))));
    SymbolTable table;
    for (int s = 0; s < header->e_shnum; ++s) {
        if (sections[s].sh_type != SHT_SYMTAB) continue;
        const auto* symbols =
            reinterpret_cast<const ElfW(Sym)*>(at(sections[s].sh_offset, sections[s].sh_size));
        const auto& names = sections[sections[s].sh_link];
        const char* strings = at(names.sh_offset, names.sh_size);
        for (std::size_t i = 0; i < sections[s].sh_size / sizeof(ElfW(Sym)); ++i) {
            const int type = symbols[i].st_info & 0xf;
            if (symbols[i].st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_TLS)) continue;
            (type == STT_FUNC ? table.functions : table.thread_locals)
                .push_back({strings + symbols[i].st_name, symbols[i].st_value, symbols[i].st_size});
        }
    }
    if (table.functions.empty()) {
        throw gemm::Error(
            "This program was stripped of its symbols, which the CPU device needs; build it again.");
    }
    std::sort(table.thread_locals.begin(), table.thread_locals.end(),
              [](const Symbol& a, const Symbol& b) { return a.value < b.value; });
    return table;
}

const SymbolTable& symbols() {
    static const SymbolTable table = read_symbols();
    return table;
}

/// Distance between the addresses in the file and those in memory (position-independent executables).
std::size_t load_bias() {
    std::size_t bias = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            *static_cast<std::size_t*>(result) = info->dlpi_addr;
            return 1;  // the first entry is the program itself
        },
        &bias);
    return bias;
}

std::size_t anchor_offset() {
    for (const Symbol& s : symbols().thread_locals) {
        if (s.name.find("cpu_device") != std::string::npos && s.name.ends_with(kAnchorName)) return s.value;
    }
    throw gemm::Error(
        "This program was stripped of its symbols, which the CPU device needs; build it again.");
}

std::vector<SharedArray> find_arrays(const void* kernel) {
    const std::size_t address = reinterpret_cast<std::size_t>(kernel) - load_bias();
    std::vector<SharedArray> found;
    for (const Symbol& f : symbols().functions) {
        if (f.value != address || !f.name.starts_with("_Z")) continue;
        const std::string prefix = "_ZZ" + f.name.substr(2) + "E";
        for (const Symbol& v : symbols().thread_locals) {
            if (!v.name.starts_with(prefix)) continue;
            // <length><name>, perhaps _<n> behind it where two scopes use the name twice
            std::string_view rest = std::string_view(v.name).substr(prefix.size());
            const std::size_t length = std::strtoul(rest.data(), nullptr, 10);
            rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
            found.push_back({std::string(rest.substr(0, length)), v.value, v.size});
        }
        if (!found.empty()) break;  // aliases of one address name the same arrays
    }
    return found;
}

}  // namespace

const std::vector<SharedArray>& shared_arrays(const void* kernel) {
    static std::mutex mutex;
    static std::map<const void*, std::vector<SharedArray>> cache;
    const std::scoped_lock lock(mutex);
    const auto known = cache.find(kernel);
    return known != cache.end() ? known->second : cache.emplace(kernel, find_arrays(kernel)).first->second;
}

std::byte* thread_local_start() {
    static const std::size_t offset = anchor_offset();
    return reinterpret_cast<std::byte*>(&anchor) - offset;
}

std::size_t thread_local_bytes() {
    std::size_t bytes = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* result) {
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                if (info->dlpi_phdr[i].p_type == PT_TLS) {
                    *static_cast<std::size_t*>(result) = info->dlpi_phdr[i].p_memsz;
                }
            }
            return 1;  // the first entry is the program itself
        },
        &bytes);
    return bytes;
}

std::byte* shared_array_address(const SharedArray& array) {
    return thread_local_start() + array.tls_offset;
}

}  // namespace cpu_device
