// SPDX-License-Identifier: MIT
// Knobs, quotas, statistics and annotations: their scopes, the requests to the modules, and
// refused values.
#include "memory_fixture.hpp"

#include <cstring>

namespace {

// ---- knobs

class Knob : public MemoryOverFakes {
  protected:
    static constexpr hmmKnobScope process = {hmmKnobScopeTypeProcess, nullptr, 0};
    static constexpr hmmKnobScope device = {hmmKnobScopeTypeDevice, nullptr, 0};

    /// The call fails, and the text has all of these @parts.
    static void expect_refused(hmmError_t code, std::initializer_list<std::string_view> parts,
                               hmmError_t result) {
        EXPECT_EQ(result, code) << hmmGetLastErrorDetail();
        EXPECT_TRUE(mentions(hmmGetLastErrorDetail(), parts));
    }

    const hmm::knob threshold_ = hmm::knob("prefetch_threshold");
};

TEST_F(Knob, SaysWhatItIs) {
    const hmmKnob found = threshold_.get();
    EXPECT_STREQ(found.name, "prefetch_threshold");
    EXPECT_EQ(found.value, 51u);
    EXPECT_EQ(found.minimum, 1u);
    EXPECT_EQ(found.maximum, 100u);
    EXPECT_EQ(found.defaultValue, 51u);
    EXPECT_EQ(found.scopes,
              unsigned(hmmKnobScopeTypeDevice) | hmmKnobScopeTypeProcess | hmmKnobScopeTypeRange);
}

TEST_F(Knob, UnknownToThisLibraryIsFoundByNameOfAnyLength) {
    for (int i = 0; i < HMMRT_KNOBS; i++)
        kernel.policy.knobs.push_back({"new_" + std::to_string(i), 0, 9, 7, 7, {}});
    int count = 0;
    ASSERT_EQ(hmmKnobGetCount(&count), hmmSuccess);
    EXPECT_EQ(count, 3 + HMMRT_KNOBS);
    const std::string last = "new_" + std::to_string(HMMRT_KNOBS - 1);
    EXPECT_EQ(hmm::knobs().back().name, last);
    EXPECT_EQ(hmm::knob(last).get().value, 7u);
    const std::string longest(HMMRT_KNOB_NAME_LEN - 1, 'x');
    kernel.policy.knobs.push_back({longest, 0, 9, 7, 7, {}});
    EXPECT_EQ(hmm::knob(longest).get().name, longest);
}

TEST_F(Knob, IsSetAndResetInItsScopeAlone) {
    threshold_.set(10, hmm::device(1));
    threshold_.set(20);
    threshold_.set(30, memory().subspan(1, page));
    const auto& changes = kernel.policy.knob_changes;
    ASSERT_EQ(changes.size(), 3u);
    EXPECT_EQ(changes[0].scope, std::uint32_t(HMMRT_SCOPE_DEVICE));
    EXPECT_EQ(changes[0].device_id, 2u) << "the id of device 1";
    EXPECT_EQ(changes[1].scope, std::uint32_t(HMMRT_SCOPE_SPACE));
    EXPECT_EQ(changes[1].addr, 0u);
    EXPECT_EQ(changes[2].scope, std::uint32_t(HMMRT_SCOPE_RANGE));
    EXPECT_EQ(changes[2].addr, address());
    EXPECT_EQ(changes[2].len, 2 * page);
    EXPECT_EQ(threshold_.get(hmm::device(0)).value, 51u);
    EXPECT_EQ(threshold_.get(hmm::device(1)).value, 10u);
    EXPECT_EQ(threshold_.get().value, 20u);
    EXPECT_EQ(threshold_.get(memory()).value, 30u);
    EXPECT_EQ(hmm::current_device(), hmm::device(0));
    threshold_.reset(memory());
    EXPECT_EQ(threshold_.get(memory()).value, 20u);
    threshold_.reset();
    hmm::set_device(hmm::device(1));
    EXPECT_EQ(threshold_.get(memory()).value, 10u) << "of the current device";
    threshold_.reset(hmm::device(1));
    EXPECT_EQ(threshold_.get(memory()).value, 51u);
}

TEST_F(Knob, OfNoMemoryIsLeftAlone) {
    threshold_.set(30, memory().first(0));
    threshold_.reset(memory().first(0));
    EXPECT_TRUE(kernel.policy.knob_changes.empty());
    threshold_.set(20);
    EXPECT_EQ(threshold_.get(memory().first(0)).value, 20u);
}

TEST_F(Knob, ThatDoesNotExistIsRefused) {
    hmmKnob found;
    expect_refused(hmmErrorInvalidValue, {"unknown knob", "'prefetch_thresh'"},
                   hmmKnobGet(&found, "prefetch_thresh", process));
    expect_refused(hmmErrorInvalidValue, {"unknown knob", "''"}, hmmKnobSet("", 1, process));
    expect_refused(hmmErrorInvalidValue, {"name is NULL"}, hmmKnobReset(nullptr, process));
    EXPECT_EQ(hmmKnobGetByIndex(&found, -1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobGetByIndex(&found, 3), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobGetByIndex(&found, 2), hmmSuccess);
    EXPECT_THROW(static_cast<void>(hmm::knob("nothing").get()), hmm::error);
}

TEST_F(Knob, ValueOutOfItsBoundsIsRefused) {
    for (const unsigned wrong : {0u, 101u, ~0u})
        expect_refused(hmmErrorInvalidValue, {"prefetch_threshold", "from 1 to 100"},
                       hmmKnobSet("prefetch_threshold", wrong, process));
    for (const unsigned good : {1u, 100u})
        EXPECT_EQ(hmmKnobSet("prefetch_threshold", good, process), hmmSuccess);
}

TEST_F(Knob, ScopeThatItDoesNotHaveIsRefused) {
    hmmKnob found;
    expect_refused(hmmErrorInvalidValue, {"oversubscription", "scope"},
                   hmmKnobSet("oversubscription", 0, process));
    EXPECT_EQ(hmmKnobGet(&found, "oversubscription", process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobSet("oversubscription", 0, device), hmmSuccess);
    for (const int none : {0, 3, 7})
        expect_refused(
            hmmErrorInvalidValue, {"unknown scope"},
            hmmKnobReset("prefetch_threshold", {static_cast<hmmKnobScopeType>(none), nullptr, 0}));
}

TEST_F(Knob, ErrorsOfTheKernelAreTold) {
    kernel.policy.knob_change_error = EPERM;
    expect_refused(hmmErrorNotPermitted, {"CAP_SYS_ADMIN"},
                   hmmKnobSet("prefetch_threshold", 1, device));
    EXPECT_EQ(threshold_.get(hmm::device(0)).value, 51u) << "reading is allowed";
    kernel.policy.knob_change_error = ENODEV;
    EXPECT_EQ(hmmKnobReset("prefetch_threshold", device), hmmErrorInvalidDevice);
    kernel.policy.knob_change_error = ENOMEM;
    EXPECT_EQ(hmmKnobSet("prefetch_threshold", 1, process), hmmErrorMemoryAllocation);
}

TEST_F(Knob, CallsLeaveNoFileOpen) {
    threshold_.set(20); // creates the space
    const int before = kernel.open_files;
    threshold_.set(10, hmm::device(0));
    threshold_.set(20, memory());
    EXPECT_EQ(hmm::knobs().size(), 3u);
    EXPECT_EQ(hmmKnobSet("nothing", 1, process), hmmErrorInvalidValue);
    EXPECT_EQ(kernel.open_files, before);
}

// ---- quotas

class Quota : public MemoryOverFakes {
  protected:
    static constexpr hmmQuotaScope process = {hmmQuotaScopeTypeProcess, 77};

    static const hmmrt_quota& last() { return kernel.policy.quotas.back(); }
};

TEST_F(Quota, SaysWhatMayBeHadAndIs) {
    const hmmQuota found = hmm::quota(hmm::device(0)).get();
    EXPECT_EQ(found.limit, hmmQuotaNoLimit);
    EXPECT_EQ(found.priority, hmmQuotaPriorityDefault);
    EXPECT_EQ(found.used, 1u << 20);
    EXPECT_EQ(found.evicted, 2u << 20);
    EXPECT_EQ(found.refused, 3u);
}

TEST_F(Quota, OfTheProcessIsOnADeviceThatIsStartedWhateverTheCgroup) {
    const int before = kernel.agents_started;
    const hmm::quota mine(hmm::device(1));
    mine.set(8 * page, 5);
    EXPECT_EQ(kernel.agents_started, before + 1);
    EXPECT_EQ(last().scope, std::uint32_t(HMMRT_QUOTA_OF_SPACE));
    EXPECT_EQ(last().device_id, 2u) << "the id of device 1";
    EXPECT_EQ(last().limit_bytes, 8 * page);
    EXPECT_EQ(last().priority, 5u);
    EXPECT_EQ(mine.get().limit, 8 * page);
    EXPECT_EQ(hmm::current_device(), hmm::device(0));
    hmmQuota found;
    EXPECT_EQ(hmmQuotaGet(&found, process), hmmSuccess);
    EXPECT_EQ(last().cgroup_fd, 0);
}

TEST_F(Quota, OfACgroupStartsNothing) {
    const int agents = kernel.agents_started, files = kernel.open_files;
    const hmm::quota group(hmm::cgroup(42), hmm::device(1));
    group.set(hmmQuotaNoLimit, hmmQuotaPriorityMax);
    EXPECT_EQ(last().scope, std::uint32_t(HMMRT_QUOTA_OF_CGROUP));
    EXPECT_EQ(last().cgroup_fd, 42);
    EXPECT_EQ(last().device_id, 2u);
    EXPECT_EQ(last().limit_bytes, HMMRT_QUOTA_NO_LIMIT);
    EXPECT_EQ(last().priority, std::uint32_t(HMMRT_PRIORITY_MAX));
    EXPECT_EQ(group.get().priority, hmmQuotaPriorityMax);
    EXPECT_EQ(kernel.agents_started, agents);
    EXPECT_EQ(kernel.open_files, files);
}

TEST_F(Quota, WrongArgumentsAreRefused) {
    for (const std::size_t wrong : {std::size_t(1), page - 1, page + 1, hmmQuotaNoLimit - 1})
        EXPECT_EQ(hmmQuotaSet(wrong, 1, process), hmmErrorInvalidValue) << wrong;
    EXPECT_EQ(hmmQuotaSet(0, hmmQuotaPriorityMax + 1, process), hmmErrorInvalidValue);
    for (const int none : {0, 3})
        EXPECT_EQ(hmmQuotaSet(0, 0, {static_cast<hmmQuotaScopeType>(none), 0}),
                  hmmErrorInvalidValue);
    EXPECT_TRUE(kernel.policy.quotas.empty());
    EXPECT_EQ(hmmQuotaSet(0, 0, process), hmmSuccess);
}

TEST_F(Quota, ErrorsOfTheKernelAreTold) {
    const struct {
        int error;
        hmmError_t code;
    } meanings[] = {{EPERM, hmmErrorNotPermitted},      {EBADF, hmmErrorInvalidValue},
                    {EOPNOTSUPP, hmmErrorNotSupported}, {ENODEV, hmmErrorInvalidDevice},
                    {ENOMEM, hmmErrorMemoryAllocation}, {ENOTTY, hmmErrorInsufficientDriver}};
    for (const auto& [error, code] : meanings) {
        kernel.policy.quota_error = error;
        EXPECT_EQ(hmmQuotaSet(0, 0, {hmmQuotaScopeTypeCgroup, 42}), code);
        EXPECT_EQ(hmmQuotaSet(0, 0, process), code);
        EXPECT_THROW(static_cast<void>(hmm::quota(hmm::device(0)).get()), hmm::error);
    }
}

// ---- statistics

class Stats : public MemoryOverFakes {
  protected:
    static bool all_zero(const hmmStats& stats) {
        const hmmStats zero = {};
        return std::memcmp(&stats, &zero, sizeof(stats)) == 0;
    }
};

TEST_F(Stats, EachCountHasItsMember) {
    run_nothing();
    const hmmStats found = hmm::stats();
    EXPECT_EQ(kernel.policy.queries.back().device_id, kernel.devices[0].id);
    EXPECT_EQ(found.launches, 1u);
    constexpr std::pair<decltype(&hmmStats::retries), std::uint64_t> members[] = {
        {&hmmStats::deviceFaults, 1},   {&hmmStats::failedFaults, 2},
        {&hmmStats::pagesMapped, 3},    {&hmmStats::pagesRemote, 4},
        {&hmmStats::pagesToDevice, 5},  {&hmmStats::pagesToHost, 6},
        {&hmmStats::cpuFaults, 7},      {&hmmStats::invalidations, 8},
        {&hmmStats::retries, 9},        {&hmmStats::duplicates, 10},
        {&hmmStats::evictions, 11},     {&hmmStats::pagesEvicted, 12},
        {&hmmStats::thrashing, 19},     {&hmmStats::throttledFaults, 20},
        {&hmmStats::thrashPins, 21},    {&hmmStats::countedMoves, 23},
        {&hmmStats::quotaRefusals, 24}, {&hmmStats::memoryRefusals, 25}};
    for (const auto& [member, value] : members)
        EXPECT_EQ(found.*member, value) << value;
    for (const std::uint64_t reserved : found.reserved)
        EXPECT_EQ(reserved, 0u);
}

TEST_F(Stats, OfADeviceThatIsNotStartedAreZeroAndStartNothing) {
    const int agents = kernel.agents_started;
    EXPECT_TRUE(all_zero(hmm::stats(hmm::device(1))));
    EXPECT_EQ(kernel.agents_started, agents);
    EXPECT_TRUE(kernel.policy.queries.empty());
    EXPECT_EQ(hmm::current_device(), hmm::device(0));
}

TEST_F(Stats, LaunchesAreKernelsCopiesAndFillsUntilAReset) {
    char from[4] = "abc", to[4] = "";
    hmm::launch(1, [](std::size_t) {});
    EXPECT_EQ(hmmMemcpyAsync(to, from, sizeof(to), hmmMemcpyDefault, 0), hmmSuccess);
    EXPECT_EQ(hmmMemsetAsync(to, 0, sizeof(to), 0), hmmSuccess);
    hmm::event after;
    hmm::default_stream.record(after);
    hmm::synchronize();
    EXPECT_EQ(hmm::stats().launches, 3u);
    hmm::reset();
    EXPECT_TRUE(all_zero(hmm::stats()));
    run_nothing();
    EXPECT_EQ(hmm::stats().launches, 1u);
}

TEST_F(Stats, ErrorsOfTheKernelAreTold) {
    run_nothing();
    hmmStats found;
    kernel.policy.stats_error = ENOTTY;
    EXPECT_EQ(hmmGetStats(&found), hmmErrorInsufficientDriver);
    kernel.policy.stats_error = ENODEV; // a concurrent reset came first
    EXPECT_EQ(hmmGetStats(&found), hmmSuccess);
    EXPECT_TRUE(all_zero(found));
}

// ---- annotations

class Annotation : public MemoryOverFakes {
  protected:
    static const std::vector<hmmrt_annotate>& told() { return kernel.policy.annotations; }
};

TEST_F(Annotation, MarkHasItsText) {
    hmm::mark("here");
    ASSERT_EQ(told().size(), 1u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_MARK));
    EXPECT_STREQ(told()[0].text, "here");
    EXPECT_EQ(told()[0].addr, 0u);
    EXPECT_EQ(told()[0].len, 0u);
    EXPECT_EQ(told()[0].since, 0u);
}

TEST_F(Annotation, LongTextIsCutBetweenCharacters) {
    const std::string fits(HMMRT_EVENT_TEXT_BYTES - 1, 'x'), shorter = fits.substr(1);
    for (const std::string& text :
         {fits, fits + "y", shorter + "\xc3\xa9", shorter.substr(1) + "\xc3\xa9z"})
        hmm::mark(text.c_str());
    ASSERT_EQ(told().size(), 4u);
    EXPECT_EQ(told()[0].text, fits);
    EXPECT_EQ(told()[1].text, fits);
    EXPECT_EQ(told()[2].text, shorter);
    EXPECT_EQ(told()[3].text, shorter.substr(1) + "\xc3\xa9");
}

TEST_F(Annotation, TextHasNoControlCharacters) {
    hmm::mark("a\nb\x1b[2J\x7f\xc3\xa9");
    ASSERT_EQ(told().size(), 1u);
    EXPECT_STREQ(told()[0].text, "a?b?[2J?\xc3\xa9");
    hmm::mark("\x9b"
              "2J\xc2\x9b"
              "2J\xe2\x80\xa8\xed\xa0\x80\xc3");
    EXPECT_STREQ(told()[1].text, "?2J??2J???????");
}

TEST_F(Annotation, SectionIsToldAtItsEndTheInnermostFirst) {
    {
        const hmm::section outer("outer");
        const hmm::section inner("inner");
        EXPECT_TRUE(told().empty());
    }
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_SECTION));
    EXPECT_STREQ(told()[0].text, "inner");
    EXPECT_STREQ(told()[1].text, "outer");
    EXPECT_GT(told()[1].since, 0u);
    EXPECT_GE(told()[0].since, told()[1].since) << "the outer one began first";
}

TEST_F(Annotation, SectionsAreThoseOfTheThread) {
    const hmm::section here("here");
    std::thread([] { EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue); }).join();
    EXPECT_TRUE(told().empty());
}

TEST_F(Annotation, SectionsInsideOfTooManyAreNotToldAndEndAllTheSame) {
    for (int i = 0; i < 64; i++)
        ASSERT_EQ(hmmRangePush("told"), hmmSuccess);
    EXPECT_EQ(hmmRangePush("not told"), hmmErrorInvalidConfiguration);
    EXPECT_EQ(hmmRangePush("not told"), hmmErrorInvalidConfiguration);
    for (int i = 0; i < 66; i++)
        EXPECT_EQ(hmmRangePop(), hmmSuccess);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue);
    ASSERT_EQ(told().size(), 64u);
    for (const hmmrt_annotate& each : told())
        EXPECT_STREQ(each.text, "told");
}

void recurse(int depth) {
    if (depth == 0) return;
    const hmm::section each("told");
    recurse(depth - 1);
}

TEST_F(Annotation, SectionsOfARecursionEndInTheirOrder) {
    recurse(66);
    EXPECT_EQ(told().size(), 64u);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue) << "none is left";
    forget_errors();
}

TEST_F(Annotation, NameHasTheBytesOfItsMemory) {
    hmm::name(memory().subspan(3, 7), "grid");
    EXPECT_EQ(hmmMemSetName(memory().data(), 1, nullptr), hmmSuccess);
    hmm::name(std::vector<int>(), "nothing");
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_NAME));
    EXPECT_EQ(told()[0].addr, address(3));
    EXPECT_EQ(told()[0].len, 7u);
    EXPECT_STREQ(told()[0].text, "grid");
    EXPECT_STREQ(told()[1].text, "");
}

TEST_F(Annotation, WithoutATextIsRefused) {
    for (const char* none : {static_cast<const char*>(nullptr), ""}) {
        EXPECT_EQ(hmmMark(none), hmmErrorInvalidValue);
        EXPECT_EQ(hmmRangePush(none), hmmErrorInvalidValue);
    }
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue) << "none has begun";
    EXPECT_TRUE(told().empty());
}

TEST_F(Annotation, ErrorsOfTheKernelAreToldAndTheSectionHasEnded) {
    kernel.policy.annotation_error = ENOTTY;
    EXPECT_EQ(hmmMark("here"), hmmErrorInsufficientDriver);
    EXPECT_EQ(hmmRangePush("section"), hmmSuccess);
    EXPECT_EQ(hmmRangePop(), hmmErrorInsufficientDriver);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetName(memory().data(), 1, "name"), hmmErrorInsufficientDriver);
}

} // namespace
