// SPDX-License-Identifier: MIT
// Allocation sites: what the preloaded library records of a program, and how hmmctl attributes
// faults to the code that allocated the memory.
#include "hmmctl_report.hpp"

#include "address_map.hpp"
#include "allocation_file.hpp"
#include "allocation_sites.hpp"
#include "allocations.hpp"
#include "child.hpp"
#include "helpers.hpp"
#include "trace_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/mman.h>
#include <unistd.h>

using namespace hmmctl;

namespace {

constexpr std::uint64_t least = 128 << 10; // libstdc++ allocates less by itself

// --- the preloaded library

/// A line of the program.
struct step {
    std::string kind;
    std::uint64_t addr = 0, bytes = 0;
    bool operator==(const step&) const = default;
};

std::ostream& operator<<(std::ostream& to, const step& one) {
    return to << one.kind << ' ' << std::hex << one.addr << ' ' << one.bytes << std::dec;
}

std::string kind_of(const allocation_record& record) {
    constexpr const char* names[] = {"none",  "program", "fork",    "allocated",
                                     "freed", "mapped",  "unmapped"};
    return names[static_cast<std::size_t>(record.kind)];
}

/// What a program did, according to its own output and to the recording.
struct watched {
    std::vector<step> said;
    std::vector<allocation_record> records;
    std::uint64_t dropped = 0;

    std::vector<step> recorded() const {
        std::vector<step> steps;
        for (const allocation_record& one : records)
            steps.push_back({kind_of(one), one.addr, one.bytes});
        return steps;
    }
};

std::vector<std::string> preloading(const std::string& variable) {
    return {"env", std::string("LD_PRELOAD=") + HMMRT_ALLOCATIONS_LIBRARY,
            std::string(allocations_variable) + "=" + variable, HMMRT_ALLOCATING_PROGRAM};
}

watched watch(const std::string& what, std::uint64_t slots = 4096) {
    allocation_file file(least, slots);
    std::vector<std::string> command = preloading(file.path());
    command.push_back(what);
    watched found;
    std::istringstream lines(output_of(command, "", "it failed", "it is missing"));
    step one;
    while (lines >> one.kind >> std::hex >> one.addr >> one.bytes)
        found.said.push_back(one);
    file.read(found.records);
    found.dropped = file.dropped();
    return found;
}

/// Checks and removes the record of the program's start.
void take_begin(watched& of) {
    ASSERT_FALSE(of.records.empty()) << "the library has not begun";
    EXPECT_EQ(of.records.front().kind, allocation_kind::program);
    of.records.erase(of.records.begin());
}

class HmmctlPreloaded : public testing::TestWithParam<const char*> {};

/// The program's first step may be the location of the code that allocates.
TEST_P(HmmctlPreloaded, RecordsWhatTheProgramDoes) {
    watched found = watch(GetParam());
    take_begin(found);
    step code;
    if (!found.said.empty() && found.said.front().kind == "code") {
        code = found.said.front();
        found.said.erase(found.said.begin());
    }
    EXPECT_FALSE(found.said.empty());
    EXPECT_EQ(found.recorded(), found.said);
    EXPECT_EQ(found.dropped, 0u);
    ASSERT_FALSE(found.records.empty());
    for (std::size_t i = 0; i < found.records.size(); i++) {
        const allocation_record& one = found.records[i];
        const bool begins =
            one.kind == allocation_kind::allocated || one.kind == allocation_kind::mapped;
        EXPECT_EQ(one.frames[0] != 0, begins) << found.said[i];
        EXPECT_GE(one.time, found.records[i == 0 ? 0 : i - 1].time);
    }
    if (code.addr == 0) return;
    EXPECT_GT(found.records[0].frames[0], code.addr);
    EXPECT_LT(found.records[0].frames[0], code.addr + code.bytes) << "the innermost call";
}

INSTANTIATE_TEST_SUITE_P(, HmmctlPreloaded,
                         testing::Values("heap", "failure", "mappings", "runtime"),
                         [](const auto& of) { return std::string(of.param); });

TEST(HmmctlPreload, LeavesOutWhatIsSmall) {
    watched found = watch("small");
    take_begin(found);
    EXPECT_EQ(found.recorded(), std::vector<step>());
}

TEST(HmmctlPreload, RecordsAllThreadsInTheRightOrder) {
    watched found = watch("threads");
    take_begin(found);
    std::map<std::uint64_t, std::size_t> live;
    std::size_t begun = 0;
    for (const allocation_record& one : found.records) {
        const bool begins = one.kind == allocation_kind::allocated;
        EXPECT_EQ(live[one.addr], begins ? 0u : 1u) << "two blocks at one address";
        live[one.addr] = begins;
        begun += begins;
    }
    EXPECT_EQ(begun, 800u);
    EXPECT_EQ(found.records.size(), 1600u);
    EXPECT_EQ(found.dropped, 0u);
}

TEST(HmmctlPreload, FollowsAFork) {
    watched found = watch("fork");
    take_begin(found);
    ASSERT_EQ(found.recorded(), found.said);
    ASSERT_EQ(found.records.size(), 4u) << "allocated, fork, freed, freed";
    const pid_t parent = found.records[0].pid, child = found.records[1].pid;
    EXPECT_EQ(found.records[1].addr, static_cast<std::uint64_t>(parent));
    EXPECT_NE(parent, child);
    EXPECT_EQ(found.records[2].pid, child);
    EXPECT_EQ(found.records[3].pid, parent);
}

TEST(HmmctlPreload, BeginsAgainWithExec) {
    watched found = watch("exec");
    take_begin(found);
    ASSERT_EQ(found.records.size(), 2u);
    EXPECT_EQ(found.records[0].kind, allocation_kind::allocated);
    EXPECT_EQ(found.records[1].kind, allocation_kind::program);
    EXPECT_EQ(found.records[1].pid, found.records[0].pid);
}

TEST(HmmctlPreload, IsInProgramsThatAProgramStarts) {
    watched found = watch("shell");
    take_begin(found);
    const auto programs =
        std::count_if(found.records.begin(), found.records.end(), [](const allocation_record& one) {
            return one.kind == allocation_kind::program;
        });
    EXPECT_EQ(programs, 2) << "the shell, and what it becomes";
}

TEST(HmmctlPreload, CountsWhatFindsNoSpace) {
    const watched found = watch("threads", 16);
    EXPECT_EQ(found.records.size(), 16u);
    EXPECT_EQ(found.records.size() + found.dropped, 1601u);
}

TEST(HmmctlPreload, LeavesAProgramAloneWithoutAFileThatItCanUse) {
    const std::string expected = output_of({HMMRT_ALLOCATING_PROGRAM, "runtime"}, "", "", "");
    std::string path = std::filesystem::temp_directory_path() / "hmmctl-XXXXXX";
    const tools::descriptor file(mkstemp(path.data()));
    for (const char* contents : {"", "short", "page"}) {
        std::ofstream(path) << (contents == std::string("page") ? std::string(8192, '1')
                                                                : contents);
        std::vector<std::string> command = preloading(path);
        command.push_back("runtime");
        EXPECT_EQ(output_of(command, "", "it failed", "it is missing"), expected) << contents;
    }
    unlink(path.c_str());
    for (const char* other : {"", "/", "/no/such/file"}) {
        std::vector<std::string> command = preloading(other);
        command.push_back("runtime");
        EXPECT_EQ(output_of(command, "", "it failed", "it is missing"), expected) << other;
    }
}

// --- the file

allocation_record record_of(allocation_kind kind, std::uint64_t time, std::uint64_t addr,
                            std::uint64_t bytes, std::uint64_t frame = 0, pid_t pid = tested_pid) {
    allocation_record record;
    record.time = time;
    record.addr = addr;
    record.bytes = bytes;
    record.pid = pid;
    record.kind = kind;
    record.frames[0] = frame;
    return record;
}

/// The file, as a traced program maps it.
class written {
  public:
    explicit written(const allocation_file& file) {
        const tools::descriptor opened(open(file.path().c_str(), O_RDWR | O_CLOEXEC));
        bytes_ = std::filesystem::file_size(file.path());
        at_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, opened.get(), 0);
        EXPECT_NE(at_, MAP_FAILED);
    }
    written(const written&) = delete;
    written& operator=(const written&) = delete;
    ~written() { munmap(at_, bytes_); }

    allocation_ring& ring() const { return *static_cast<allocation_ring*>(at_); }
    void begin() const { ring().head++; }
    void write(std::uint64_t number) const {
        allocation_slot& slot = slot_of(ring(), ring().slots, number);
        slot.record = record_of(allocation_kind::freed, 0, number, 0);
        slot.written = number + 1;
    }

  private:
    std::size_t bytes_;
    void* at_;
};

TEST(HmmctlAllocationFile, WaitsForARecordThatIsBegun) {
    allocation_file file(least, 4);
    const written by(file);
    std::vector<allocation_record> found;
    by.begin();
    by.begin();
    by.write(1);
    EXPECT_EQ(file.read(found), 0u);
    by.write(0);
    EXPECT_EQ(file.read(found), 2u);
    EXPECT_EQ(found[0].addr, 0u);
    EXPECT_EQ(found[1].addr, 1u);
    EXPECT_EQ(file.dropped(), 0u);
}

TEST(HmmctlAllocationFile, GivesUpARecordOfWhatHasEnded) {
    allocation_file file(least, 4, std::chrono::seconds(0));
    const written by(file);
    std::vector<allocation_record> found;
    by.begin();
    by.begin();
    by.write(1);
    EXPECT_EQ(file.read(found), 1u);
    EXPECT_EQ(found[0].addr, 1u);
    EXPECT_EQ(file.dropped(), 1u);
    EXPECT_EQ(by.ring().tail, 2u);
}

TEST(HmmctlAllocationFile, ThatIsDamagedIsAFailure) {
    allocation_file file(least, 4);
    written(file).ring().head = 5;
    std::vector<allocation_record> found;
    EXPECT_TRUE(mentions(failure_of([&] { file.read(found); }), {"allocation file", "corrupted"}));
}

TEST(HmmctlAllocationFile, GoesAway) {
    std::string path;
    {
        const allocation_file file(least);
        path = file.path();
        EXPECT_EQ(std::filesystem::file_size(path), allocation_ring_bytes(allocation_slots));
        const auto all = std::filesystem::perms::all;
        EXPECT_EQ(std::filesystem::status(path).permissions() & all,
                  std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(HmmctlAllocationFile, NeedsTheLibraryOfHmmctl) {
    const allocation_file file(least, 4);
    const std::string why = failure_of([&] { file.environment(); });
    EXPECT_NE(why.find("libhmmrt-allocations.so"), std::string::npos) << why;
}

TEST(HmmctlChild, GetsFurtherVariables) {
    const signal_watch signals;
    EXPECT_EQ(child({"sh", "-c", "exit $STATUS"}, signals, {"STATUS=9"}).wait(), 9);
    EXPECT_EQ(std::getenv("STATUS"), nullptr);
}

// --- which calls allocated an address

/// The innermost calls that allocated pages 0 to 7, one hexadecimal digit each.
std::string letters(const allocation_history& of, pid_t pid = tested_pid) {
    std::string all;
    for (std::uint64_t i = 0; i < 8; i++) {
        const stack_id id = of.at(pid, i * page, page);
        all += id == 0 ? '-' : static_cast<char>('a' - 0xa + of.stack_of(id)[0]);
    }
    return all;
}

allocation_history after(const std::vector<allocation_record>& records, std::uint64_t time = 100) {
    allocation_history of;
    of.add(records);
    of.advance(time);
    return of;
}

constexpr auto allocated = allocation_kind::allocated, freed = allocation_kind::freed,
               mapped = allocation_kind::mapped, unmapped = allocation_kind::unmapped;

TEST(HmmctlAllocations, HaveTheInnermostCallsOfAMoment) {
    const std::vector<allocation_record> records = {
        record_of(mapped, 1, 0, 8 * page, 0xa),       record_of(allocated, 2, page, 2 * page, 0xb),
        record_of(allocated, 3, 4 * page, page, 0xc), record_of(freed, 4, page, 0),
        record_of(unmapped, 5, 2 * page, 3 * page),   record_of(mapped, 6, 3 * page, page, 0xd)};
    EXPECT_EQ(letters(after(records, 0)), "--------");
    EXPECT_EQ(letters(after(records, 1)), "aaaaaaaa");
    EXPECT_EQ(letters(after(records, 3)), "abbacaaa");
    EXPECT_EQ(letters(after(records, 4)), "aaaacaaa");
    EXPECT_EQ(letters(after(records, 5)), "aa--caaa");
    EXPECT_EQ(letters(after(records, 6)), "aa-dcaaa");
    EXPECT_EQ(letters(after(records, 6), tested_pid + 1), "--------") << "of another process";
}

TEST(HmmctlAllocations, OfAPageAreThoseThatBeginInIt) {
    const allocation_history of = after({record_of(allocated, 1, page + 16, 2 * page, 0xa)});
    EXPECT_EQ(letters(of), "-aaa----");
    EXPECT_EQ(of.at(tested_pid, page + 8, page), 0u);
    EXPECT_EQ(of.at(tested_pid, 3 * page + 16, page), 0u) << "behind its end";
}

TEST(HmmctlAllocations, AreInheritedByForkAndGoneAfterExec) {
    const pid_t child_pid = tested_pid + 1;
    const allocation_history of =
        after({record_of(mapped, 1, 0, page, 0xa), record_of(allocated, 1, 2 * page, page, 0xb),
               record_of(allocation_kind::fork, 2, tested_pid, 0, 0, child_pid),
               record_of(freed, 3, 2 * page, 0, 0, child_pid),
               record_of(mapped, 3, page, page, 0xc, child_pid),
               record_of(allocation_kind::fork, 3, 999, 0, 0, 1000),
               record_of(allocation_kind::program, 4, 0, 0)});
    EXPECT_EQ(letters(of, child_pid), "ac------");
    EXPECT_EQ(letters(of), "--------");
    EXPECT_EQ(of.sums_of(child_pid, of.at(child_pid, 0, page)), (allocation_sums{1, page}));
}

TEST(HmmctlAllocations, OfTheSameCallsAddUp) {
    const allocation_history of =
        after({record_of(allocated, 1, 0, page, 0xa), record_of(allocated, 1, page, 2 * page, 0xa),
               record_of(allocated, 1, 4 * page, page, 0xb)});
    EXPECT_EQ(of.at(tested_pid, 0, page), of.at(tested_pid, page, page));
    EXPECT_EQ(of.sums_of(tested_pid, of.at(tested_pid, 0, page)), (allocation_sums{2, 3 * page}));
}

TEST(HmmctlAllocations, OfDamagedRecordsHarmNothing) {
    const allocation_history of = after(
        {record_of(mapped, 1, 0, page, 0xa), record_of(mapped, 1, ~0ull, ~0ull, 0xb),
         record_of(unmapped, 1, page, ~0ull), record_of(unmapped, 1, page, 0),
         record_of(static_cast<allocation_kind>(99), 1, 0, page),
         record_of(allocation_kind::fork, 1, tested_pid, 0), record_of(mapped, 1, page, page)});
    EXPECT_EQ(letters(of), "a-------") << "a record without calls is of none";
}

// --- reports

/// A fault on a page.
hmmrt_event fault_at(hmmrt_event_type type, std::uint64_t number, std::uint64_t time) {
    hmmrt_event event =
        type == HMMRT_EVENT_CPU_FAULT ? event_of(type) : device_fault(0, number * page, 0x77);
    event.addr = number * page;
    event.time = time;
    event.duration = 10;
    return event;
}

struct reported : profiled {
    explicit reported(bool with_records = true) {
        if (with_records)
            sums.add(std::vector{record_of(allocated, 50, 0, 2 * page, 0x10),
                                 record_of(allocated, 60, 4 * page, page, 0x20),
                                 record_of(freed, 200, 0, 0),
                                 record_of(allocated, 210, 0, page, 0x20)});
        sums.add(std::vector{
            fault_at(HMMRT_EVENT_DEVICE_FAULT, 0, 59), fault_at(HMMRT_EVENT_DEVICE_FAULT, 0, 100),
            fault_at(HMMRT_EVENT_DEVICE_FAULT, 1, 110), fault_at(HMMRT_EVENT_CPU_FAULT, 1, 120),
            fault_at(HMMRT_EVENT_DEVICE_FAULT, 0, 230)});
    }
};

TEST(HmmctlAllocationReport, CountsTheFaultsOfEachPlace) {
    const json found = to_json(reported().what());
    EXPECT_EQ(what_is_wrong_with(found, "profile"), "");
    ASSERT_EQ(found["allocations"].size(), 2u) << found["allocations"];
    // One of the device faults began before the allocation.
    EXPECT_TRUE(has_fields(found["allocations"][0], R"({
        "space": 5, "pid": 1234, "device_faults": 2, "cpu_faults": 1, "nanoseconds": 20,
        "count": 1, "bytes": 8192, "calls": [{"function": "", "place": "0x10"}]})"));
    EXPECT_TRUE(has_fields(found["allocations"][1], R"({"device_faults": 1, "count": 2})"));
    EXPECT_TRUE(has_fields(found["code"][0], R"({"memory": "", "allocated_at": "0x10"})"));
    EXPECT_EQ(found["dropped_allocations"], 0);
}

TEST(HmmctlAllocationReport, IsInTheText) {
    const reported without(false);
    EXPECT_EQ(text_of(without.what()).find("Allocation sites"), std::string::npos);
    const reported with;
    summary_of said = with.what();
    said.dropped_allocations = 3;
    const std::string text = text_of(said);
    EXPECT_TRUE(
        mentions(text, {"\nAllocation sites with the most faults\n",
                        "\n  60.0%              2           1      1       8 KiB  1234  0x10   -\n",
                        "\n3 allocation records ", "  100.0%       4  40 ns  0x10 "}));
}

TEST(HmmctlAllocationReport, HasNamesBesidePlaces) {
    reported with(false);
    with.sums.add(std::vector{record_of(allocated, 300, 0, page, 0x10)});
    hmmrt_event name = name_of_memory(0, 1, "gr\x1bid");
    with.sums.add(std::vector{name, fault_at(HMMRT_EVENT_DEVICE_FAULT, 0, 400)});
    const summary_of what = with.what();
    const known_memory memory = what.sums.annotations().memory_of_code(tested_space, 0x77);
    EXPECT_EQ(memory_text(what, tested_space, memory), "gr?id (0x10)");
    EXPECT_EQ(memory_text(what, tested_space, {"grid", 0}), "grid");
    EXPECT_EQ(memory_text(what, tested_space, {"", memory.allocated}), "0x10");
    EXPECT_EQ(memory_text(what, tested_space, {}), "");
    EXPECT_EQ(what.sums.annotations().memory_of_blocks(tested_space, 0, page), memory);
}

[[gnu::noinline]] void* call_in_this_test() {
    return __builtin_return_address(0);
}

TEST(HmmctlAllocationReport, LeavesOutCallsOfLibraries) {
    reported with(false);
    with.processes[tested_space] = look_at(tested_space, getpid());
    allocation_record record = record_of(allocated, 300, 0, page);
    record.frames[0] = reinterpret_cast<std::uint64_t>(&std::getenv);
    record.frames[1] = reinterpret_cast<std::uint64_t>(call_in_this_test()) - 1;
    record.pid = getpid();
    with.sums.add(std::span(&record, 1));
    hmmrt_event fault = fault_at(HMMRT_EVENT_DEVICE_FAULT, 0, 400);
    fault.pid = getpid();
    with.sums.add(std::span(&fault, 1));
    const json found = to_json(with.what())["allocations"];
    ASSERT_EQ(found.size(), 1u);
    const std::string place = found[0]["calls"][0]["place"];
    EXPECT_TRUE(mentions(place, {"hmmctl_allocation_test.cpp:"}));
}

TEST(HmmctlAllocationReport, KnowsLibrariesByTheirFilesHeadersAndFunctions) {
    const symbol plain = {"make_grid", "/src/stencil.cpp:12"};
    EXPECT_FALSE(is_of_library("/src/stencil", plain));
    EXPECT_FALSE(is_of_library("", plain));
    EXPECT_TRUE(is_of_library("/lib/x86_64-linux-gnu/libc.so.6", plain));
    EXPECT_TRUE(is_of_library("/opt/lib/libhmmrt.so.0", plain));
    EXPECT_FALSE(is_of_library("/opt/lib/libcalc.so", plain));
    EXPECT_TRUE(is_of_library("/src/stencil", {"f", "/usr/include/c++/12/bits/alloc.h:4"}));
    EXPECT_TRUE(is_of_library("/src/stencil", {"f", "/opt/hmm/include/hmm/memory.hpp:4"}));
    EXPECT_TRUE(is_of_library("/src/stencil", {"std::vector<int>::vector()", ""}));
    EXPECT_FALSE(is_of_library("/src/stencil", {"stdlike", "a.cpp:1"}));
}

} // namespace
