// SPDX-License-Identifier: MIT
// The script for gnuplot that hmmctl bench makes from a result.
#include "bench_fixture.hpp"
#include "messages.hpp"

#include "bench_plan.hpp"
#include "failure.hpp"

namespace {

using namespace hmmctl;

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
