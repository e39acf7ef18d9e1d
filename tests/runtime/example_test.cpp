// SPDX-License-Identifier: MIT
// Runs examples that check their own results, with small inputs. They must exit
// with status 0.

#include "lib/files.hpp"
#include "lib/spawn.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

struct outcome {
    int status; ///< 128 + N if signal N ended it
    std::string errors;
};

/// Runs the example @command[0].
outcome run(std::vector<std::string> command) {
    command[0] = HMMRT_EXAMPLES "/" + command[0];
    const tools::descriptor errors(memfd_create("errors", MFD_CLOEXEC));
    const int status = tools::wait_for(tools::start(std::move(command), {.err = errors.get()}));
    lseek(errors.get(), 0, SEEK_SET);
    return {status, tools::read_all(errors.get()).value_or("")};
}

void expect_success(const std::vector<std::string>& command) {
    const outcome found = run(command);
    EXPECT_EQ(found.status, 0) << command[0];
    EXPECT_EQ(found.errors, "") << command[0];
}

/// Selects the cpu device for programs started by this one.
class on_the_cpu_device {
  public:
    on_the_cpu_device() { setenv("HMMRT_DEVICE", "cpu", 1); }
    on_the_cpu_device(const on_the_cpu_device&) = delete;
    on_the_cpu_device& operator=(const on_the_cpu_device&) = delete;
    ~on_the_cpu_device() { unsetenv("HMMRT_DEVICE"); }
};

TEST(Example, ServicesShareADeviceThatIsSmallerThanTheSumOfTheirPeaks) {
    expect_success({"service"});
}

TEST(Example, MatricesAreEqualToThoseOfTheCpu) {
    expect_success({"matmul", "96"});
}

TEST(Example, TraversalsReachTheSameVertices) {
    expect_success({"traversal", "2000"});
}

TEST(Example, TransformerWithWeightsLargerThanDeviceMemoryAnswersAsTheCpu) {
    expect_success({"transformer", "8M", "1.5"});
}

TEST(Example, AllRunOnTheCpuDevice) {
    const on_the_cpu_device now;
    expect_success({"service"});
    expect_success({"matmul", "32"});
    expect_success({"traversal", "500"});
    expect_success({"transformer", "4M", "0.5"});
}

TEST(Example, WrongArgumentsEndWithAnError) {
    for (const char* const wrong : {"many", "3x", "-1", "0", ""}) {
        EXPECT_EQ(run({"matmul", wrong}).errors, "usage: matmul [N]\n") << wrong;
        EXPECT_EQ(run({"traversal", wrong}).errors, "usage: traversal [VERTICES]\n") << wrong;
        EXPECT_EQ(run({"transformer", wrong}).errors,
                  "usage: transformer [DEVICE-MEMORY [RATIO...]]\n")
            << wrong;
    }
    EXPECT_EQ(run({"transformer", "8M", "x"}).status, 1);
}

} // namespace
