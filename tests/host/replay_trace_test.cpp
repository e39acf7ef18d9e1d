// SPDX-License-Identifier: MIT
// What hmmctl replay reads and answers: trace files, recordings, patterns and plans.
#include "replay_fixture.hpp"

#include "failure.hpp"
#include "json_schema.hpp"
#include "recording.hpp"
#include "replay.hpp"
#include "replay_run.hpp"
#include "trace_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace replay {
namespace {

namespace fs = std::filesystem;

std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const hmmctl::failure& why) {
        return why.what();
    }
    return "";
}

/// A trace with a step of each kind.
trace full_trace() {
    trace of;
    of.pages = 1024;
    of.absent.resize(of.pages);
    of.absent[600] = of.absent[601] = of.absent[1023] = true;
    of.steps = {{.first = 0, .count = 512},
                {.what = step_kind::device_write, .lines = 2, .first = 7, .accesses = 3},
                {.what = step_kind::cpu_read, .first = 1},
                {.what = step_kind::cpu_write, .first = 2, .count = 3},
                {.what = step_kind::prefetch_device, .first = 512, .count = 512},
                {.what = step_kind::prefetch_cpu, .first = 512, .count = 2},
                {.what = step_kind::unmap, .first = 0, .count = 512},
                {.what = step_kind::wait, .count = 250}};
    return of;
}

TEST(ReplayTrace, IsTheSameAfterItsText) {
    EXPECT_EQ(parse_trace(text_of(full_trace()), "file"), full_trace());
}

TEST(ReplayTrace, HasDefaultsAndComments) {
    const trace of =
        parse_trace("# by hand\nhmmrt-accesses 1\r\n\npages 8 # few\ndevice read 3", "file");
    EXPECT_EQ(of.pages, 8u);
    EXPECT_EQ(of.steps, std::vector<step>{{.first = 3}});
}

TEST(ReplayTrace, HasAtMostSoManyAccesses) {
    const std::string text = fmt::format("hmmrt-accesses 1\npages {0}\n", most_pages),
                      all = fmt::format("device read 0 {}\n", most_pages);
    std::string many = text;
    for (std::uint64_t visits = 0; visits < most_visits; visits += most_pages)
        many += all;
    EXPECT_EQ(failure_of([&] { parse_trace(many, "file"); }), "");
    EXPECT_EQ(failure_of([&] { parse_trace(many + "device read 5\n", "file"); }),
              "file:19: up to here there are 268435457 accesses to pages, expected at most "
              "268435456");
}

TEST(ReplayTrace, NamesTheLineThatIsWrong) {
    const auto message = [](const std::string& line) {
        return failure_of(
            [&] { parse_trace("hmmrt-accesses 1\npages 8\n" + line + "\n", "file"); });
    };
    EXPECT_EQ(message("device read 7"), "");
    EXPECT_EQ(message("device read 8"), "file:3: first page is 8, expected 0 to 7");
    EXPECT_EQ(message("device read 6 3"), "file:3: count of pages is 3, expected 1 to 2");
    EXPECT_EQ(message("device read 6 0"), "file:3: count of pages is 0, expected 1 to 2");
    EXPECT_EQ(message("device read x"), "file:3: 'x' is no number of first page");
    EXPECT_EQ(message("device read -1"), "file:3: '-1' is no number of first page");
    EXPECT_EQ(message("absent 1\ndevice read 0 2"), "file:4: page 1 is absent");
    EXPECT_EQ(message("cpu read 0\nabsent 1"), "file:4: 'absent' has to come before all accesses");
    EXPECT_EQ(message("device read"), "file:3: first page is 4294967295, expected 0 to 7");
    EXPECT_EQ(message("device read 0 1 0"), "file:3: accesses is 0, expected 1 to 4294967295");
    EXPECT_EQ(message("device read 0 1 4 5"), "file:3: lines is 5, expected 1 to 4");
    EXPECT_EQ(message("device read 0 1 99 65"), "file:3: lines is 65, expected 1 to 64");
    EXPECT_EQ(message("device read 0 1 4 4 4"), "file:3: '4' is one word too many");
    EXPECT_EQ(message("device touch 0"), "file:3: expected read or write, not 'touch'");
    EXPECT_EQ(message("prefetch gpu 0"), "file:3: expected device or cpu, not 'gpu'");
    EXPECT_EQ(message("wait"), "file:3: microseconds is 0, expected 1 to 4294967295");
    EXPECT_EQ(message("gpu read 0"),
              "file:3: 'gpu' is not one of device, cpu, prefetch, unmap and wait");
    EXPECT_EQ(message(""), "file: has no accesses to replay");
    EXPECT_EQ(failure_of([] { parse_trace("pages 8\n", "file"); }),
              "file:1: is no trace: expected the line 'hmmrt-accesses 1'");
    EXPECT_EQ(failure_of([] { parse_trace("hmmrt-accesses 1\ndevice read 0\n", "file"); }),
              "file:2: expected the line 'pages N', not 'device'");
    EXPECT_EQ(failure_of([] { parse_trace("hmmrt-accesses 1\npages 16777217\n", "file"); }),
              "file:2: pages is 16777217, expected 1 to 16777216");
}

// ---- patterns

TEST(ReplayPattern, AccessesAreThoseOfItsCode) {
    const trace touched = pattern("sequential", 0.5, 2 * mib);
    EXPECT_EQ(touched.steps, (std::vector<step>{{.what = step_kind::device_write,
                                                 .lines = 1,
                                                 .first = 0,
                                                 .count = 256,
                                                 .accesses = 2}}));
    const trace strided = pattern("strided", 0.5, 2 * mib);
    ASSERT_EQ(strided.steps.size(), 256u);
    EXPECT_EQ(strided.steps[1].first, 16u);
    std::uint64_t reads = 0, writes = 0; // triad: a third of the pages is written
    for (const step& one : pattern("triad", 0.5, 2 * mib).steps)
        (one.what == step_kind::device_write ? writes : reads) += one.count;
    EXPECT_EQ(reads, 2 * writes);
}

// ---- recordings

hmmrt_event event_at(hmmrt_event_type type, std::uint64_t page, std::uint64_t us) {
    hmmrt_event event = {};
    event.serial = us;
    event.type = static_cast<__u16>(type);
    event.space = 5;
    event.pid = event.tid = 1;
    event.addr = 0x7f0000000000 + page * page_bytes;
    event.time = us * 1000;
    event.device = event.from = event.to = HMMRT_LOCATION_NONE;
    if (type == HMMRT_EVENT_DEVICE_FAULT) event.device = 0;
    return event;
}

class ReplayRecording : public testing::Test {
  protected:
    ReplayRecording() : path_(fs::temp_directory_path() / "hmmrt-replay-XXXXXX") {
        close(mkstemp(path_.data()));
    }
    ~ReplayRecording() override { fs::remove(path_); }

    trace of(const std::vector<hmmrt_event>& events) {
        hmmctl::trace_writer file(
            path_, {.start = 1000, .devices = {{0, "gpu", usual_memory}}, .command = {}});
        file.add(events);
        file.finish({.end = 1'000'000});
        return read_trace(path_);
    }
    std::string path_;
};

TEST_F(ReplayRecording, HasFaultsPrefetchesAndTimes) {
    hmmrt_event write = event_at(HMMRT_EVENT_DEVICE_FAULT, 4 * block_pages, 150);
    write.access = HMMRT_ACCESS_WRITE;
    hmmrt_event moved = event_at(HMMRT_EVENT_MIGRATION, block_pages, 50);
    moved.cause = HMMRT_CAUSE_PREFETCH;
    moved.to = 0;
    moved.pages = 9;
    hmmrt_event failed = event_at(HMMRT_EVENT_DEVICE_FAULT, 3, 60);
    failed.error = -1;
    const trace got = of({event_at(HMMRT_EVENT_DEVICE_FAULT, 3, 1), moved, failed, write,
                          event_at(HMMRT_EVENT_CPU_FAULT, 5, 151)});
    EXPECT_EQ(got.pages, 4 * block_pages) << "blocks 0, 1, a gap, and 4";
    const std::uint8_t one = 1;
    EXPECT_EQ(got.steps,
              (std::vector<step>{
                  {.lines = one, .first = 3, .accesses = 1},
                  {.what = step_kind::wait, .count = 49},
                  {.what = step_kind::prefetch_device,
                   .lines = one,
                   .first = block_pages,
                   .count = 9,
                   .accesses = 1},
                  {.what = step_kind::wait, .count = 100},
                  {.what = step_kind::device_write,
                   .lines = one,
                   .first = 3 * block_pages,
                   .accesses = 1},
                  {.what = step_kind::cpu_read, .lines = one, .first = 5, .accesses = 1}}));
}

/// The faults of an unchanged run are those that the recording has.
TEST_F(ReplayRecording, RepeatsTheFaultsOfTheRecordedPolicy) {
    class noting : public policy {
      public:
        hmmrt_policy_window window(const fault& of) override {
            page_ = of.page;
            return policy::window(of);
        }
        unsigned page_ = 0;
    } decides;
    const trace original = pattern("random", 0.5);
    simulator machine(original, decides, guest, usual_memory);
    std::vector<hmmrt_event> events;
    for (const step& next : original.steps)
        for (std::uint32_t page = next.first; page < next.first + next.count; page++) {
            const std::uint64_t before = machine.counted().faults;
            step one = next;
            one.first = page;
            one.count = 1;
            machine.run(one);
            if (machine.counted().faults > before)
                events.push_back(event_at(HMMRT_EVENT_DEVICE_FAULT, page, 1));
        }
    const counts again = simulated(of(events), "by-use").counted;
    EXPECT_EQ(again.faults, machine.counted().faults);
    EXPECT_EQ(again.pages_in, machine.counted().pages_in);
}

hmmrt_event access_at(std::uint64_t page, std::uint64_t us) {
    hmmrt_event event = event_at(HMMRT_EVENT_ACCESS, page, us);
    event.device = 0;
    event.access = HMMRT_ACCESS_READ;
    return event;
}

/// What a fault maps; serial numbers are those of the fault and its batch.
std::vector<hmmrt_event> served(std::uint64_t page, std::uint64_t pages, std::uint64_t serial,
                                std::uint16_t rule, std::uint64_t us) {
    hmmrt_event fault = event_at(HMMRT_EVENT_DEVICE_FAULT, page, us),
                batch = event_at(HMMRT_EVENT_FAULT_BATCH, page, us),
                map = event_at(HMMRT_EVENT_MAP, page, us);
    fault.serial = batch.parent = serial;
    fault.reason = rule;
    fault.duration = 20'000;
    batch.serial = map.parent = serial + 1;
    map.device = 0;
    map.pages = pages;
    return {map, batch, fault};
}

TEST_F(ReplayRecording, HasAccessesAndTheMemoryOfTheDevice) {
    std::vector<hmmrt_event> events = served(0, 16, 10, HMMRT_EVENT_RULE_DEFAULT, 100);
    for (std::uint64_t page = 0; page < 3; page++)
        events.push_back(access_at(page, 100 + 30 * page));
    // memory of a file, in another block
    for (const hmmrt_event& one : served(700, 8, 20, HMMRT_EVENT_RULE_NOT_MIGRATABLE, 260))
        events.push_back(one);
    events.push_back(access_at(700, 260));
    events.push_back(access_at(5, 300));
    hmmrt_event unmap = event_at(HMMRT_EVENT_INVALIDATE, 4, 301);
    unmap.reason = HMMRT_EVENT_CHANGE_UNMAP;
    unmap.pages = 2 * block_pages;
    events.push_back(unmap);
    const trace got = of(events);
    ASSERT_EQ(got.pages, block_pages);
    for (std::uint32_t page = 0; page < block_pages; page++)
        EXPECT_EQ(got.absent[page], page >= 16) << page;
    // 79 us before the fault, then 30, 30 and 140 between accesses
    EXPECT_EQ(got.steps, (std::vector<step>{
                             {.first = 0},
                             {.what = step_kind::wait, .count = 109},
                             {.first = 1, .count = 2},
                             {.what = step_kind::wait, .count = 170},
                             {.first = 5},
                             {.what = step_kind::unmap, .first = 4, .count = block_pages - 4}}));
}

/// With all accesses each policy does what it did, also if data does not fit.
TEST_F(ReplayRecording, RepeatsARunWithAccesses) {
    const trace original = pattern("random", 1.5);
    std::vector<hmmrt_event> events = served(0, original.pages, 1, HMMRT_EVENT_RULE_DEFAULT, 20);
    for (const step& next : original.steps)
        for (std::uint32_t page = next.first; page < next.first + next.count; page++)
            events.push_back(access_at(page, 20));
    const trace again = of(events);
    for (const char* const policy : {"always", "never", "mru"}) {
        const counts first = simulated(original, policy).counted,
                     second = simulated(again, policy).counted;
        EXPECT_EQ(second.faults, first.faults) << policy;
        EXPECT_EQ(second.pages_in, first.pages_in) << policy;
        EXPECT_EQ(second.pages_out, first.pages_out) << policy;
    }
}

TEST_F(ReplayRecording, IsRefusedIfItIsDamaged) {
    const auto refusal = [&](const auto& change) {
        std::vector<hmmrt_event> events = served(0, 16, 10, HMMRT_EVENT_RULE_DEFAULT, 100);
        change(events);
        return failure_of([&] { of(events); });
    };
    EXPECT_EQ(refusal([](auto&) {}), "");
    for (const std::string& why : {
             refusal([](auto& events) { events[0].pages = 1ull << 60; }),
             refusal([](auto& events) { events[2].addr = ~0ull; }),
             refusal([](auto& events) { events[2].duration = ~0ull; }),
         })
        EXPECT_NE(why.find("is damaged: event "), std::string::npos) << why;
}

TEST_F(ReplayRecording, IsRefusedWithoutDeviceFaults) {
    EXPECT_NE(failure_of([&] {
                  of({event_at(HMMRT_EVENT_CPU_FAULT, 5, 1)});
              }).find("has no device faults to replay"),
              std::string::npos);
}

// ---- plans

hmmctl::replay_plan small_plan() {
    hmmctl::replay_plan plan;
    plan.patterns = {"triad:1.5", "chase"};
    plan.policies = {"by-use", "never"};
    plan.device_memory = {2 * mib, 4 * mib};
    return plan;
}

TEST(ReplayPlan, IsTheSameAfterItsJson) {
    const hmmctl::json one = hmmctl::to_json(small_plan());
    EXPECT_EQ(hmmctl::to_json(hmmctl::plan_of_replay(one)), one);
}

TEST(ReplayPlan, RefusesWhatThereIsNot) {
    const auto message = [](const std::function<void(hmmctl::replay_plan&)>& change) {
        hmmctl::replay_plan plan = small_plan();
        change(plan);
        return failure_of([&] { replayed(plan); });
    };
    EXPECT_EQ(message([](auto&) {}), "");
    EXPECT_NE(message([](auto& of) {
                  of.patterns = {"frob"};
              }).find("no pattern 'frob'; there are sequential"),
              std::string::npos);
    EXPECT_NE(message([](auto& of) { of.patterns = {"triad:x"}; }).find("footprint 'x', expected"),
              std::string::npos);
    EXPECT_NE(message([](auto& of) { of.patterns = {"triad:65"}; }).find("at most 64"),
              std::string::npos);
    EXPECT_NE(
        message([](auto& of) { of.patterns = {"triad:0.01"}; }).find("has 5 pages, expected 64"),
        std::string::npos);
    EXPECT_NE(
        message([](auto& of) { of.policies = {"lru"}; }).find("no policy 'lru'; there are by-use"),
        std::string::npos);
    EXPECT_NE(message([](auto& of) { of.prices = "free"; }).find("no prices 'free'"),
              std::string::npos);
    EXPECT_NE(message([](auto& of) {
                  of.trace = "/no/such/file";
              }).find("cannot read /no/such/file: No such"),
              std::string::npos);
    EXPECT_NE(message([](auto& of) { of.write = "file"; }).find("--write takes one trace, not 4"),
              std::string::npos);
}

TEST(ReplayAnswer, MatchesTheSchemaAndHasATableAndAPlot) {
    const hmmctl::json answer = replayed(small_plan());
    const auto plain = nlohmann::json::parse(hmmctl::json_text(answer));
    EXPECT_EQ(what_is_wrong_with(plain, "answer_of_replay"), "");
    EXPECT_EQ(what_is_wrong_with(nlohmann::json::parse(hmmctl::json_text(listed())),
                                 "answer_of_replay_list"),
              "");
    const std::string text = hmmctl::text_of_replay(answer);
    EXPECT_NE(text.find("\ntriad:1.5   4 MiB  never"), std::string::npos) << text;
    EXPECT_NE(text.find("\nchase:1.5   2 MiB  bound"), std::string::npos) << text;
    const std::string script = hmmctl::plot_of_replay(answer, hmmctl::plot_format::svg);
    EXPECT_NE(script.find("set multiplot layout 2,1"), std::string::npos) << script;
    EXPECT_NE(script.find("\"chase:1.5\" "), std::string::npos) << script;
}

} // namespace
} // namespace replay
