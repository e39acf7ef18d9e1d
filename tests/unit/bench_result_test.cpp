// SPDX-License-Identifier: MIT
// The result files of hmmctl bench, the figures that it computes from them, and the script for
// gnuplot that it makes.
#include "bench_fixture.hpp"

#include "bench_plan.hpp"
#include "hmmctl_failure.hpp"
#include "json_schema.hpp"

using namespace hmmctl;

namespace {

TEST(BenchTimes, HaveAMedianAndQuartiles) {
    EXPECT_DOUBLE_EQ(times{{3}}.median(), 3);
    EXPECT_DOUBLE_EQ(times{{3}}.spread(), 0);
    EXPECT_DOUBLE_EQ((times{{4, 1}}.median()), 2.5);
    const times five{{50, 10, 40, 20, 30}};
    EXPECT_DOUBLE_EQ(five.median(), 30);
    EXPECT_DOUBLE_EQ(five.lower(), 20);
    EXPECT_DOUBLE_EQ(five.upper(), 40);
    EXPECT_DOUBLE_EQ(five.spread(), 20);
    EXPECT_DOUBLE_EQ((times{{1, 2, 3, 4}}.lower()), 1.75);
}

TEST(BenchTimes, UntilTheResultAreOfTheSameRepeat) {
    bench_case of = case_of("triad", "prefetch", {});
    of.move_in.samples = {1, 10, 100};
    of.kernel.samples = {3, 2, 1};
    EXPECT_EQ(of.until_result().samples, (std::vector<double>{4, 12, 101}));
}

TEST(BenchResult, IsTheSameAfterItsJson) {
    const bench_result before = scaled_result();
    const json answer = {{"schema", json_schema}, {"bench", to_json(before)}};
    EXPECT_EQ(to_json(bench_result_from(answer)), to_json(before));
    EXPECT_EQ(what_is_wrong_with(answer, "answer_of_bench"), "");
    const json& one = answer["bench"]["cases"][0];
    EXPECT_EQ(one["verified"], true);
    EXPECT_EQ(one["kernel"]["median"], 2.0);
}

TEST(BenchResult, IsRefusedIfItIsNone) {
    const json good = {{"schema", json_schema}, {"bench", to_json(scaled_result())}};
    const auto refused = [&](const char* pointer, const json& value) {
        json bad = good;
        bad[json::json_pointer(pointer)] = value;
        EXPECT_THROW(bench_result_from(bad), failure) << pointer;
    };
    EXPECT_NO_THROW(bench_result_from(good));
    refused("/schema", json_schema + 1);
    refused("/bench", 1);
    refused("/bench/cases", "x");
    refused("/bench/device", nullptr);
    refused("/bench/cases/0/pattern", 1);
    refused("/bench/cases/0/kernel", nullptr);
    refused("/bench/cases/0/kernel/samples", json::array());
    refused("/bench/cases/0/kernel/samples", json{1.0, 2.0});
    refused("/bench/cases/0/kernel/samples/0", -1.0);
    refused("/bench/cases/0/counts/device_faults", "many");
    refused("/bench/peers/0/operations", 0);
    refused("/bench/peers/0/taken/samples", json::array());
    refused("/bench/peers/1/unavailable", "");
    refused("/bench/clock", 1);
    refused("/bench/scaling", "x");
    refused("/bench/scaling/0/count", 0);
    refused("/bench/scaling/0/pages", 0);
    refused("/bench/scaling/0/taken/samples", json::array());
}

TEST(BenchResult, OfAnEarlierVersionHasTimesAndNoScaling) {
    json of = to_json(scaled_result());
    of.erase("clock");
    of.erase("scaling");
    const bench_result result = bench_result_from({{"schema", json_schema}, {"bench", of}});
    EXPECT_EQ(result.clock, "time");
    EXPECT_TRUE(result.scaling.empty());
}

TEST(BenchResult, HasThroughputAndSpeedup) {
    const json of = to_json(scaled_result())["scaling"];
    EXPECT_DOUBLE_EQ(of[0]["pages_per_second"].get<double>(), 1000 / 0.5);
    EXPECT_DOUBLE_EQ(of[0]["speedup"].get<double>(), 1);
    EXPECT_DOUBLE_EQ(of[1]["pages_per_second"].get<double>(), 2000 / 0.8);
    EXPECT_DOUBLE_EQ(of[1]["speedup"].get<double>(), 1.25);
    bench_result several = scaled_result();
    several.scaling.erase(several.scaling.begin()); // drops the baseline
    EXPECT_TRUE(to_json(several)["scaling"][0]["speedup"].is_null());
    EXPECT_EQ(what_is_wrong_with(to_json(several), "result"), "");
}

TEST(BenchResult, ThatCannotBeReadSaysWhy) {
    EXPECT_TRUE(mentions(failure_of([] { read_bench_result("/proc/no-such-file"); }),
                         {"/proc/no-such-file"}));
}

TEST(BenchPlan, IsTheSameAfterItsJson) {
    const bench_plan plan = {{"triad"}, {"copy", "faults"}, {"storm"}, {0.5, 2}, "huge", 7,
                             true,      {"lanes"}};
    EXPECT_EQ(to_json(plan_from(to_json(plan))), to_json(plan));
    EXPECT_THROW(plan_from(json::object()), json::exception);
}

TEST(BenchComparison, MarksWhatIsLargerThanTheSpread) {
    bench_result before = some_result(), after = some_result();
    before.peers.clear();
    before.cases = {case_of("triad", "copy", {10, 11, 12}), case_of("bfs", "copy", {10, 11, 12}),
                    case_of("atax", "copy", {10, 11, 12}), case_of("gemm", "copy", {10, 11, 12})};
    after.cases = {case_of("triad", "copy", {11, 12, 13}), case_of("bfs", "copy", {12, 13, 14}),
                   case_of("atax", "copy", {4, 5, 6}), case_of("gemm", "copy", {4, 5, 20})};
    after.peers.clear();
    const bench_comparison found = compare(before, after);
    ASSERT_EQ(found.common.size(), 4u);
    EXPECT_FALSE(found.common[0].is_clear()); // 1 with a spread of 1
    EXPECT_TRUE(found.common[1].is_clear());
    EXPECT_TRUE(found.common[2].is_clear());
    EXPECT_FALSE(found.common[3].is_clear()); // 6 with a spread of 8
    EXPECT_DOUBLE_EQ(found.common[1].ratio(), 13.0 / 11);
    const std::string text = text_of(found);
    EXPECT_TRUE(mentions(text, {"slower", "faster"}));
    EXPECT_EQ(to_json(found)["common"][2]["clear"], true);
    EXPECT_EQ(what_is_wrong_with(to_json(found), "comparison"), "");
}

TEST(BenchComparison, MarksNothingIfThereAreTooFewSamplesForASpread) {
    bench_result before = some_result(), after = some_result();
    before.cases = {case_of("triad", "copy", {10}), case_of("bfs", "copy", {10, 10, 10})};
    after.cases = {case_of("triad", "copy", {20}), case_of("bfs", "copy", {20, 20})};
    for (const bench_difference& one : compare(before, after).common)
        EXPECT_FALSE(one.is_clear()) << one.pattern;
}

TEST(BenchComparison, HasPeersThatBothCouldMeasure) {
    bench_result before = some_result(), after = some_result();
    before.cases.clear();
    after.cases.clear();
    before.peers = {{"memcpy", 10, {{1}}, ""}, {"storm", 10, {{1}}, ""}, {"launch", 10, {{1}}, ""}};
    after.peers = {{"memcpy", 10, {{2}}, ""}, {"storm", 11, {{1}}, ""}, {"launch", 0, {}, "none"}};
    const bench_comparison found = compare(before, after);
    ASSERT_EQ(found.common.size(), 1u);
    EXPECT_EQ(found.common[0].transfer, "memcpy");
    EXPECT_DOUBLE_EQ(found.common[0].ratio(), 2);
    EXPECT_EQ(found.only_before, 2u);
    EXPECT_EQ(found.only_after, 1u);
}

TEST(BenchComparison, HasScalingWithAsManyPages) {
    bench_result before = scaled_result(), after = scaled_result();
    before.cases.clear();
    after.cases.clear();
    before.peers.clear();
    after.peers.clear();
    after.scaling[0].taken.samples = {1};
    after.scaling[1].pages *= 2;
    const bench_comparison found = compare(before, after);
    ASSERT_EQ(found.common.size(), 1u);
    EXPECT_EQ(found.common[0].pattern, "");
    EXPECT_EQ(found.common[0].transfer, "storm by 1 lanes");
    EXPECT_DOUBLE_EQ(found.common[0].ratio(), 2);
    EXPECT_EQ(found.only_before, 1u);
    EXPECT_EQ(found.only_after, 1u);
}

TEST(BenchComparison, SeesAnotherClock) {
    bench_result before = some_result(), after = some_result();
    EXPECT_TRUE(compare(before, after).same_machine);
    after.clock = clock_of_instructions;
    EXPECT_FALSE(compare(before, after).same_machine);
}

TEST(BenchComparison, CountsWhatTheOtherLacks) {
    bench_result before = some_result(), after = some_result();
    before.cases.push_back(case_of("bfs", "copy", {1}));
    after.cases[1].bytes *= 2; // other data
    before.peers.clear();
    after.peers.clear();
    const bench_comparison found = compare(before, after);
    ASSERT_EQ(found.common.size(), 1u);
    EXPECT_EQ(found.common[0].transfer, "prefetch");
    EXPECT_EQ(found.only_before, 2u);
    EXPECT_EQ(found.only_after, 1u);
}

TEST(BenchText, HasRatiosToPrefetchAndToTheCpu) {
    bench_result result = some_result();
    result.cases = {case_of("triad", "cpu", {1, 1, 1}), case_of("triad", "prefetch", {2, 2, 2}),
                    case_of("triad", "faults", {3, 3, 3})};
    const std::string text = text_of(result);
    EXPECT_TRUE(mentions(text, {"1.50    3.00"}));
}

TEST(BenchText, HasPeersAndWhyOthersAreMissing) {
    bench_result result = some_result();
    result.peers.push_back({"uffd-copy", 1000, {{0.018}}, ""});
    const std::string text = text_of(result);
    EXPECT_TRUE(mentions(text, {"18.000   0.000      4.00", "\nuffd-move: too old\n"}));
    EXPECT_EQ(text.find("SPEEDUP"), std::string::npos) << text;
    result.device.simulated = false; // then there is no storm
    EXPECT_EQ(text_of(result).find("4.00"), std::string::npos) << text;
}

TEST(BenchText, HasScalingAndTheClock) {
    bench_result result = scaled_result();
    EXPECT_TRUE(mentions(text_of(result), {"2000     2500       0     1.25\n", "times in ms\n"}));
    result.clock = clock_of_instructions;
    EXPECT_TRUE(mentions(text_of(result), {"times in ms of 1000000 instructions\n"}));
}

// ---- the script for gnuplot

/// The lines of a block of data of a script.
std::string block_of(const std::string& script, const std::string& name) {
    const std::string begin = "$" + name + " << END\n";
    const std::size_t at = script.find(begin);
    if (at == std::string::npos) return "no block " + name;
    const std::size_t from = at + begin.size();
    return script.substr(from, script.find("END\n", from) - from);
}

TEST(BenchPlot, HasRatiosToPrefetchAndQuartiles) {
    const std::string script = plot_script(some_result(), plot_format::svg);
    EXPECT_EQ(block_of(script, "cases0"), "\"triad\" 1 0.75 1.25 1.5 1.25 1.75\n");
    EXPECT_TRUE(
        mentions(script, {"time / time with prefetch", "using 2:3:4:xtic(1) title 'prefetch'",
                          "using 5:6:7 title 'faults'"}));
}

TEST(BenchPlot, HasTimesIfAPatternHasNoPrefetch) {
    bench_result result = some_result();
    result.cases.push_back(case_of("list", "faults", {0.5}));
    const std::string script = plot_script(result, plot_format::svg);
    EXPECT_EQ(block_of(script, "cases0"), "\"triad\" 2000 1500 2500 3000 2500 3500\n"
                                          "\"list\" - - - 500 500 500\n");
    EXPECT_TRUE(mentions(script, {"time [ms]"}));
}

TEST(BenchPlot, NamesTheClock) {
    bench_result result = scaled_result();
    EXPECT_TRUE(mentions(plot_script(result, plot_format::svg), {"set ylabel 'time [us]'"}));
    result.clock = clock_of_instructions;
    result.device.lanes = 1;
    const std::string script = plot_script(result, plot_format::svg);
    EXPECT_TRUE(
        mentions(script, {"set ylabel 'instructions / those with prefetch'",
                          "set ylabel 'thousands of instructions'",
                          "set ylabel 'pages / 1000000000 instructions'", ", 1 lane, Linux"}));
    EXPECT_FALSE(mentions(script, {"time"}));
}

TEST(BenchPlot, HasAPanelForEachFootprintAndThePeers) {
    bench_result result = some_result();
    result.cases.push_back(case_of("triad", "prefetch", {4}));
    result.cases.back().footprint = 1.5;
    const std::string script = plot_script(result, plot_format::png);
    EXPECT_TRUE(mentions(script, {"set terminal pngcairo ", "set multiplot layout 3,1 "}));
    EXPECT_EQ(block_of(script, "cases1"), "\"triad\" 1 1 1\n");
    EXPECT_EQ(block_of(script, "peers"), "0 \"storm\" 4.5 4.25 4.75\n");
}

TEST(BenchPlot, HasAPanelForScaling) {
    bench_result result = scaled_result();
    result.cases.clear();
    const std::string script = plot_script(result, plot_format::svg);
    EXPECT_TRUE(mentions(script, {"set multiplot layout 2,1 "}));
    EXPECT_EQ(block_of(script, "scaling"), "0 \"storm by 1 lanes\" 2000 2000 2000\n"
                                           "1 \"storm by 2 lanes\" 2500 2500 2500\n");
}

/// Names are data, never gnuplot commands.
TEST(BenchPlot, QuotesNames) {
    bench_result result = some_result();
    result.device.name = "it's `reboot`\n";
    EXPECT_TRUE(
        mentions(plot_script(result, plot_format::svg), {"title 'it''s `reboot`? (256 MiB)"}));
}

TEST(BenchPlot, KeepsNamesInsideTheirBlock) {
    bench_result result = some_result();
    result.cases = {case_of("\"\nEND\nreboot", "prefetch", {1})};
    result.peers[0].name = "END\n";
    const std::string script = plot_script(result, plot_format::svg);
    EXPECT_EQ(block_of(script, "cases0"), "\"??END?reboot\" 1 1 1\n");
    EXPECT_TRUE(mentions(script, {"$peers << END\n0 \"END?\" 4.5 4.25 4.75\nEND\n"}));
}

TEST(BenchPlot, OfNothingIsAFailure) {
    bench_result result = some_result();
    result.cases.clear();
    EXPECT_NO_THROW(plot_script(result, plot_format::svg));
    result.peers.erase(result.peers.begin());
    EXPECT_THROW(plot_script(result, plot_format::svg), failure);
}

} // namespace
