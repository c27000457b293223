#include "common/cpu/trace/words.hpp"

#include <string_view>
#include <utility>

#include "common/text.hpp"

namespace cpu_device::trace {
namespace {

using gemm::FindingId;

/// In a cluster with the number of its block there.
std::string who(const Finding::Side& side) {
    const auto& t = side.thread.value();
    return "thread (" + std::to_string(t[0]) + "," + std::to_string(t[1]) + "," + std::to_string(t[2]) + ")" +
           (side.rank ? " of block " + std::to_string(*side.rank) : "");
}

/// Whose array it is, where that is not the accessing thread's block.
std::string of_block(const Finding& f) {
    if (!f.array_rank || f.array_rank == f.access.rank) return {};
    return " of block " + std::to_string(*f.array_rank);
}

std::string place(const Finding::Side& side) {
    return side.file + ":" + std::to_string(side.line);
}

/// "thread (3,1,0) writes ".
std::string who_does(const Finding::Side& side) {
    return who(side) + (side.write ? " writes " : " reads ");
}

/// "A[3][17]", "As + 68 bytes": what lies there.
std::string element(const Finding& f) {
    if (f.array.empty()) return "memory";
    if (!f.row) return f.array + " + " + std::to_string(f.offset) + " bytes" + of_block(f);
    return f.array + "[" + std::to_string(*f.row) + "][" + std::to_string(*f.column) + "]" +
           (f.problem ? " of problem " + std::to_string(*f.problem) : "");
}

/// "full[1]": the mbarrier that lies there.
std::string mbarrier(const Finding& f) {
    if (f.bytes % 8 != 0 || f.bytes > 512 || f.offset % 8 != 0) return element(f);
    return (f.bytes == 8 ? f.array : f.array + "[" + std::to_string(f.offset / 8) + "]") + of_block(f);
}

/// "5 bytes past the end of As".
std::string missed(const Finding& f) {
    if (f.array.empty()) return "shared memory that the kernel does not have";
    const bool before = f.offset < 0;
    // One that begins in the array reaches past its end.
    if (!before && f.offset < f.bytes) return "past the end of " + f.array + of_block(f);
    const std::int64_t distance = before ? -f.offset : f.offset - f.bytes + 1;
    return std::to_string(distance) + (distance == 1 ? " byte " : " bytes ") +
           (before ? "before the start of " : "past the end of ") + f.array + of_block(f);
}

std::string outside(const Finding& f) {
    if (!f.row) return missed(f);
    return element(f) + ", outside " + f.array + " of " + std::to_string(f.rows) + "×" +
           std::to_string(f.columns);
}

/// " that thread (0,0,0) started at kernel.cu:7".
std::string started(const Finding& f) {
    return " that " + who(f.other.value()) + " started at " + place(*f.other);
}

/// What is said of each; what stands in braces is put in by field_text().
struct FindingText {
    FindingId id;
    const char* text;
};
constexpr FindingText kFindings[] = {
    {FindingId::misaligned_access,
     "{access}{width} bytes of {element}{at}, an address that is not a multiple of {width}"},
    {FindingId::host_pointer, "{access}through a host pointer{at}, which a GPU cannot follow"},
    {FindingId::shared_out_of_bounds, "{access}{missed}{at}{asked}"},
    {FindingId::no_dynamic_shared_memory,
     "{access}dynamic shared memory{at}: the kernel uses it, but launch() requests 0 bytes"},
    {FindingId::copy_in_flight,
     "the copy to {element} that started at {there} may still be under way when {access}it{at}: no thread "
     "has waited for it"},
    {FindingId::race, "{by} {did} {element} at {there} and {access}it{at}, with no barrier in between"},
    {FindingId::load_in_flight,
     "the load to {element}{started} may still be under way when {access}it{at}: it has not waited for the "
     "mbarrier's phase"},
    {FindingId::load_overwrites,
     "{by} {did} {element} at {there} and the load that {who} starts{at} overwrites it, with nothing in "
     "between that orders the two"},
    {FindingId::loads_overlap,
     "the load to {element}{started} may still be under way when {who} starts another one to the same "
     "place{at}"},
    {FindingId::store_in_flight,
     "the store from {element}{started} may still be reading it when {access}it{at}: no thread has waited "
     "for it (cp.async.bulk.wait_group.read)"},
    {FindingId::no_proxy_fence,
     "{by} wrote {element} at {there} and the {copy} that {who} starts{at} {touches} it, with no "
     "fence.proxy.async in between: the copy engine may not see what was written"},
    {FindingId::mbarrier_not_begun,
     "{who} uses the mbarrier {mbarrier}{at}, which {by} initialises at {there}, with no barrier in between: "
     "it may be used first"},
    {FindingId::mbarrier_unfenced,
     "{by} initialised the mbarrier {mbarrier} at {there} and the load that {who} starts{at} signals it, "
     "with no "
     "fence.mbarrier_init in between: the copy engine may not see that it has been initialised"},
    {FindingId::wgmma_in_flight,
     "the wgmma that reads {element} and{started} may still be reading it when {access}it{at}: it has not "
     "waited for it (wgmma.wait_group)"},
    {FindingId::wgmma_unfenced,
     "{by} wrote {element} at {there} and the wgmma that {who} starts{at} reads it, with no "
     "fence.proxy.async in between: the tensor cores may not see what was written"},
    {FindingId::block_left,
     "{who} reaches into block {rank} of its cluster at {here}, for {array}, and that block may have "
     "returned by then: nothing makes it wait (a cluster_sync() at the end of the kernel does)"},
    {FindingId::block_race,
     "{access}{element}{at}, and block {block} of the same launch writes something else there: blocks run "
     "in any order, so one of the two values is lost"},
    {FindingId::unordered_blocks,
     "{by} of block {block} {did} {element} at {there} and {access}it{at}, with no release and acquire in "
     "between that orders the two"},
    {FindingId::store_past_row,
     "the store that {who} starts{at} writes {bytes} past {end} a row of its tensor: the copy engine "
     "writes 16 bytes at a time, so the bytes of a row must be a multiple of 16"},
    {FindingId::out_of_bounds, "{access}{outside},{at}"},
    {FindingId::write_to_padding, "{access}{element}, padding between the rows of {array},{at}"},
    {FindingId::write_to_input, "{access}{element}{at}, and {array} is an input"},
    {FindingId::uninitialised_read, "{access}{element}{at}, which nothing in the block has written"},
    {FindingId::forbidden_read, "{access}{element}{at}, which {rule} forbids"},
    {FindingId::no_kernel, ""},  // of a whole launch: no access's, and not the tracer's
};
static_assert([] {
    std::size_t next = 0;
    for (const FindingText& finding : kFindings) {
        if (static_cast<std::size_t>(finding.id) != next++) return false;
    }
    return kFindings[next - 1].id == FindingId::no_kernel;
}());

/// What stands for a field of a sentence.
std::string field_text(const Finding& f, std::string_view field) {
    using Text = std::string (*)(const Finding&);
    static constexpr std::pair<std::string_view, Text> kFields[] = {
        // who accesses, and where
        {"who", [](const Finding& x) { return who(x.access); }},
        {"access", [](const Finding& x) { return who_does(x.access); }},
        {"here", [](const Finding& x) { return place(x.access); }},
        {"at", [](const Finding& x) { return " at " + place(x.access); }},
        {"copy", [](const Finding& x) { return std::string(x.access.write ? "load" : "store"); }},
        {"touches", [](const Finding& x) { return std::string(x.access.write ? "overwrites" : "reads"); }},
        {"width", [](const Finding& x) { return std::to_string(x.width); }},
        {"bytes",
         [](const Finding& x) { return std::to_string(x.width) + (x.width == 1 ? " byte" : " bytes"); }},
        // what
        {"element", element},
        {"mbarrier", mbarrier},
        {"missed", missed},
        {"outside", outside},
        {"array", [](const Finding& x) { return x.array; }},
        {"rank", [](const Finding& x) { return std::to_string(x.array_rank.value()); }},
        {"end",
         [](const Finding& x) { return x.array.empty() ? "the end of" : element(x) + ", the end of"; }},
        {"rule", [](const Finding& x) { return std::string(x.rule); }},
        {"asked",
         [](const Finding& x) {
             return x.asked ? ": launch() requests " + std::to_string(*x.asked) + " bytes" : std::string();
         }},
        // who else
        {"by", [](const Finding& x) { return who(x.other.value()); }},
        {"did", [](const Finding& x) { return std::string(x.other.value().write ? "wrote" : "read"); }},
        {"there", [](const Finding& x) { return place(x.other.value()); }},
        {"started", started},
        {"block", [](const Finding& x) { return std::to_string(x.other_block.value()); }},
    };
    for (const auto& [name, text] : kFields) {
        if (name == field) return text(f);
    }
    return {};
}

}  // namespace

std::string text_of(const Finding& finding) {
    const char* const sentence = kFindings[static_cast<std::size_t>(finding.id)].text;
    return gemm::filled(sentence, [&](std::string_view field) { return field_text(finding, field); }) +
           " (block " + std::to_string(finding.block) + ")";
}

}  // namespace cpu_device::trace
