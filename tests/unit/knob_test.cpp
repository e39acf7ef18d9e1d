// SPDX-License-Identifier: MIT
// Knobs are found by name, changed in their scope, and refused with a reason.
#include "memory_fixture.hpp"

#include <cerrno>
#include <initializer_list>
#include <string>

using fakes::kernel;

namespace {

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

TEST_F(Knob, UnknownToThisLibraryIsFoundByName) {
    for (int i = 0; i < HMMRT_KNOBS; i++)
        kernel.policy.knobs.push_back({"new_" + std::to_string(i), 0, 9, 7, 7, {}});
    int count = 0;
    ASSERT_EQ(hmmKnobGetCount(&count), hmmSuccess);
    EXPECT_EQ(count, 3 + HMMRT_KNOBS);
    const std::string last = "new_" + std::to_string(HMMRT_KNOBS - 1);
    EXPECT_EQ(hmm::knobs().back().name, last);
    EXPECT_EQ(hmm::knob(last).get().value, 7u);
}

TEST_F(Knob, OfTheLongestNameIsFound) {
    const std::string name(HMMRT_KNOB_NAME_LEN - 1, 'x');
    kernel.policy.knobs.push_back({name, 0, 9, 7, 7, {}});
    EXPECT_EQ(hmm::knob(name).get().name, name);
}

TEST_F(Knob, IsSetInItsScopeAlone) {
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
}

TEST_F(Knob, IsResetInItsScopeAlone) {
    threshold_.set(10, hmm::device(1));
    threshold_.set(20);
    threshold_.set(30, memory());
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

} // namespace
