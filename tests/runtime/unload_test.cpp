// SPDX-License-Identifier: MIT
// This program isn't linked with the library. It loads and unloads a plugin that
// uses the device.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

namespace {

/// For setgid() the C library signals each thread of the process, which then
/// changes its ids.
TEST(Plugin, ThatIsUnloadedLeavesTheThreadsOfTheDeviceSound) {
    for (int i = 0; i < 2; i++) {
        void* const plugin = dlopen(HMMRT_PLUGIN, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(plugin, nullptr) << dlerror();
        const auto use_device = reinterpret_cast<bool (*)()>(dlsym(plugin, "use_device"));
        ASSERT_NE(use_device, nullptr) << dlerror();
        EXPECT_TRUE(use_device()) << "round " << i;
        EXPECT_EQ(dlclose(plugin), 0);
        EXPECT_EQ(dlopen(HMMRT_PLUGIN, RTLD_NOW | RTLD_NOLOAD), nullptr) << "it is still loaded";
        EXPECT_EQ(setgid(getgid()), 0);
    }
}

} // namespace
