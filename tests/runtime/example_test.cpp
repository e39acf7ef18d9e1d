// SPDX-License-Identifier: MIT
// Runs examples that check their own results, with small inputs. They must exit
// with status 0.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace {

struct outcome {
    int status; ///< -1 if it did not exit
    std::string errors;
};

/// Runs the example @command[0].
outcome run(std::vector<std::string> command) {
    command[0] = HMMRT_EXAMPLES "/" + command[0];
    std::vector<char*> arguments;
    for (std::string& each : command)
        arguments.push_back(each.data());
    arguments.push_back(nullptr);
    std::FILE* const errors = std::tmpfile();
    if (errors == nullptr) return {-1, "no temporary file"};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, fileno(errors), STDERR_FILENO);
    outcome result = {-1, ""};
    pid_t process = 0;
    int status = 0;
    if (posix_spawn(&process, arguments[0], &files, nullptr, arguments.data(), environ) == 0 &&
        waitpid(process, &status, 0) == process && WIFEXITED(status))
        result.status = WEXITSTATUS(status);
    posix_spawn_file_actions_destroy(&files);
    std::rewind(errors);
    for (int c; (c = std::fgetc(errors)) != EOF;)
        result.errors += static_cast<char>(c);
    std::fclose(errors);
    return result;
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
