// Finds the __shared__ arrays of a kernel and the variables of the device. On the CPU device the arrays are
// thread-local variables of a function, which the Itanium C++ ABI names _ZZ<function>E<variable>; the ELF
// symbol table of the program gives each its offset in the thread-local block and its size (System V ABI,
// "Symbol Table"; Drepper, "ELF Handling for Thread-Local Storage"). So it does for other variables.
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "common/cpu/execution/device.hpp"
#include "common/error.hpp"

namespace cpu_device {
namespace {

struct Symbol {
    std::string_view name;  // a zero stands behind it
    std::size_t value, size;
};

struct SymbolTable {
    std::vector<Symbol> functions, thread_locals, variables;  // variables: that can be written
};

// Initialised thread-local variables lie in front of all others: a kernel that writes below its first shared
// array must not reach the thread-local memory of the C library, which may end there.
[[gnu::used]] thread_local std::array<char, 65536> below{1};
thread_local char anchor;  // its address and its offset give the start of the calling thread's block
constexpr std::string_view kAnchorName = "6anchorE";
bool helpers_share = false;

/// The file of this program, which stays in memory: of the many that start, each reads what it needs of it.
/// Empty where it cannot be read.
std::string_view program() {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about {};
    const auto bytes = fstat(file, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
    void* const start = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (file >= 0) close(file);
    return start == MAP_FAILED ? std::string_view()
                               : std::string_view(static_cast<const char*>(start), bytes);
}

SymbolTable read_symbols() {
    const std::string_view image = program();
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
            const int section = symbols[i].st_shndx;
            if (section == SHN_UNDEF || (type != STT_FUNC && type != STT_TLS && type != STT_OBJECT)) continue;
            if (type == STT_OBJECT &&
                (section >= header->e_shnum || (sections[section].sh_flags & SHF_WRITE) == 0))
                continue;
            (type == STT_FUNC  ? table.functions
             : type == STT_TLS ? table.thread_locals
                               : table.variables)
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

/// What the names of the variables begin with that are declared in the kernel. Its address may have several
/// names.
std::vector<std::string> prefixes(const void* kernel) {
    const std::size_t address = reinterpret_cast<std::size_t>(kernel) - load_bias();
    std::vector<std::string> all;
    for (const Symbol& f : symbols().functions) {
        if (f.value != address) continue;
        const std::string name(f.name);  // as it is, where the kernel is extern "C"
        const bool mangled = f.name.starts_with("_Z");
        all.push_back("_ZZ" + (mangled ? name.substr(2) : std::to_string(name.size()) + name) + "E");
    }
    return all;
}

/// Of a variable that is declared in a function: behind the prefix stand its length, the name, and _<n> where
/// two scopes use the name.
std::string local_name(std::string_view symbol, std::string_view prefix) {
    std::string_view rest = symbol.substr(prefix.size());
    const std::size_t length = std::strtoul(rest.data(), nullptr, 10);
    rest.remove_prefix(std::min(rest.find_first_not_of("0123456789"), rest.size()));
    return std::string(rest.substr(0, length));
}

std::string demangled(std::string_view symbol) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(symbol.data(), nullptr, nullptr, &status), std::free);
    return status == 0 ? std::string(text.get()) : std::string(symbol);
}

/// "partial" for _ZN12_GLOBAL__N_17partialE.
std::string last_name(std::string_view symbol) {
    const std::string full = demangled(symbol);
    const std::size_t colons = full.rfind("::");
    return colons == full.npos ? full : full.substr(colons + 2);
}

/// Whether the symbol is a static variable of a function of the kernels', which a kernel may call: not one of
/// this program's own functions or the standard library's. (Which functions are __device__ no symbol says.)
bool is_static_of_helper(std::string_view name) {
    constexpr std::string_view kOthers[] = {"N4gemm", "N10cpu_device", "NSt", "NKSt", "St", "N9__gnu_cxx"};
    if (!name.starts_with("_ZZ")) return false;
    return std::none_of(std::begin(kOthers), std::end(kOthers),
                        [&](std::string_view other) { return name.substr(3).starts_with(other); });
}

/// Whether the thread-local variable is a shared array of a function of the kernels', in a program that has
/// such functions: not a variable of this program's own functions or the standard library's.
bool is_shared_of_helper(std::string_view name) {
    constexpr std::string_view kOthers[] = {"N10cpu_device", "NSt", "NKSt", "St", "N9__gnu_cxx"};
    if (!helpers_share || !name.starts_with("_ZZ")) return false;
    return std::none_of(std::begin(kOthers), std::end(kOthers),
                        [&](std::string_view other) { return name.substr(3).starts_with(other); });
}

std::vector<SharedArray> find_arrays(const void* kernel) {
    std::vector<SharedArray> found;
    for (const std::string& prefix : prefixes(kernel)) {
        for (const Symbol& v : symbols().thread_locals) {
            if (v.name.starts_with(prefix)) found.push_back({local_name(v.name, prefix), v.value, v.size});
        }
        if (!found.empty()) break;
    }
    // Which functions it calls no symbol says: what none of them touches is only filled before each block.
    const auto own = static_cast<std::ptrdiff_t>(found.size());
    for (const Symbol& v : symbols().thread_locals) {
        const bool known = std::any_of(found.begin(), found.begin() + own,
                                       [&](const SharedArray& a) { return a.tls_offset == v.value; });
        if (!known && v.size > 0 && is_shared_of_helper(v.name))
            found.push_back({last_name(v.name), v.value, v.size, false});
    }
    std::sort(found.begin(), found.end(),
              [](const SharedArray& a, const SharedArray& b) { return a.tls_offset < b.tls_offset; });
    return found;
}

std::vector<Variable> find_variables(const void* kernel) {
    const std::vector<std::string> own = prefixes(kernel);
    const std::size_t bias = load_bias();
    std::vector<Variable> found;
    for (const Symbol& v : symbols().variables) {
        const auto* const start = reinterpret_cast<const std::byte*>(v.value + bias);
        const auto prefix =
            std::find_if(own.begin(), own.end(), [&](const std::string& p) { return v.name.starts_with(p); });
        if (v.size == 0) continue;
        if (prefix == own.end() && !is_device_memory(start) && !is_static_of_helper(v.name)) continue;
        found.push_back(
            {prefix == own.end() ? last_name(v.name) : local_name(v.name, *prefix), start, v.size});
    }
    return found;
}

/// What the kernel is called, without its parameters and those of unnamed namespaces around it.
std::vector<std::string> find_name(const void* kernel) {
    for (const Symbol& f : symbols().functions) {
        if (f.value != reinterpret_cast<std::size_t>(kernel) - load_bias()) continue;
        std::string full = demangled(f.name);
        for (const std::string_view gone : {"(anonymous namespace)::", "void "}) {
            if (const std::size_t at = full.find(gone); at != full.npos) full.erase(at, gone.size());
        }
        return {full.substr(0, full.find('('))};
    }
    return {"unknown"};
}

/// find(kernel), looked up once for each kernel. The reference stays.
template <class T>
const std::vector<T>& remembered(const void* kernel, std::vector<T> (*find)(const void*)) {
    static std::mutex mutex;
    static std::map<const void*, std::vector<T>> known;
    const std::scoped_lock lock(mutex);
    const auto entry = known.find(kernel);
    return entry != known.end() ? entry->second : known.emplace(kernel, find(kernel)).first->second;
}

}  // namespace

bool helpers_may_share() {
    return helpers_share = true;
}

const std::vector<SharedArray>& shared_arrays(const void* kernel) {
    return remembered(kernel, find_arrays);
}

const char* kernel_name(const void* function) {
    return remembered(function, find_name).front().c_str();
}

const std::vector<Variable>& device_variables(const void* kernel) {
    return remembered(kernel, find_variables);
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
