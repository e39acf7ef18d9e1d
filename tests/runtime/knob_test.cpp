// SPDX-License-Identifier: MIT
// Knobs: their descriptions, their scopes, and their effect on devices.
#include "capability.hpp"
#include "device_fixture.hpp"
#include "machine/knobs.hpp"

#include <cstring>
#include <set>
#include <span>
#include <string>
#include <sys/mman.h>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t bytes = 8 << 20;

class Knobs : public OnDevice {
  protected:
    Knobs() { std::memset(memory_.data(), 1, bytes); }
    ~Knobs() override {
        for (const hmmKnob& each : hmm::knobs()) {
            hmm::knob(each.name).reset(hmm::device(0));
            if ((each.scopes & hmmKnobScopeTypeProcess) != 0) hmm::knob(each.name).reset();
        }
    }

    std::span<unsigned char> first_half() const { return memory_.first(bytes / 2); }
    std::span<unsigned char> second_half() const { return memory_.last(bytes / 2); }
    static void add_one_on_device(std::span<unsigned char> memory) {
        on_device([=] {
            for (unsigned char& value : memory)
                value++;
        });
    }
    static bool is_in_system_memory(std::span<const unsigned char> memory) {
        return hmm::residency(memory).all_on(hmm::host);
    }
    static bool is_on_device(std::span<const unsigned char> memory) {
        return hmm::residency(memory).all_on(hmm::device(0));
    }

    // Whole blocks, so that no other memory moves along.
    const hmm::managed_memory<unsigned char> owner_ = hmm::managed_memory<unsigned char>(bytes);
    const std::span<unsigned char> memory_ = owner_.get();
    const hmm::knob policy_ = hmm::knob("migration_policy");
    const hmm::knob threshold_ = hmm::knob("prefetch_threshold");
};

constexpr hmmKnobScope of_process = {hmmKnobScopeTypeProcess, nullptr, 0};
constexpr hmmKnobScope of_device = {hmmKnobScopeTypeDevice, nullptr, 0};

TEST_F(Knobs, SayWhatTheyAre) {
    std::set<std::string> names;
    for (const hmmKnob& each : hmm::knobs()) {
        EXPECT_TRUE(names.insert(each.name).second) << each.name;
        EXPECT_EQ(each.value, each.defaultValue) << each.name;
        EXPECT_LE(each.minimum, each.defaultValue) << each.name;
        EXPECT_GE(each.maximum, each.defaultValue) << each.name;
        const hmmKnob same = hmm::knob(each.name).get(hmm::device(0));
        EXPECT_STREQ(same.name, each.name);
        EXPECT_EQ(same.maximum, each.maximum) << each.name;
        EXPECT_EQ(same.scopes, each.scopes) << each.name;
    }
    EXPECT_TRUE(names.contains("fault_batch_count"));
    const hmmKnob threshold = threshold_.get();
    EXPECT_EQ(threshold.defaultValue, 51u);
    EXPECT_EQ(threshold.minimum, 1u);
    EXPECT_EQ(threshold.maximum, 100u);
    int count = 0;
    ASSERT_EQ(hmmKnobGetCount(&count), hmmSuccess);
    EXPECT_EQ(static_cast<std::size_t>(count), names.size());
    hmmKnob none;
    EXPECT_EQ(hmmKnobGetByIndex(&none, count), hmmErrorInvalidValue);
}

/// The cpu device has its own list.
TEST_F(Knobs, AreTheSameOnTheCpuDeviceAsInTheModules) {
    const auto found = hmm::knobs();
    ASSERT_EQ(found.size(), hmmrt::knob_descriptions.size());
    for (std::size_t i = 0; i < found.size(); i++) {
        const hmmrt::knob_description& same = hmmrt::knob_descriptions[i];
        EXPECT_STREQ(found[i].name, same.name);
        EXPECT_EQ(found[i].minimum, same.minimum) << same.name;
        EXPECT_EQ(found[i].maximum, same.maximum) << same.name;
        EXPECT_EQ(found[i].defaultValue, same.standard) << same.name;
        EXPECT_EQ(found[i].scopes, same.scopes) << same.name;
    }
}

TEST_F(Knobs, OfTheProcessHoldUntilTheyAreReset) {
    NEEDS_PAGES_THAT_MOVE();
    policy_.set(hmmMigrateNever);
    add_one_on_device(first_half());
    EXPECT_TRUE(is_in_system_memory(first_half()));
    policy_.reset();
    add_one_on_device(second_half());
    EXPECT_TRUE(is_on_device(second_half()));
    for (const unsigned char value : memory_)
        ASSERT_EQ(value, 2);
}

TEST_F(Knobs, OfARangeHoldThereAlone) {
    NEEDS_PAGES_THAT_MOVE();
    policy_.set(hmmMigrateNever, first_half());
    add_one_on_device(memory_);
    EXPECT_TRUE(is_in_system_memory(first_half()));
    EXPECT_TRUE(is_on_device(second_half()));
}

TEST_F(Knobs, OfTheDeviceApplyUnlessTheProcessHasItsOwn) {
    NEEDS_PAGES_THAT_MOVE();
    policy_.set(hmmMigrateNever, hmm::device(0));
    add_one_on_device(first_half());
    EXPECT_TRUE(is_in_system_memory(first_half()));
    policy_.set(hmmMigrateOnTouch);
    add_one_on_device(second_half());
    EXPECT_TRUE(is_on_device(second_half()));
}

TEST_F(Knobs, HaveTheNearestValueThatIsSet) {
    threshold_.set(10, hmm::device(0));
    EXPECT_EQ(threshold_.get(memory_).value, 10u);
    threshold_.set(20);
    threshold_.set(30, first_half());
    EXPECT_EQ(threshold_.get(hmm::device(0)).value, 10u);
    EXPECT_EQ(threshold_.get().value, 20u);
    EXPECT_EQ(threshold_.get(first_half()).value, 30u);
    EXPECT_EQ(threshold_.get(second_half()).value, 20u);
    threshold_.reset(first_half().first(page));
    EXPECT_EQ(threshold_.get(memory_).value, 20u) << "of its first page";
    EXPECT_EQ(threshold_.get(memory_.subspan(page)).value, 30u);
    threshold_.reset();
    EXPECT_EQ(threshold_.get(second_half()).value, 10u);
    threshold_.reset(hmm::device(0));
    EXPECT_EQ(threshold_.get(second_half()).value, 51u);
}

TEST_F(Knobs, OfARangeGoWithItsMapping) {
    NEEDS_KERNEL();
    threshold_.set(30, memory_);
    void* const again = mmap(memory_.data(), page, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(again, memory_.data());
    EXPECT_EQ(threshold_.get(memory_.first(page)).value, 51u);
    EXPECT_EQ(threshold_.get(memory_.subspan(page)).value, 30u);
}

TEST_F(Knobs, AreAsTheyWereAfterAReset) {
    NEEDS_PAGES_THAT_MOVE();
    add_one_on_device(memory_);
    threshold_.set(20);
    policy_.set(hmmMigrateNever, first_half());
    hmm::reset();
    EXPECT_EQ(threshold_.get().value, 20u);
    add_one_on_device(memory_);
    EXPECT_TRUE(is_in_system_memory(first_half()));
    EXPECT_TRUE(is_on_device(second_half()));
}

TEST_F(Knobs, OfADeviceNeedPrivilege) {
    NEEDS_KERNEL();
    const without_capability admin(CAP_SYS_ADMIN);
    EXPECT_EQ(hmmKnobSet("prefetch_threshold", 10, of_device), hmmErrorNotPermitted);
    EXPECT_EQ(hmmKnobReset("prefetch_threshold", of_device), hmmErrorNotPermitted);
    EXPECT_EQ(threshold_.get(hmm::device(0)).value, 51u);
    EXPECT_EQ(hmmKnobSet("prefetch_threshold", 20, of_process), hmmSuccess);
    EXPECT_EQ(threshold_.get().value, 20u);
}

TEST_F(Knobs, ThatDoNotExistAreRefused) {
    hmmKnob found;
    EXPECT_EQ(hmmKnobGet(&found, "prefetch_thresholds", of_process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobSet("prefetch_thresholds", 51, of_process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobReset("prefetch_thresholds", of_process), hmmErrorInvalidValue);
}

TEST_F(Knobs, ValuesAndScopesThatTheyDoNotHaveAreRefused) {
    for (const unsigned wrong : {0u, 101u})
        EXPECT_EQ(hmmKnobSet("prefetch_threshold", wrong, of_process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobSet("oversubscription", 1, of_process), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobSet("fault_batch_count", 1, {hmmKnobScopeTypeRange, memory_.data(), page}),
              hmmErrorInvalidValue);
    EXPECT_EQ(threshold_.get().value, 51u);
    EXPECT_EQ(hmm::knob("fault_batch_count").get().value, 256u);
}

TEST_F(Knobs, OfARangeWithAHoleAreNotSet) {
    ASSERT_EQ(munmap(memory_.data() + bytes / 2, page), 0);
    const hmmKnobScope all = {hmmKnobScopeTypeRange, memory_.data(), bytes};
    EXPECT_EQ(hmmKnobSet("prefetch_threshold", 30, all), hmmErrorInvalidValue);
    EXPECT_EQ(hmmKnobReset("prefetch_threshold", all), hmmErrorInvalidValue);
    hmmKnob knob;
    EXPECT_EQ(hmmKnobGet(&knob, "prefetch_threshold", all), hmmErrorInvalidValue);
    EXPECT_EQ(threshold_.get(first_half()).value, 51u);
}

} // namespace
