// SPDX-License-Identifier: MIT
// The page of the HTML report: its data, its sums over time, and that no text can inject markup or
// code.
#include "hmmctl_report.hpp"

#include "html_report.hpp"

using namespace hmmctl;

namespace {

constexpr std::uint64_t start = 1'000'000;

hmmrt_event at(std::uint64_t time, hmmrt_event event) {
    event.time = start + time;
    return event;
}

hmmrt_event cpu_fault(std::uint64_t addr, std::uint32_t from) {
    hmmrt_event event = event_of(HMMRT_EVENT_CPU_FAULT);
    event.addr = addr;
    event.from = from;
    return event;
}

hmmrt_event moved(std::uint32_t from, std::uint32_t to, std::uint64_t addr, std::uint64_t pages,
                  hmmrt_cause cause = HMMRT_CAUSE_DEVICE_FAULT) {
    hmmrt_event event = migration(from, to, pages, 0, cause);
    event.addr = addr;
    return event;
}

timeline timeline_of(const std::vector<hmmrt_event>& events) {
    timeline when(start);
    when.add(events);
    return when;
}

// --- sums over time

TEST(HmmctlTimeline, OfNothingIsEmpty) {
    const timeline when(start);
    EXPECT_EQ(when.buckets(), 0u);
    EXPECT_TRUE(when.devices().empty());
}

TEST(HmmctlTimeline, AddsToTheBucketOfTheTime) {
    const std::uint64_t width = timeline::shortest_bucket;
    const timeline when = timeline_of({
        at(0, device_fault(0, 0x200000)),
        at(width - 1, device_fault(0, 0x200000)),
        at(width, cpu_fault(0x201000, 0)),
        at(2 * width, moved(HMMRT_LOCATION_HOST, 0, 0x200000, 3)),
        at(2 * width, moved(0, HMMRT_LOCATION_HOST, 0x200000, 2, HMMRT_CAUSE_EVICTION)),
        at(2 * width, moved(0, HMMRT_LOCATION_HOST, 0x200000, 1)),
    });
    ASSERT_EQ(when.buckets(), 3u);
    EXPECT_EQ(when.bucket_nanoseconds(), width);
    const std::vector<device_bucket>& device = when.devices().at(0);
    EXPECT_EQ(device[0].device_faults, 2u);
    EXPECT_EQ(device[0].phases[HMMRT_PHASE_QUEUE], 50u);
    EXPECT_EQ(device[1].cpu_faults, 1u);
    EXPECT_EQ(device[2].pages_in, 3u);
    EXPECT_EQ(device[2].pages_out, 3u);
    EXPECT_EQ(device[2].pages_evicted, 2u);
    const auto& block = when.blocks().at({tested_space, 0x200000});
    EXPECT_EQ(block.at(0).device_faults, 2u);
    EXPECT_EQ(block.at(1).cpu_faults, 1u);
    EXPECT_EQ(block.at(2).pages_out, 3u);
}

TEST(HmmctlTimeline, MakesBucketsLongerAndLosesNothing) {
    std::vector<hmmrt_event> events;
    for (std::uint64_t i = 0; i < 1000; i++)
        events.push_back(at(i * 5000, device_fault(0, 0x200000)));
    const timeline when = timeline_of(events);
    EXPECT_LE(when.buckets(), timeline::most_buckets);
    EXPECT_GT(when.buckets(), timeline::most_buckets / 2);
    std::uint64_t on_device = 0, in_block = 0, last = 0;
    for (std::size_t i = 0; i < when.buckets(); i++) {
        const std::uint64_t faults = when.devices().at(0)[i].device_faults;
        EXPECT_LE(faults, when.bucket_nanoseconds() / 5000 + 1);
        on_device += faults;
    }
    for (const auto& [bucket, of] : when.blocks().at({tested_space, 0x200000})) {
        in_block += of.device_faults;
        last = bucket;
    }
    EXPECT_EQ(on_device, 1000u);
    EXPECT_EQ(in_block, 1000u);
    EXPECT_EQ(last + 1, when.buckets());
}

TEST(HmmctlTimeline, TakesEventsFromBeforeTheStartAndReachesTheEnd) {
    hmmrt_event early = device_fault(0, 0x200000);
    early.time = start - 1;
    timeline when = timeline_of({early});
    EXPECT_EQ(when.devices().at(0)[0].device_faults, 1u);
    when.extend(~std::uint64_t{0});
    EXPECT_LE(when.buckets(), timeline::most_buckets);
    EXPECT_EQ(when.devices().at(0)[0].device_faults, 1u);
}

TEST(HmmctlTimeline, CutsAMigrationIntoBlocks) {
    const timeline when =
        timeline_of({at(0, moved(HMMRT_LOCATION_HOST, 0, 0x3ff000, 2 + block_pages))});
    EXPECT_EQ(when.blocks().at({tested_space, 0x200000}).at(0).pages_in, 1u);
    EXPECT_EQ(when.blocks().at({tested_space, 0x400000}).at(0).pages_in, block_pages);
    EXPECT_EQ(when.blocks().at({tested_space, 0x600000}).at(0).pages_in, 1u);
}

// --- the data of the page

struct described : profiled {
    explicit described(const std::vector<hmmrt_event>& events)
        : profiled(events), when(timeline_of(events)) {
        header.devices.push_back({0, "gpu", 1 << 30});
    }
    json data() const { return page_data(what(), when); }
    std::string text() const { return html_of(what(), when); }

    timeline when;
};

TEST(HmmctlPage, HasTheTimelineOfEachDevice) {
    const std::uint64_t width = timeline::shortest_bucket;
    const json data = described({at(0, device_fault(0, 0x200000)),
                                 at(width, moved(HMMRT_LOCATION_HOST, 7, 0x200000, 2))})
                          .data();
    EXPECT_EQ(data["timeline"]["buckets"], 2);
    EXPECT_EQ(data["timeline"]["phases"][0], "queue");
    const json& devices = data["timeline"]["devices"];
    ASSERT_EQ(devices.size(), 2u);
    EXPECT_EQ(devices[0]["name"], "gpu");
    EXPECT_EQ(devices[0]["device_faults"], json({1, 0})) << "as long as the timeline";
    EXPECT_EQ(devices[0]["phases"][0][0], 25);
    EXPECT_EQ(devices[1]["name"], nullptr);
    EXPECT_EQ(devices[1]["bytes_in"], json({0, 8192}));
}

TEST(HmmctlPage, FollowsThePagesOfABlockOnDevices) {
    const std::uint64_t width = timeline::shortest_bucket;
    const json data =
        described({at(0, moved(HMMRT_LOCATION_HOST, 0, 0x200000, 512)),
                   at(width, moved(0, HMMRT_LOCATION_HOST, 0x200000, 100)),
                   at(2 * width, moved(0, HMMRT_LOCATION_HOST, 0x200000, 512)), // some came before
                   at(3 * width, moved(HMMRT_LOCATION_HOST, 0, 0x200000, 5))})
            .data();
    EXPECT_EQ(data["heat"]["groups"][0]["rows"][0]["addr"], "0x200000");
    EXPECT_EQ(data["heat"]["groups"][0]["rows"][0]["cells"], json({{0, 0, 0, 512, 0, 512},
                                                                   {1, 0, 0, 0, 100, 412},
                                                                   {2, 0, 0, 0, 512, 0},
                                                                   {3, 0, 0, 5, 0, 5}}));
}

TEST(HmmctlPage, GroupsBlocksByProcessCodeAndDistance) {
    hmmrt_event other = device_fault(0, 0x600000);
    other.space = tested_space + 1;
    described of({device_fault(0, 0x200000), device_fault(0, 0x400000), device_fault(0, 0x600000),
                  device_fault(0, 0x7f0000000000), other});
    of.processes[tested_space] = {
        tested_space, tested_pid, "name", {{0x400000, 0x401000, 0, "/a path"}}};
    const json groups = of.data()["heat"]["groups"];
    std::vector<std::string> found;
    for (const json& group : groups)
        for (const json& row : group["rows"])
            found.push_back(std::to_string(group["pid"].get<int>()) +
                            group["path"].get<std::string>() + " " +
                            row["addr"].get<std::string>());
    EXPECT_EQ(found,
              (std::vector<std::string>{"1234 0x200000", "1234/a path 0x400000", "1234 0x600000",
                                        "1234 0x7f0000000000", "0 0x600000"}));
    EXPECT_EQ(groups.size(), 5u);
}

TEST(HmmctlPage, LeavesOutTheBlocksWithTheLeastActivity) {
    std::vector<hmmrt_event> events;
    for (std::uint64_t i = 0; i < heat_rows + 3; i++)
        for (unsigned fault = 0; fault < (i < 3 ? 1 : 2); fault++)
            events.push_back(device_fault(0, i * block_bytes));
    const json heat = described(events).data()["heat"];
    EXPECT_EQ(heat["left_out"], 3);
    EXPECT_EQ(heat["groups"][0]["rows"].size(), heat_rows);
    EXPECT_EQ(heat["groups"][0]["rows"][0]["addr"], "0x600000");
}

// --- text that is not the page's own

TEST(HmmctlPage, EscapesTextForHtmlAndDataForTheScriptElementAndFillsInValuesAsTheyAre) {
    EXPECT_EQ(html_escaped("<a href=\"x\">&amp;</a>"),
              "&lt;a href=&quot;x&quot;&gt;&amp;amp;&lt;/a&gt;");
    const json value = {{"name", "</script><!--<script>&\xff\u2028"}};
    const std::string text = json_for_script(value);
    EXPECT_EQ(text.find_first_of("<>&"), std::string::npos) << text;
    EXPECT_EQ(json::parse(text)["name"], "</script><!--<script>&\ufffd\u2028");
    EXPECT_EQ(filled("a {{one}} b {{two}}{{", {{"one", "{{two}}"}, {"two", "2"}}),
              "a {{two}} b 2{{");
}

TEST(HmmctlPage, KeepsNamesInTheirPlaces) {
    described of({device_fault(0, 0x400000, 0x400010)});
    const std::string name = "</script><script>alert(1)</script><b>&\"'{{data}}";
    of.header.command = {name};
    of.header.devices[0].name = name;
    of.processes[tested_space] = {
        tested_space, tested_pid, name, {{0x400000, 0x401000, 0, "/nowhere/" + name}}};
    const std::string text = of.text();
    std::size_t scripts = 0;
    for (std::size_t found = 0; (found = text.find("<script", found)) != std::string::npos; found++)
        scripts++;
    EXPECT_EQ(scripts, 2u) << "the data and the script of the page";
    EXPECT_EQ(text.find("<b>&"), std::string::npos);
    const std::string opening = "<script id=\"data\" type=\"application/json\">";
    const std::size_t begin = text.find(opening) + opening.size();
    const json data = json::parse(text.substr(begin, text.find("</script>", begin) - begin));
    EXPECT_EQ(data["profile"]["command"][0], name);
    EXPECT_EQ(data["heat"]["groups"][0]["path"], "/nowhere/" + name);
}

TEST(HmmctlPage, LoadsNothing) {
    const std::string text = described({device_fault(0, 0x200000)}).text();
    for (const char* const loads : {"src=", "@import", "url(", "fetch(", "XMLHttpRequest", "<link"})
        EXPECT_EQ(text.find(loads), std::string::npos) << loads;
    EXPECT_TRUE(mentions(text, {"default-src 'none'", "\n<!DOCTYPE html>\n<html"}));
    EXPECT_TRUE(text.ends_with("</html>\n"));
}

} // namespace
