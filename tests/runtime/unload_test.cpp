// SPDX-License-Identifier: MIT
// The program itself is not linked with the library: what uses the device is loaded and
// unloaded while the program runs.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>

namespace {

/// The C library has each thread of the process change its ids, in a signal handler.
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
