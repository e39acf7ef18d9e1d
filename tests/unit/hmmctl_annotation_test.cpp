// SPDX-License-Identifier: MIT
// Annotations: which name an address has, and which faults belong to a section.
#include "hmmctl_report.hpp"

#include "annotations.hpp"

using namespace hmmctl;

namespace {

constexpr std::uint32_t page = 4096;

memory_names names_of(const std::vector<hmmrt_event>& events) {
    memory_names names;
    for (const hmmrt_event& event : events)
        names.add(event, page);
    return names;
}

/// The names of pages 0 to 7, one letter each; `-` is a page without a name.
std::string letters(const memory_names& names) {
    std::string all;
    for (std::uint64_t i = 0; i < 8; i++) {
        const std::string name = names.at(tested_space, i * page);
        all += name.empty() ? "-" : name;
    }
    return all;
}

TEST(HmmctlNames, ReplaceThoseThatTheRangeHad) {
    const auto a = name_of_memory(page, 6, "a");
    EXPECT_EQ(letters(names_of({})), "--------");
    EXPECT_EQ(letters(names_of({a})), "-aaaaaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(3 * page, 2, "b")})), "-aabbaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(0, 2, "b")})), "bbaaaaa-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(5 * page, 3, "b")})), "-aaaabbb");
    EXPECT_EQ(letters(names_of({a, name_of_memory(page, 6, "b")})), "-bbbbbb-");
    EXPECT_EQ(letters(names_of({a, name_of_memory(0, 8, "b")})), "bbbbbbbb");
    EXPECT_EQ(letters(names_of({a, name_of_memory(2 * page, 3, "")})), "-a---aa-");
    EXPECT_EQ(
        letters(names_of({a, name_of_memory(3 * page, 1, "b"), name_of_memory(5 * page, 1, "c"),
                          name_of_memory(2 * page, 4, "d")})),
        "-adddda-");
}

TEST(HmmctlNames, BeginAtTheirFirstByteAndEndWithTheirLastPage) {
    const memory_names names = names_of({name_of_memory(page + 8, 2, "a")});
    EXPECT_EQ(names.at(tested_space, page + 7), "");
    EXPECT_EQ(names.at(tested_space, page + 8), "a");
    EXPECT_EQ(names.at(tested_space, 3 * page - 1), "a");
    EXPECT_EQ(names.at(tested_space, 3 * page), "");
    EXPECT_EQ(names.at(tested_space + 1, page + 8), "") << "of another space";
}

TEST(HmmctlNames, ShareAPage) {
    const auto low = name_of_memory(page + 8, 2, "low"),
               high = name_of_memory(2 * page + 64, 1, "high");
    for (const memory_names& names : {names_of({low, high}), names_of({high, low})}) {
        EXPECT_EQ(names.at(tested_space, page), "low") << "a fault of the CPU on its first page";
        EXPECT_EQ(names.at(tested_space, 2 * page), "low");
        EXPECT_EQ(names.at(tested_space, 2 * page + 63), "low");
        EXPECT_EQ(names.at(tested_space, 2 * page + 64), "high");
    }
    const memory_names small = names_of({name_of_memory(page + 64, 1, "small")});
    EXPECT_EQ(small.at(tested_space, page), "small");
    EXPECT_EQ(small.at(tested_space, page + 63), "");
}

TEST(HmmctlNames, OfDamagedEventsHarmNothing) {
    EXPECT_EQ(letters(names_of({name_of_memory(page, 1ull << 52, "a"), name_of_memory(page, 0, "b"),
                                name_of_memory(~0ull, ~0ull, "c"), name_of_memory(page, 1, "d")})),
              "-d------");
}

hmmrt_event at(hmmrt_event event, std::uint64_t time, std::uint64_t duration = 0) {
    event.time = time;
    event.duration = duration;
    return event;
}

TEST(HmmctlAnnotations, CountTheFaultsOfNamedMemory) {
    hmmrt_event cpu = event_of(HMMRT_EVENT_CPU_FAULT);
    cpu.addr = page;
    const profiled of({device_fault(0, page), name_of_memory(0, 2, "early"),
                       device_fault(0, page, 0x10), device_fault(0, page, 0x10),
                       name_of_memory(page, 1, "late"), device_fault(0, page, 0x10), cpu,
                       device_fault(0, 8 * page, 0x20)});
    const json found = to_json(of.what());
    EXPECT_EQ(what_is_wrong_with(found, "profile"), "");
    ASSERT_EQ(found["names"].size(), 2u);
    EXPECT_TRUE(has_fields(found["names"][0], R"({
        "name": "early", "pid": 1234, "device_faults": 2, "cpu_faults": 0, "nanoseconds": 1400})"));
    EXPECT_TRUE(
        has_fields(found["names"][1], R"({"name": "late", "device_faults": 1, "cpu_faults": 1})"));
    ASSERT_EQ(found["code"].size(), 2u);
    EXPECT_EQ(found["code"][0]["memory"], "early") << "two of three faults";
    EXPECT_EQ(found["code"][1]["memory"], "");
}

TEST(HmmctlAnnotations, CountTheFaultsInEachSection) {
    hmmrt_event other = at(device_fault(0, 0), 150);
    other.space++;
    const profiled of({at(device_fault(0, 0), 99), at(device_fault(0, 0), 200),
                       at(device_fault(0, 0), 100), other, at(device_fault(0, 0), 201),
                       at(annotation(HMMRT_EVENT_SECTION, "step"), 200, 100),
                       at(annotation(HMMRT_EVENT_SECTION, "step"), 300, 60),
                       at(annotation(HMMRT_EVENT_SECTION, "all"), 400, 399)});
    const json profile = to_json(of.what()), found = profile["sections"];
    EXPECT_EQ(what_is_wrong_with(profile, "profile"), "");
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(has_fields(
        found[0], R"({"name": "all", "count": 1, "nanoseconds": 399, "device_faults": 4})"));
    EXPECT_TRUE(has_fields(
        found[1], R"({"name": "step", "count": 2, "nanoseconds": 160, "device_faults": 2})"))
        << "with the faults at its first and at its last moment";
}

TEST(HmmctlAnnotations, AreInTheTextWithoutWhatControlsATerminal) {
    const profiled of({name_of_memory(0, 1, "gr\x1b[2Jid"), device_fault(0, 0, 0x10),
                       at(annotation(HMMRT_EVENT_SECTION, "so\nlve"), 300, 60)});
    const std::string text = text_of(of.what());
    EXPECT_TRUE(mentions(text, {"Named memory with the most faults", "gr?[2Jid", "so?lve"}));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    const std::string none = text_of(profiled({device_fault(0, 0, 0x10)}).what());
    EXPECT_EQ(none.find("Named memory"), std::string::npos) << none;
    EXPECT_EQ(none.find("Sections"), std::string::npos) << none;
}

trace some_trace() {
    trace of;
    of.events = {at(annotation(HMMRT_EVENT_SECTION, "so,l\"ve"), 3000, 1000),
                 at(annotation(HMMRT_EVENT_MARK, "here"), 4000),
                 at(name_of_memory(page, 2, "grid"), 5000)};
    return of;
}

TEST(HmmctlAnnotations, AreSlicesOfAChromeTrace) {
    const json found = json::parse(exported(export_chrome, some_trace()))["traceEvents"];
    ASSERT_EQ(found.size(), 3u);
    EXPECT_TRUE(has_fields(found[0], R"({"ph": "X", "name": "so,l\"ve", "ts": 2, "dur": 1})"));
    EXPECT_TRUE(has_fields(found[1], R"({"ph": "i", "name": "here"})"));
    EXPECT_TRUE(has_fields(found[2], R"({"name": "name", "args": {"text": "grid"}})"));
}

TEST(HmmctlAnnotations, AreTextsOfOtherFormats) {
    const json answer = json::parse(exported(export_json, some_trace())), found = answer["events"];
    EXPECT_EQ(what_is_wrong_with(answer, "answer_of_trace_export"), "");
    EXPECT_TRUE(has_fields(found[0], R"({"type": "section", "text": "so,l\"ve"})"));
    EXPECT_EQ(found[1]["type"], "mark");
    EXPECT_TRUE(has_fields(found[2], R"({"type": "name", "pages": 2})"));
    EXPECT_TRUE(mentions(exported(export_csv, some_trace()), {",\"so,l\"\"ve\"\n"}));
}

} // namespace
