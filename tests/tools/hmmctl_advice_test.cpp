// SPDX-License-Identifier: MIT
// A profile's advice is right: a program that makes the suggested calls, and is otherwise
// unchanged, saves as many faults as the profile predicted, and no longer gets that advice. We
// leave out fault_latency, because it depends on the machine's speed.
#include "advised.hpp"
#include "hmmctl_run.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace {

using nlohmann::json;
using words = std::vector<std::string>;

/// The predicted savings are an estimate: after the advice, a processor's first access can cause an
/// extra fault, because pages have to move to the advised place.
constexpr double least_saved_share = 0.9;

struct expectation {
    const char* program_case;
    const char* kind;
    std::size_t bytes;
    std::set<std::string> calls, other_calls; ///< without ranges
};

std::ostream& operator<<(std::ostream& out, const expectation& of) {
    return out << of.program_case;
}

json profile_of(const std::string& program_case, const words& calls) {
    words arguments = {"profile", "--json", "--", ADVISED, program_case};
    arguments.insert(arguments.end(), calls.begin(), calls.end());
    const result found = run_hmmctl(arguments);
    EXPECT_EQ(found.status, 0) << found.err;
    const json profile = answer_in(found.out, "profile").value("profile", json::object());
    EXPECT_EQ(profile.value("dropped_events", 1), 0);
    return profile;
}

/// Suggestions for the program's test memory. The runtime's own memory is elsewhere.
std::vector<json> suggestions_of(const json& profile) {
    std::vector<json> found;
    for (const json& one : profile.value("suggestions", json::array()))
        if (const std::uint64_t addr = one["addr"]; addr >> 32 == advised_memory >> 32)
            found.push_back(one);
    return found;
}

std::uint64_t faults_of(const json& profile) {
    for (const json& one : profile.value("names", json::array()))
        if (one["name"] == advised_name)
            return one["device_faults"].get<std::uint64_t>() +
                   one["cpu_faults"].get<std::uint64_t>();
    return 0;
}

/// Returns the calls without their ranges, such as `hmmMemPrefetchAsync(0);`.
std::set<std::string> shapes_of(const words& calls, std::size_t bytes) {
    const std::string range =
        "reinterpret_cast<void*>(0x200000000000), " + std::to_string(bytes) + ", ";
    std::set<std::string> shapes;
    for (std::string call : calls) {
        const std::size_t at = call.find(range);
        EXPECT_NE(at, std::string::npos) << call << " is not about " << range;
        shapes.insert(at == std::string::npos ? call : call.erase(at, range.size()));
    }
    return shapes;
}

/// A program, its profile, and the profile's suggestions.
class advised {
  public:
    explicit advised(const char* program_case)
        : case_(program_case), before_(profile_of(case_, {})), given_(suggestions_of(before_)) {}

    /// Expects only suggestions of this kind, each for the whole range.
    void expect_suggested(const expectation& expected) const {
        for (const json& one : given_) {
            EXPECT_EQ(one["kind"], expected.kind) << one;
            EXPECT_EQ(one["addr"], advised_memory) << one;
            EXPECT_EQ(one["bytes"], expected.bytes) << one;
        }
        EXPECT_EQ(shapes_of(calls("call"), expected.bytes), expected.calls);
        EXPECT_EQ(shapes_of(calls("other_call"), expected.bytes), expected.other_calls);
    }
    words calls(const char* which) const {
        words found;
        for (const json& one : given_)
            if (!one[which].is_null()) found.push_back(one[which]);
        return found;
    }
    json profile_with(const words& calls) const { return profile_of(case_, calls); }
    void expect_saved(const words& calls) const {
        SCOPED_TRACE(calls[0]);
        const json after = profile_with(calls);
        std::uint64_t saved = 0;
        for (const json& one : given_)
            saved += one["saved_faults"].get<std::uint64_t>();
        const std::uint64_t had = faults_of(before_), has = faults_of(after);
        EXPECT_LE(saved, had);
        EXPECT_LE(static_cast<double>(has),
                  static_cast<double>(had) - least_saved_share * static_cast<double>(saved))
            << had << " faults before, " << saved << " of them to be saved";
        for (const json& one : suggestions_of(after)) // may have others for remaining faults
            EXPECT_NE(one["kind"], given_[0]["kind"]) << "it is suggested still: " << one;
    }

  private:
    std::string case_;
    json before_;
    std::vector<json> given_;
};

class Advice : public testing::TestWithParam<expectation> {};

TEST_P(Advice, SavesTheFaultsThatItSays) {
    const advised program(GetParam().program_case);
    program.expect_suggested(GetParam());
    for (const char* which : {"call", "other_call"})
        if (const words made = program.calls(which); !made.empty()) program.expect_saved(made);
}

/// A profile doesn't see stores that follow loads, so its first call is wrong.
TEST(AdviceForWhatLoadsHide, IsTheOtherCallOrComesWithTheNextProfile) {
    const advised program("written_behind_loads");
    const words call = program.calls("call"), other_call = program.calls("other_call");
    ASSERT_EQ(call.size(), 1u);
    ASSERT_EQ(other_call.size(), 1u);
    program.expect_saved(other_call);

    EXPECT_NE(call[0].find("hmmMemAdviseSetReadMostly"), std::string::npos) << call[0];
    const std::vector<json> next = suggestions_of(program.profile_with(call));
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(next[0]["kind"], "ping_pong");
    EXPECT_EQ(next[0]["call"], other_call[0]);
}

const expectation expectations[] = {
    {"ping_pong",
     "ping_pong",
     16 * page,
     {"hmmMemAdvise(hmmMemAdviseSetPreferredLocation, hmmCpuDeviceId);"},
     {"hmmMemAdvise(hmmMemAdviseSetAccessedBy, 0);"}},
    {"ping_pong_between_devices",
     "ping_pong",
     16 * page,
     {"hmmMemAdvise(hmmMemAdviseSetPreferredLocation, hmmCpuDeviceId);"},
     {}},
    {"read_by_several",
     "read_by_several",
     16 * page,
     {"hmmMemAdvise(hmmMemAdviseSetReadMostly, hmmCpuDeviceId);"},
     {"hmmMemAdvise(hmmMemAdviseSetPreferredLocation, hmmCpuDeviceId);"}},
    {"sequential_faults",
     "sequential_faults",
     12 * advised_block,
     {"hmmMemPrefetchAsync(0);", "hmmMemPrefetchAsync(hmmCpuDeviceId);"},
     {}},
    {"oversubscription",
     "oversubscription",
     4 * advised_block,
     {"hmmMemAdvise(hmmMemAdviseSetPreferredLocation, hmmCpuDeviceId);"},
     {"hmmMemAdvise(hmmMemAdviseSetAccessedBy, 0);"}},
};

INSTANTIATE_TEST_SUITE_P(Of, Advice, testing::ValuesIn(expectations),
                         [](const auto& of) { return std::string(of.param.program_case); });

} // namespace
