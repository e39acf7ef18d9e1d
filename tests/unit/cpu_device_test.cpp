// SPDX-License-Identifier: MIT
// The memory of the cpu device: the state that it keeps, and its limits.
#include "machine/cpu_machine.hpp"

#include "base/settings.hpp"
#include "machine/knobs.hpp"
#include "runtime_checks.hpp"

using namespace hmmrt;

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t somewhere = 0x100000;

class CpuDevice : public testing::Test {
  protected:
    int prefer(std::uint64_t addr, std::uint64_t pages, std::uint32_t location) {
        hmmrt_advise request = {};
        request.addr = addr;
        request.len = pages * page;
        request.advice = HMMRT_ADVICE_SET_PREFERRED_LOCATION;
        request.location = location;
        return machine_.advise(request);
    }
    std::uint32_t preferred(std::uint64_t addr, std::uint64_t pages) {
        hmmrt_range_attributes request = {};
        request.addr = addr;
        request.len = pages * page;
        EXPECT_EQ(machine_.get_range_attributes(request), 0);
        return request.out_preferred_location;
    }
    std::uint64_t used(std::uint32_t id) {
        hmmrt_device_info info = {};
        info.device_id = id;
        EXPECT_EQ(machine_.get_device_info(info), 0);
        return info.out_used_bytes;
    }
    hmmrt_knob knob(std::uint32_t operation, std::uint32_t scope, std::uint32_t value) {
        hmmrt_knob request = {};
        request.knob = HMMRT_KNOB_PREFETCH_THRESHOLD;
        request.operation = operation;
        request.scope = scope;
        request.value = value;
        if (scope == HMMRT_SCOPE_RANGE) {
            request.addr = somewhere;
            request.len = page;
        }
        EXPECT_EQ(machine_.control_knob(request), 0);
        return request;
    }

    cpu_machine machine_{2, 16 * page};
};

TEST_F(CpuDevice, LocationsThatAreNotStartedAreRefused) {
    EXPECT_EQ(prefer(somewhere, 1, 0), -ENODEV);
    const auto lanes = machine_.start({0, "hmmrt-cpu0", 1, false});
    EXPECT_EQ(prefer(somewhere, 1, 0), 0);
    EXPECT_EQ(prefer(somewhere, 1, 1), -ENODEV);
    EXPECT_EQ(prefer(somewhere, 1, 2), -ENODEV);
    EXPECT_EQ(prefer(fakes::fake_memory::hole, 1, HMMRT_LOCATION_HOST), -EFAULT);
}

TEST_F(CpuDevice, AdviceIsWhatAllPagesHaveInCommonAndEndsWithItsDevice) {
    const auto lanes = machine_.start({0, "hmmrt-cpu0", 1, false});
    EXPECT_EQ(preferred(somewhere, 4), HMMRT_LOCATION_NONE);
    EXPECT_EQ(prefer(somewhere, 4, HMMRT_LOCATION_HOST), 0);
    EXPECT_EQ(prefer(somewhere + page, 1, 0), 0);
    EXPECT_EQ(preferred(somewhere, 1), HMMRT_LOCATION_HOST);
    EXPECT_EQ(preferred(somewhere + page, 1), 0u);
    EXPECT_EQ(preferred(somewhere + 2 * page, 2), HMMRT_LOCATION_HOST);
    EXPECT_EQ(preferred(somewhere, 2), HMMRT_LOCATION_NONE);
    lanes->stop();
    lanes->release();
    EXPECT_EQ(preferred(somewhere + page, 1), HMMRT_LOCATION_NONE);
    EXPECT_EQ(preferred(somewhere, 1), HMMRT_LOCATION_HOST);
    machine_.unmapped(somewhere, 4 * page);
    EXPECT_EQ(preferred(somewhere, 1), HMMRT_LOCATION_NONE);
}

TEST_F(CpuDevice, HasNoMoreMemoryThanItsSizeAndItsQuota) {
    const auto lanes = machine_.start({0, "hmmrt-cpu0", 1, false});
    EXPECT_EQ(machine_.place(somewhere, 10 * page, 0), 0);
    EXPECT_EQ(machine_.place(somewhere, 10 * page, 0), 0) << "the same memory";
    EXPECT_EQ(used(0), 10 * page);
    EXPECT_EQ(machine_.place(2 * somewhere, 7 * page, 0), -ENOMEM);
    EXPECT_EQ(machine_.place(2 * somewhere, 6 * page, 0), 0);
    machine_.unmapped(somewhere, 10 * page);
    EXPECT_EQ(used(0), 6 * page);

    hmmrt_quota quota = {};
    quota.operation = HMMRT_QUOTA_SET;
    quota.scope = HMMRT_QUOTA_OF_SPACE;
    quota.limit_bytes = 8 * page;
    EXPECT_EQ(machine_.control_quota(quota), 0);
    EXPECT_EQ(quota.out_used_bytes, 6 * page);
    EXPECT_EQ(quota.out_refused, 1u);
    EXPECT_EQ(machine_.place(somewhere, 3 * page, 0), -ENOMEM);
    EXPECT_EQ(machine_.place(somewhere, 2 * page, 0), 0);
}

TEST_F(CpuDevice, MemoryObjectsCountUntilTheyAreForgotten) {
    hmmrt_object_create request = {};
    request.bytes = 10 * page;
    request.location = 1;
    ASSERT_EQ(machine_.create_object(request), 0);
    EXPECT_EQ(used(1), 10 * page);
    hmmrt_object_info info = {};
    EXPECT_EQ(machine_.get_object_info(request.out_fd, info), 0);
    EXPECT_EQ(info.out_bytes, 10 * page);
    EXPECT_EQ(info.out_location, 1u);
    EXPECT_EQ(info.out_flags, 0u);

    hmmrt_object_create second = request;
    EXPECT_EQ(machine_.create_object(second), -ENOMEM);
    second.flags = HMMRT_OBJECT_MIGRATABLE;
    second.bytes = 1000 * page;
    ASSERT_EQ(machine_.create_object(second), 0) << "it may be larger than the device";
    EXPECT_EQ(machine_.get_object_info(second.out_fd, info), 0);
    EXPECT_EQ(info.out_flags, HMMRT_OBJECT_MIGRATABLE);
    hmmrt::sys::close_file(second.out_fd);
    EXPECT_EQ(used(1), 10 * page);
    second = request;
    second.location = HMMRT_LOCATION_HOST;
    second.bytes = 1ull << 62;
    EXPECT_EQ(machine_.create_object(second), -ENOMEM);
    second.bytes = 1ull << 63;
    EXPECT_EQ(machine_.create_object(second), -ENOMEM);
    second.bytes = request.bytes;
    ASSERT_EQ(machine_.create_object(second), 0) << "other memory";
    hmmrt::sys::close_file(second.out_fd);
    second.location = 2;
    EXPECT_EQ(machine_.create_object(second), -ENODEV);
    second.location = HMMRT_LOCATION_NONE;
    EXPECT_EQ(machine_.create_object(second), -EINVAL);
    hmmrt::sys::close_file(request.out_fd);
    machine_.forget_object(1, 10 * page);
    EXPECT_EQ(used(1), 0u);
    EXPECT_EQ(machine_.get_object_info(request.out_fd, info), -EINVAL) << "no memory object";
}

TEST_F(CpuDevice, AccessIsOfDevicesThatAreStarted) {
    hmmrt_access request = {};
    EXPECT_EQ(machine_.control_access(request), -ENODEV);
    const auto lanes = machine_.start({0, "hmmrt-cpu0", 1, false});
    EXPECT_EQ(machine_.control_access(request), 0);
}

TEST_F(CpuDevice, KnobsHaveTheNearestValueThatIsSet) {
    EXPECT_EQ(knob(HMMRT_KNOB_GET, HMMRT_SCOPE_RANGE, 0).out_value, 51u);
    knob(HMMRT_KNOB_SET, HMMRT_SCOPE_DEVICE, 10);
    EXPECT_EQ(knob(HMMRT_KNOB_GET, HMMRT_SCOPE_SPACE, 0).out_value, 10u);
    knob(HMMRT_KNOB_SET, HMMRT_SCOPE_SPACE, 20);
    knob(HMMRT_KNOB_SET, HMMRT_SCOPE_RANGE, 30);
    EXPECT_EQ(knob(HMMRT_KNOB_GET, HMMRT_SCOPE_DEVICE, 0).out_value, 10u);
    EXPECT_EQ(knob(HMMRT_KNOB_GET, HMMRT_SCOPE_SPACE, 0).out_value, 20u);
    EXPECT_EQ(knob(HMMRT_KNOB_UNSET, HMMRT_SCOPE_RANGE, 0).out_value, 20u);
    for (const knob_description& each : knob_descriptions) {
        EXPECT_LE(each.minimum, each.standard) << each.name;
        EXPECT_GE(each.maximum, each.standard) << each.name;
    }
}

TEST_F(CpuDevice, PeersEndWithTheirLanes) {
    hmmrt_peer peer = {};
    peer.peer_id = 1;
    peer.operation = HMMRT_PEER_ENABLE;
    EXPECT_EQ(machine_.control_peer(peer), -ENODEV);
    const auto first = machine_.start({0, "hmmrt-cpu0", 1, false});
    {
        const auto second = machine_.start({1, "hmmrt-cpu1", 1, false});
        EXPECT_EQ(machine_.control_peer(peer), 0);
        EXPECT_EQ(peer.out_enabled, 1u);
        second->stop();
        second->release();
    }
    const auto second = machine_.start({1, "hmmrt-cpu1", 1, false});
    peer.operation = HMMRT_PEER_QUERY;
    EXPECT_EQ(machine_.control_peer(peer), 0);
    EXPECT_EQ(peer.out_enabled, 0u);
    EXPECT_EQ(peer.out_possible, 1u);
}

TEST(MachineChoice, FollowsTheVariableElseWhatThereIs) {
    kernel.take_errors();
    kernel.environment["HMMRT_DEVICE"] = "cpu";
    EXPECT_TRUE(choose_machine()->shares_page_tables());
    EXPECT_EQ(kernel.take_errors(), "") << "the program asked for it";
    kernel.environment["HMMRT_DEVICE"] = "";
    EXPECT_FALSE(choose_machine()->shares_page_tables());
    kernel.manager_open_error = EACCES;
    EXPECT_FALSE(choose_machine()->shares_page_tables()) << "the modules are loaded";
    kernel.manager_open_error = ENOENT;
    EXPECT_TRUE(choose_machine()->shares_page_tables());
    EXPECT_TRUE(mentions(kernel.take_errors(),
                         {"hmmrt: no modules are loaded", "/dev/hmmrt", "(HMMRT_DEVICE=cpu)\n"}));
    kernel.environment["HMMRT_DEVICE"] = "simulated";
    EXPECT_FALSE(choose_machine()->shares_page_tables());
    kernel.environment["HMMRT_DEVICE"] = "gpu";
    EXPECT_THROW(choose_machine(), failure);
    kernel.environment.clear();
    kernel.manager_open_error = 0;
}

TEST(MachineChoice, ValgrindGetsTheCpuDeviceOrAMessage) {
    kernel.valgrind = true;
    for (const char* wanted : {"", "simulated"}) {
        kernel.environment["HMMRT_DEVICE"] = wanted;
        EXPECT_TRUE(mentions(message_of([] { choose_machine(); }), {"set HMMRT_DEVICE=cpu"}))
            << "the modules are loaded: " << wanted;
    }
    kernel.environment["HMMRT_DEVICE"] = "cpu";
    EXPECT_TRUE(choose_machine()->shares_page_tables());
    kernel.environment.clear();
    kernel.valgrind = false;
}

} // namespace
