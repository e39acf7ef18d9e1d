// SPDX-License-Identifier: MIT
// Recordings of hmmctl: when they end, what they cover, the command that they run, and the reader
// of event rings, on rings in ordinary memory.
#include "hmmctl_events.hpp"

#include "event_ring.hpp"
#include "hmmctl_failure.hpp"
#include "recorder.hpp"
#include "symbols.hpp"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace hmmctl;

namespace {

namespace fs = std::filesystem;

/// A source whose events are all there from the start. Its other end may be closed (@hangs_up).
class fake_source : public event_source {
  public:
    explicit fake_source(bool hangs_up = false) {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        file_ = ends[0];
        if (hangs_up)
            close(ends[1]);
        else
            other_ = ends[1];
    }
    fake_source(const fake_source&) = delete;
    fake_source& operator=(const fake_source&) = delete;
    ~fake_source() override {
        close(file_);
        if (other_ >= 0) close(other_);
    }

    int poll_descriptor() const override { return file_; }
    std::size_t read(std::vector<hmmrt_event>& into) override {
        into.insert(into.end(), there.begin(), there.end());
        const std::size_t number = there.size();
        there.clear();
        return number;
    }
    event_drops dropped() const override { return {0, 0, 6}; }

    std::vector<hmmrt_event> there;

  private:
    int file_ = -1, other_ = -1;
};

/// Has two records from the start.
struct fake_allocations : allocation_source {
    std::size_t read(std::vector<allocation_record>& into) override {
        looks++;
        into.insert(into.end(), there.begin(), there.end());
        return std::exchange(there, {}).size();
    }
    std::uint64_t dropped() const override { return 7; }

    std::vector<allocation_record> there = std::vector<allocation_record>(2);
    unsigned looks = 0;
};

struct collected : event_sink {
    void take(std::span<const hmmrt_event> more) override {
        events.insert(events.end(), more.begin(), more.end());
    }
    void take(const observed_process& process) override { processes.push_back(process); }
    void take(std::span<const allocation_record> more) override {
        EXPECT_TRUE(events.empty()) << "they come before the events that need them";
        allocations.insert(allocations.end(), more.begin(), more.end());
    }

    std::vector<hmmrt_event> events;
    std::vector<allocation_record> allocations;
    std::vector<observed_process> processes;
};

class HmmctlRecording : public testing::Test {
  protected:
    recording record_from(fake_source& from) { return record(from, sink, signals, limits); }
    recording record_all() { return record_from(source); }
    void start(const std::vector<std::string>& program) {
        command.emplace(program, signals);
        limits.command = &*command;
    }

    fake_source source, ended{true};
    fake_allocations allocations;
    collected sink;
    const signal_watch signals;
    std::optional<child> command;
    recording_limits limits;
};

TEST_F(HmmctlRecording, EndsWhenItsSourceHangsUp) {
    ended.there = {event_of(HMMRT_EVENT_MAP), event_of(HMMRT_EVENT_MAP)};
    const recording found = record_from(ended);
    EXPECT_EQ(found.events, 2u);
    EXPECT_EQ(sink.events.size(), 2u);
    EXPECT_EQ(sum_of(found.dropped), 6u);
}

TEST_F(HmmctlRecording, TakesAllocationsBeforeEvents) {
    ended.there = {event_of(HMMRT_EVENT_MAP)};
    limits.allocations = &allocations;
    const recording found = record_from(ended);
    EXPECT_EQ(sink.events.size(), 1u);
    EXPECT_EQ(sink.allocations.size(), 2u);
    EXPECT_EQ(found.allocations, 2u);
    EXPECT_EQ(found.dropped_allocations, 7u);
}

TEST_F(HmmctlRecording, TakesAllocationsOfProgramsWithoutEvents) {
    start({"sleep", "0.3"});
    limits.allocations = &allocations;
    record_all();
    EXPECT_GE(allocations.looks, 3u) << "so that its ring does not become full";
    EXPECT_EQ(sink.allocations.size(), 2u);
    EXPECT_EQ(command->wait(), 0);
}

TEST_F(HmmctlRecording, EndsAfterItsTime) {
    limits.seconds = 0.01;
    EXPECT_EQ(record_all().events, 0u);
}

TEST_F(HmmctlRecording, EndsWithASignal) {
    kill(getpid(), SIGINT);
    EXPECT_EQ(record_all().events, 0u);
}

TEST_F(HmmctlRecording, EndsWithItsCommandAndTakesWhatIsLeft) {
    start({"true"});
    hmmrt_event event = event_of(HMMRT_EVENT_MAP);
    event.pid = 0;
    source.there = {event};
    EXPECT_EQ(record_all().events, 1u);
    EXPECT_EQ(command->wait(), 0);
}

TEST_F(HmmctlRecording, GivesTheFirstSignalToItsCommand) {
    start({"sleep", "1000"});
    kill(getpid(), SIGTERM);
    EXPECT_EQ(record_all().events, 0u);
    EXPECT_EQ(command->wait(), 128 + SIGTERM);
}

TEST_F(HmmctlRecording, EndsWithTheSecondSignalAlthoughItsCommandRuns) {
    const auto before = std::signal(SIGINT, SIG_IGN); // children inherit that
    start({"sleep", "1000"});
    std::signal(SIGINT, before);
    kill(getpid(), SIGINT);
    kill(getpid(), SIGTERM);
    record_all();
    command->send(SIGKILL);
    EXPECT_EQ(command->wait(), 128 + SIGKILL);
}

TEST(HmmctlChild, HasItsExitStatusAndItsSignalsOrIsAFailure) {
    const signal_watch signals;
    EXPECT_EQ(child({"sh", "-c", "exit 7"}, signals).wait(), 7);
    EXPECT_EQ(child({"sh", "-c", "kill -INT $$; exit 1"}, signals).wait(), 128 + SIGINT)
        << "the mask of this program is not its own";
    EXPECT_EQ(failure_of([&] { const child command({"/no/such/program"}, signals); }),
              "cannot start /no/such/program: No such file or directory");
}

TEST(HmmctlChild, MayBeAScriptThatNamesNoInterpreter) {
    const fs::path script = fs::temp_directory_path() / ("hmmctl-" + std::to_string(getpid()));
    std::ofstream(script) << "exit $1\n";
    fs::permissions(script, fs::perms::owner_all);
    const signal_watch signals;
    EXPECT_EQ(child({script, "7"}, signals).wait(), 7);
    const std::string path = std::getenv("PATH");
    setenv("PATH", (script.parent_path().string() + ":" + path).c_str(), 1);
    EXPECT_EQ(child({script.filename(), "7"}, signals).wait(), 7);
    setenv("PATH", path.c_str(), 1);
    fs::remove(script);
}

// --- code

TEST(HmmctlCode, HasTheExecutableMappings) {
    const auto code = parse_code("00400000-00401000 r--p 00000000 08:01 1   /bin/a\n"
                                 "00401000-00403000 r-xp 00001000 08:01 1   /bin/a b (deleted)\n"
                                 "junk\n\n00403000-00402000 r-xp 0 0 0\n"
                                 "7f00-7f01 rwxp 00000000 00:00 0\n");
    ASSERT_EQ(code.size(), 2u);
    EXPECT_EQ(code[0].path, "/bin/a b (deleted)");
    EXPECT_EQ(code[0].offset, 0x1000u);
    EXPECT_EQ(code[1].path, "");
    EXPECT_EQ(mapping_of(code, 0x402fff), &code[0]);
    EXPECT_EQ(mapping_of(code, 0x403000), nullptr);
    EXPECT_EQ(mapping_of(code, 0x400fff), nullptr);
}

TEST(HmmctlCode, OfThisProcessGetsNames) {
    const observed_process self = look_at(1, getpid());
    EXPECT_FALSE(self.name.empty());
    const auto ip = reinterpret_cast<std::uint64_t>(&parse_code);
    const symbol found = symbol_of(self, ip);
    EXPECT_TRUE(mentions(found.function, {"parse_code"}));
    EXPECT_TRUE(mentions(found.place, {"symbols.cpp:"}));
}

/// Its first instruction belongs to no other function, whatever the compiler inlines.
__attribute__((noinline)) void function_without_calls() {
    asm volatile("");
}

TEST(HmmctlCode, OfSeveralProcessesGetsNamesInOrder) {
    const observed_process self = look_at(1, getpid());
    const observed_process unknown;
    const auto parse = reinterpret_cast<std::uint64_t>(&parse_code);
    const auto other = reinterpret_cast<std::uint64_t>(&function_without_calls);
    const std::vector<instruction> code = {
        {self, other}, {unknown, 0x1234}, {self, parse}, {self, other}};
    const std::vector<symbol> found = symbols_of(code);
    ASSERT_EQ(found.size(), 4u);
    for (const std::size_t i : {0, 3})
        EXPECT_TRUE(mentions(found[i].function, {"function_without_calls"}));
    EXPECT_EQ(found[1].place, "0x1234");
    EXPECT_EQ(found[1].function, "");
    EXPECT_TRUE(mentions(found[2].function, {"parse_code"}));
    EXPECT_TRUE(mentions(found[2].place, {"symbols.cpp:"}));
    EXPECT_TRUE(symbols_of({}).empty());
}

TEST(HmmctlCode, WithoutAFileIsItsAddress) {
    observed_process process;
    EXPECT_EQ(symbol_of(process, 0x1234).place, "0x1234");
    process.code = {{0x1000, 0x2000, 0x500, "/no/such/file"}};
    EXPECT_EQ(symbol_of(process, 0x1234).place, "/no/such/file+0x734");
    process.code[0].path = "/dev/zero";
    EXPECT_EQ(symbol_of(process, 0x1234).place, "/dev/zero+0x734");
    process.code[0].path = "/etc/passwd";
    EXPECT_EQ(symbol_of(process, 0x1234).place, "/etc/passwd+0x734");
}

// --- processes of events

/// A folder that looks like procfs with the tested process.
class HmmctlWatch : public testing::Test {
  protected:
    HmmctlWatch() {
        fs::create_directory(folder);
        std::ofstream(folder / "comm") << "name\n";
        set_maps("1000-2000 r-xp 0 0 0 /a\n");
    }
    ~HmmctlWatch() override { fs::remove_all(root); }
    void set_maps(const char* text) const { std::ofstream(folder / "maps") << text; }
    static std::string fresh_folder() {
        std::string name = fs::temp_directory_path() / "hmmctl-XXXXXX";
        EXPECT_NE(mkdtemp(name.data()), nullptr);
        return name;
    }

    const std::string root = fresh_folder();
    const fs::path folder = fs::path(root) / std::to_string(tested_pid);
    collected sink;
    process_watch watch{sink, root};
};

TEST_F(HmmctlWatch, LooksAgainForCallsThatAllocate) {
    allocation_record record;
    record.pid = tested_pid;
    record.frames[0] = 0x5000;
    const auto look = [&] { watch.look(std::span<const allocation_record>(&record, 1)); };
    look();
    EXPECT_TRUE(sink.processes.empty()) << "it has no space yet";
    watch.look(std::array{device_fault(0, 0)});
    ASSERT_EQ(sink.processes.size(), 1u);
    record.frames[0] = 0x1000;
    look();
    EXPECT_EQ(sink.processes.size(), 1u) << "that is known";
    record.frames[1] = 0x5000;
    set_maps("5000-6000 r-xp 0 0 0 /b\n");
    look();
    ASSERT_EQ(sink.processes.size(), 2u);
    EXPECT_EQ(sink.processes[1].code[0].path, "/b");
}

TEST_F(HmmctlWatch, LooksAgainForCodeThatItDoesNotKnow) {
    const auto look = [&](std::uint64_t ip) { watch.look(std::array{device_fault(0, 0, ip)}); };
    look(0);
    look(0x1000);
    ASSERT_EQ(sink.processes.size(), 1u);
    EXPECT_EQ(sink.processes[0].name, "name");
    EXPECT_EQ(sink.processes[0].space, tested_space);
    set_maps("1000-2000 r-xp 0 0 0 /a\n5000-6000 r-xp 0 0 0 /b\n");
    look(0x5000);
    ASSERT_EQ(sink.processes.size(), 2u);
    EXPECT_EQ(sink.processes[1].code.size(), 2u);
    fs::remove_all(root);
    look(0x9000);
    EXPECT_EQ(sink.processes.size(), 2u) << "what was seen of it is kept";
    EXPECT_FALSE(watch.any_left());
}

// ---- rings

constexpr std::uint32_t ring_events = 64, data_bytes = 4096;

/// A ring as the kernel makes it. Events may be longer than in the version that hmmctl knows.
class fake_ring {
  public:
    explicit fake_ring(std::uint32_t event_bytes = sizeof(hmmrt_event))
        : memory_((data_bytes + ring_events * event_bytes) / sizeof(std::uint64_t)) {
        header().events = ring_events;
        header().event_bytes = event_bytes;
        header().data_bytes = data_bytes;
        header().version = HMMRT_UAPI_VERSION;
    }

    hmmrt_event_ring& header() { return *reinterpret_cast<hmmrt_event_ring*>(memory_.data()); }
    void* at() { return memory_.data(); }
    std::size_t bytes() const { return memory_.size() * sizeof(std::uint64_t); }

    void write(std::uint64_t serial) {
        hmmrt_event event = {};
        event.serial = serial;
        event.type = HMMRT_EVENT_MAP;
        std::memcpy(reinterpret_cast<char*>(memory_.data()) + data_bytes +
                        header().head % ring_events * header().event_bytes,
                    &event, sizeof(event));
        header().head++;
    }

  private:
    std::vector<std::uint64_t> memory_;
};

std::vector<std::uint64_t> serials(ring_reader& reader) {
    std::vector<hmmrt_event> got;
    const std::size_t number = reader.read(got);
    EXPECT_EQ(number, got.size());
    std::vector<std::uint64_t> found;
    for (const hmmrt_event& event : got) {
        EXPECT_EQ(event.type, HMMRT_EVENT_MAP);
        found.push_back(event.serial);
    }
    return found;
}

TEST(HmmctlRing, IsReadInOrderAcrossItsEnd) {
    for (const std::uint64_t start : {0ull, 61ull, ~0ull - 2}) {
        fake_ring ring;
        ring.header().head = ring.header().tail = start;
        ring_reader reader(ring.at(), ring.bytes());
        EXPECT_TRUE(serials(reader).empty());
        for (std::uint64_t i = 1; i <= 5; i++)
            ring.write(i);
        EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
        EXPECT_EQ(ring.header().tail, start + 5) << "the kernel gets the space back";
        EXPECT_TRUE(serials(reader).empty());
    }
}

TEST(HmmctlRing, MayBeFull) {
    fake_ring ring;
    ring_reader reader(ring.at(), ring.bytes());
    for (std::uint64_t i = 0; i < ring_events; i++)
        ring.write(i);
    const std::vector<std::uint64_t> got = serials(reader);
    ASSERT_EQ(got.size(), ring_events);
    EXPECT_EQ(got.back(), ring_events - 1);
}

TEST(HmmctlRing, KeepsTheDistanceOfLongerEvents) {
    fake_ring ring(sizeof(hmmrt_event) + 24);
    ring_reader reader(ring.at(), ring.bytes());
    for (std::uint64_t i = 1; i <= 3; i++)
        ring.write(i);
    EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(HmmctlRing, SaysWhatWasDropped) {
    fake_ring ring;
    const ring_reader reader(ring.at(), ring.bytes());
    ring.header().dropped[HMMRT_EVENT_MAP] = 3;
    ring.header().dropped[63] = 4;
    EXPECT_EQ(reader.dropped()[HMMRT_EVENT_MAP], 3u);
    EXPECT_EQ(sum_of(reader.dropped()), 7u);
}

TEST(HmmctlRing, ThatHasMoreThanItCanIsRefused) {
    for (const std::uint64_t head : {std::uint64_t{ring_events + 1}, ~std::uint64_t{0}}) {
        fake_ring ring;
        ring_reader reader(ring.at(), ring.bytes());
        ring.header().head = head;
        std::vector<hmmrt_event> got;
        EXPECT_TRUE(mentions(failure_of([&] { reader.read(got); }),
                             {"event ring", "corrupted", "more events"}));
        EXPECT_TRUE(got.empty());
    }
}

/// The reader keeps the values that it validated: later changes of the header do not redirect its
/// reads.
TEST(HmmctlRing, WithALaterChangeOfItsSizesIsReadAsItWasOpened) {
    fake_ring ring;
    ring_reader reader(ring.at(), ring.bytes());
    ring.write(1);
    ring.header().events = 1u << 31;
    ring.header().event_bytes = 1u << 30;
    ring.header().data_bytes = ~0u;
    EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1}));
}

struct damage {
    const char* name;
    void (*inflict)(hmmrt_event_ring&);
};

class HmmctlRingWith : public testing::TestWithParam<damage> {};

TEST_P(HmmctlRingWith, AWrongHeaderIsRefused) {
    fake_ring ring;
    GetParam().inflict(ring.header());
    EXPECT_NE(failure_of([&] { ring_reader(ring.at(), ring.bytes()); }), "");
}

constexpr damage damages[] = {
    {"NoEvents", [](hmmrt_event_ring& ring) { ring.events = 0; }},
    {"EventsThatAreNoPowerOfTwo", [](hmmrt_event_ring& ring) { ring.events = 63; }},
    {"TooManyEventsForItsSize", [](hmmrt_event_ring& ring) { ring.events = 128; }},
    {"TooManyEvents", [](hmmrt_event_ring& ring) { ring.events = 1u << 31; }},
    {"ShortEvents", [](hmmrt_event_ring& ring) { ring.event_bytes = 128; }},
    {"EventsWithoutSize", [](hmmrt_event_ring& ring) { ring.event_bytes = 0; }},
    {"EventsBeyondTheEnd", [](hmmrt_event_ring& ring) { ring.event_bytes += 8; }},
    {"HugeEvents", [](hmmrt_event_ring& ring) { ring.event_bytes = 0xfffffff8; }},
    {"DataInTheHeader", [](hmmrt_event_ring& ring) { ring.data_bytes = 8; }},
    {"DataBeyondTheEnd", [](hmmrt_event_ring& ring) { ring.data_bytes = 0xfffffff8; }},
    {"MisalignedData", [](hmmrt_event_ring& ring) { ring.data_bytes -= 4; }},
    {"AnotherVersion", [](hmmrt_event_ring& ring) { ring.version++; }},
};

INSTANTIATE_TEST_SUITE_P(, HmmctlRingWith, testing::ValuesIn(damages),
                         [](const auto& of) { return of.param.name; });

TEST(HmmctlRing, ThatIsTooSmallForItsHeaderIsRefused) {
    fake_ring ring;
    EXPECT_NE(failure_of([&] { ring_reader(ring.at(), sizeof(hmmrt_event_ring) - 1); }), "");
}

} // namespace
