// SPDX-License-Identifier: MIT
// Programs whose device fails: they write the right messages to standard error,
// and don't hang.
#include "capability.hpp"
#include "device_fixture.hpp"

#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

namespace {

/// Called before the next sigaction() that changes an action.
std::atomic<void (*)()> before_change = nullptr;

} // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Also intercepts the library's calls.
extern "C" [[gnu::visibility("default")]] int sigaction(int signal, const struct sigaction* action,
                                                        struct sigaction* before) noexcept {
    static const auto next =
        reinterpret_cast<decltype(&::sigaction)>(dlsym(RTLD_NEXT, "sigaction"));
    if (action != nullptr && before_change != nullptr) before_change.exchange(nullptr)();
    return next(signal, action, before);
}
#endif

namespace {

/// Captures standard error during its lifetime.
class errors {
  public:
    errors() : file_(memfd_create("errors", MFD_CLOEXEC)), before_(dup(STDERR_FILENO)) {
        dup2(file_, STDERR_FILENO);
    }
    errors(const errors&) = delete;
    errors& operator=(const errors&) = delete;
    ~errors() {
        dup2(before_, STDERR_FILENO);
        close(before_);
        close(file_);
    }
    std::string text() const {
        std::string content(1 << 16, '\0');
        const ssize_t got = pread(file_, content.data(), content.size(), 0);
        content.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return content;
    }

  private:
    int file_, before_;
};

/// How a program ended: its status, and its messages on standard error.
struct outcome {
    int status = -1;
    std::string errors;
    bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

/// Kills all agents; there is only one.
bool kill_agent() {
    bool any = false;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        std::string name;
        std::getline(std::ifstream(entry.path() / "comm") >> std::ws, name);
        if (name == "hmmrt-agent")
            any = kill(std::atoi(entry.path().filename().c_str()), SIGKILL) == 0 || any;
    }
    return any;
}

/// Runs a part of this program in a new process. A hang fails the test.
outcome run_program(const char* test, const std::string& environment = "",
                    unsigned limit_seconds = 100) {
    const int file = memfd_create("errors", 0);
    const pid_t child = fork();
    if (child == 0) {
        dup2(file, STDERR_FILENO);
        if (!environment.empty()) putenv(const_cast<char*>(environment.c_str()));
        alarm(limit_seconds);
        execl("/proc/self/exe", "runtime-failure", "--part", test, nullptr);
        _exit(126);
    }
    outcome result;
    waitpid(child, &result.status, 0);
    result.errors.resize(1 << 16);
    const ssize_t got = pread(file, result.errors.data(), result.errors.size(), 0);
    result.errors.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    close(file);
    return result;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

#define EXPECT_CONTAINS(text, part) EXPECT_TRUE(contains(text, part)) << (text)

// ---- the report

class Report : public OnDevice {};

[[gnu::noinline]] void innermost(volatile int* where) {
    *where = 1;
    asm volatile("");
}

[[gnu::noinline]] void middle(volatile int* where) {
    innermost(where);
    asm volatile("");
}

TEST_F(Report, IsWrittenWhenTheDeviceFailsAndNotOnlyWhenTheProgramAsks) {
    NEEDS_FAILURES();
    const errors written;
    hmm::launch(1, [](std::size_t) { middle(reinterpret_cast<int*>(0x10)); });
    for (int i = 0; i < 3000 && !contains(written.text(), "hmmDeviceReset()"); i++)
        usleep(10000);
    const std::string text = written.text();
    EXPECT_CONTAINS(text, "hmmrt: device 0, lane ");
    EXPECT_CONTAINS(text, "write at address 0x10: ");
    EXPECT_CONTAINS(text, "nothing is mapped there (hmmErrorIllegalAddress)\n");
    EXPECT_CONTAINS(text, "\nhmmrt: device 0 ");
    EXPECT_CONTAINS(text, "hmmDeviceReset()");
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorIllegalAddress);
    EXPECT_EQ(written.text(), text) << "once";
}

TEST_F(Report, NamesTheInstructionAndItsCallers) {
    NEEDS_FAILURES();
    const errors written;
    const auto error = error_on_device([] { middle(reinterpret_cast<int*>(0x10)); });
    ASSERT_TRUE(error);
    const std::string text = written.text();
    const std::size_t at = text.find("hmmrt:   at 0x");
    const std::size_t caller = text.find("hmmrt:   called from 0x");
    ASSERT_NE(at, std::string::npos) << text;
    ASSERT_NE(caller, std::string::npos) << text;
    const std::string first = text.substr(at, text.find('\n', at) - at);
    const std::string second = text.substr(caller, text.find('\n', caller) - caller);
    EXPECT_CONTAINS(first, "innermost(int volatile*)+0x");
    EXPECT_CONTAINS(first, "failure_test.cpp:");
    EXPECT_CONTAINS(second, "middle(int volatile*)+0x");
    EXPECT_CONTAINS(second, "failure_test.cpp:");
    EXPECT_CONTAINS(std::string(error->what()), "innermost(int volatile*)+0x");
}

TEST_F(Report, NamesTheCallerOfABadPointer) {
    NEEDS_FAILURES();
    const errors written;
    void (*volatile bad)() = reinterpret_cast<void (*)()>(0x20);
    EXPECT_TRUE(error_on_device([&] {
        bad();
        asm volatile("");
    }));
    EXPECT_CONTAINS(written.text(), "execution at address 0x20: ");
    EXPECT_CONTAINS(written.text(), "called from 0x");
    EXPECT_CONTAINS(written.text(), "failure_test.cpp:");
}

[[gnu::noinline]] void give_up(bool really) {
    if (really) std::abort();
    asm volatile("");
}

TEST_F(Report, ShowsThePartOfTheProgramThatCalledAbort) {
    NEEDS_FAILURES();
    const errors written;
    EXPECT_TRUE(error_on_device([] {
        give_up(true);
        asm volatile("");
    }));
    EXPECT_CONTAINS(written.text(), ": SIGABRT ");
    EXPECT_CONTAINS(written.text(), " tgkill (hmmErrorAssert)\n");
    EXPECT_CONTAINS(written.text(), "give_up(bool)");
    EXPECT_CONTAINS(written.text(), "failure_test.cpp:");
}

[[gnu::noinline]] int recurse(int depth) {
    volatile char frame[4096];
    frame[0] = static_cast<char>(depth);
    return depth == 0 ? 0 : recurse(depth - 1) + frame[0];
}

TEST_F(Report, SaysThatTheStackOfTheLaneOverflowed) {
    NEEDS_FAILURES();
    std::size_t bytes = 0;
    ASSERT_EQ(hmmDeviceGetLimit(&bytes, hmmLimitStackSize), hmmSuccess);
    const errors written;
    const auto error = error_on_device([] { recurse(1 << 24); });
    ASSERT_TRUE(error);
    const std::string expected = "stack overflow in lane " + std::to_string(error->record().lane) +
                                 " (" + std::to_string(bytes >> 20) + " MiB), ";
    EXPECT_CONTAINS(written.text(), expected);
    EXPECT_CONTAINS(std::string(error->what()), expected);
    EXPECT_CONTAINS(written.text(), "recurse(int)");
}

TEST_F(Report, OfADamagedStackIsWrittenWithoutItsCallers) {
    NEEDS_FAILURES();
    const errors written;
    const auto error = error_on_device([] {
        asm volatile("movq $0x5000, %%rsp; movq $0x6000, %%rbp; ud2" : : : "memory");
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorIllegalInstruction);
    EXPECT_CONTAINS(written.text(), "SIGILL (hmmErrorIllegalInstruction)\nhmmrt:   at 0x");
    hmm::reset();
    expect_usable();
}

TEST_F(Report, OfALostDeviceSaysHowToContinue) {
    NEEDS_AGENT();
    const errors written;
    expect_usable();
    ASSERT_TRUE(kill_agent());
    hmm::launch(1, [](std::size_t) {});
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorDeviceLost);
    EXPECT_CONTAINS(written.text(), "hmmrt: device 0: its agent ");
    EXPECT_CONTAINS(written.text(), "hmmDeviceReset()");
}

// ---- exceptions

TEST_F(Report, OfAnExceptionHasItsTypeAndText) {
    const errors written;
    try {
        on_device([] { static_cast<void>(std::vector<int>(3).at(7)); });
        FAIL();
    } catch (const hmm::error& error) {
        EXPECT_EQ(error.code(), hmmErrorAssert);
        EXPECT_EQ(error.record().signal, SIGABRT);
        try {
            std::rethrow_if_nested(error);
            FAIL();
        } catch (const std::out_of_range& original) {
            EXPECT_CONTAINS(std::string(original.what()), "vector::_M_range_check");
        }
    }
    EXPECT_CONTAINS(written.text(),
                    "exception in the kernel: std::out_of_range: vector::_M_range_check");
    EXPECT_CONTAINS(written.text(), "\nhmmrt:   in on_device<");
    hmm::reset();
    expect_usable();
}

void grid_kernel_that_throws(const hmmThreadIndex* /*index*/, void* /*args*/) {
    throw std::logic_error("in a grid");
}

void kernel_with_arguments_that_throws(int /*unused*/) {
    throw std::logic_error("in a grid");
}

TEST_F(Report, NamesTheKernelAndNotTheFunctionThatCallsIt) {
    const errors written;
    ASSERT_EQ(hmmLaunchFunction(grid_kernel_that_throws, 1, 1, nullptr, 0, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorAssert);
    EXPECT_CONTAINS(written.text(), "::grid_kernel_that_throws(hmmThreadIndex const*, void*)\n");
    hmm::reset();
    int value = 0;
    void* arguments[] = {&value};
    ASSERT_EQ(hmmLaunchKernel(kernel_with_arguments_that_throws, 1, 1, arguments), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmErrorAssert);
    EXPECT_CONTAINS(written.text(), "::kernel_with_arguments_that_throws(int)\n");
}

TEST_F(Report, AnExceptionReleasesWhatTheKernelHeld) {
    std::mutex lock;
    EXPECT_TRUE(error_on_device([&] {
        const std::lock_guard held(lock);
        throw 1;
    }));
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

// ---- the end of the program in device code

/// Runs a part in which device code, and then the part itself, calls functions
/// that end a program. A handler of the part prints when it is called.
void expect_end_of_launches(const char* part) {
    const outcome seen = run_program(part, "HMMRT_LANES=2", 25);
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_CONTAINS(seen.errors, "system call exit_group is not allowed in device code");
    EXPECT_CONTAINS(seen.errors, "cannot end the program");
    EXPECT_CONTAINS(seen.errors, "called from");
    EXPECT_TRUE(seen.errors.ends_with("the program ends\nhandler\n")) << seen.errors;
}

void tell_handler() {
    std::fputs("handler\n", stderr);
}

/// Two lanes call @leave at the same time, and again after a reset.
void end_launches(void (*leave)()) {
    std::atexit(tell_handler);
    std::at_quick_exit(tell_handler);
    for (int i = 0; i < 2; i++) {
        std::atomic<int> arrived = 0;
        hmm::launch(2, [&arrived, leave](std::size_t) {
            arrived++;
            while (arrived < 2)
                asm volatile("pause");
            leave();
        });
        if (hmm::synchronize(std::nothrow) != hmmErrorSystemCall) _exit(2);
        hmm::reset();
    }
    int answer = 0;
    on_device([&] { answer = 42; });
    if (answer != 42) _exit(3);
    std::fputs("the program ends\n", stderr);
}

void end_launches_by_exit() {
    end_launches([] { std::exit(3); });
}

void end_launches_by_quick_exit() {
    end_launches([] { std::quick_exit(3); });
    std::quick_exit(0);
}

void end_launches_by_err() {
    end_launches([] { errx(3, "why"); });
}

/// Returns the status of a child that device code forks and that calls @leave.
int status_of_child(void (*leave)()) {
    int status = -1;
    on_device([&] {
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            leave();
        }
        waitpid(child, &status, 0);
    });
    return status;
}

void end_children_of_device_code() {
    const int left = status_of_child([] { std::exit(7); });
    if (!WIFEXITED(left) || WEXITSTATUS(left) != 7) std::exit(1);
    const int aborted = status_of_child([] { std::abort(); });
    if (!WIFSIGNALED(aborted) || WTERMSIG(aborted) != SIGABRT) std::exit(2);
}

class Exit : public OnDevice {};

TEST_F(Exit, InDeviceCodeEndsTheLaunchAndTheProgramCanEndLater) {
    if (has_sanitizer) GTEST_SKIP() << "exit() is left, and does not free what it was at";
    expect_end_of_launches("end_launches_by_exit");
}

TEST_F(Exit, InAFunctionOfTheCLibraryEndsTheLaunchAndTheProgramCanEndLater) {
    if (has_sanitizer) GTEST_SKIP() << "exit() is left, and does not free what it was at";
    expect_end_of_launches("end_launches_by_err");
}

TEST_F(Exit, QuicklyInDeviceCodeEndsTheLaunchAndTheProgramCanEndLater) {
    expect_end_of_launches("end_launches_by_quick_exit");
}

TEST_F(Exit, OfAChildOfDeviceCodeEndsTheChild) {
    if (!is_cpu_device()) GTEST_SKIP() << "an agent refuses fork()";
    if (has_sanitizer) GTEST_SKIP() << "the child lacks the stacks that LSan searches";
    const outcome seen = run_program("end_children_of_device_code", "", 25);
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
}

TEST_F(Exit, WithoutHandlersInDeviceCodeEndsTheLaunch) {
    NEEDS_AGENT(); // it ends the program
    if (has_sanitizer) GTEST_SKIP() << "a sanitizer ends the program so";
    for (void (*const leave)() : {+[] { _exit(3); }, +[] { std::_Exit(3); }}) {
        const errors written;
        const auto error = error_on_device(leave);
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), hmmErrorSystemCall) << error->what();
        EXPECT_CONTAINS(written.text(), "system call exit_group is not allowed");
        hmm::reset();
        expect_usable();
    }
}

// ---- strict mode

class Strict : public OnDevice {
  protected:
    Strict() { hmmSetStrict(1); }
    ~Strict() override { hmmSetStrict(0); }
};

TEST_F(Strict, PrintfEndsTheLaunchAndLeavesStandardOutputUsable) {
    NEEDS_AGENT();
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    std::setvbuf(file, nullptr, _IONBF, 0);
    const auto error = error_on_device([=] { std::fprintf(file, "hello %d\n", 42); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorSystemCall) << error->what();
    EXPECT_GE(std::fprintf(file, "not blocked"), 0);
    std::fclose(file);
}

TEST_F(Strict, EachLaneThatPrintsLeavesStandardOutputUsable) {
    NEEDS_AGENT();
    std::FILE* const file = std::tmpfile();
    ASSERT_NE(file, nullptr);
    std::setvbuf(file, nullptr, _IONBF, 0);
    hmm::launch(1000, [=](std::size_t i) { std::fprintf(file, "%zu\n", i); });
    EXPECT_EQ(hmm::synchronize(std::nothrow), hmmErrorSystemCall);
    EXPECT_GE(std::fprintf(file, "not blocked"), 0);
    std::fclose(file);
}

TEST_F(Strict, CodeContinuesAfterACallUntilItReturns) {
    NEEDS_AGENT();
    int result = 0, code = 0;
    EXPECT_TRUE(error_on_device([&] {
        result = static_cast<int>(syscall(SYS_getppid));
        code = errno;
    }));
    EXPECT_EQ(result, -1);
    EXPECT_EQ(code, ENOSYS);
}

TEST_F(Strict, CodeThatDoesNotReturnAfterACallIsEnded) {
    NEEDS_AGENT();
    const errors written;
    const auto error = error_on_device([] {
        getppid();
        for (;;)
            asm volatile("pause");
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), hmmErrorSystemCall);
    hmm::reset();
    hmmSetStrict(0);
    expect_usable();
}

// ---- programs

void fail_and_throw() {
    hmm::launch(1, [](std::size_t) { middle(nullptr); });
    hmm::synchronize();
}

TEST(Program, ThatEndsByAnUncaughtErrorHasWrittenTheReport) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_and_throw");
    EXPECT_TRUE(WIFSIGNALED(seen.status)) << seen.status;
    EXPECT_CONTAINS(seen.errors, "write at address 0x0: nothing is mapped there");
    EXPECT_CONTAINS(seen.errors, "innermost(int volatile*)+0x");
}

TEST(Program, WithTheReportTurnedOffWritesNothing) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_quietly", "HMMRT_REPORT=0");
    EXPECT_TRUE(seen.exited_with(0));
    EXPECT_EQ(seen.errors, "");
}

/// Advice for programs that exit without having got the error of a failed device.
constexpr const char* advice_at_exit = "check the result of hmmDeviceSynchronize()";

TEST(Program, ThatNeverLooksAtAFailureIsTold) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_and_leave");
    EXPECT_TRUE(seen.exited_with(0));
    EXPECT_CONTAINS(seen.errors, "write at address 0x0: nothing is mapped there");
    EXPECT_CONTAINS(seen.errors, "hmmrt: device 0 failed (hmmErrorIllegalAddress) ");
    EXPECT_CONTAINS(seen.errors, advice_at_exit);
    EXPECT_CONTAINS(seen.errors, "hmm::synchronize()\n");
}

void fail_and_leave() {
    hmm::launch(1, [](std::size_t) { middle(nullptr); });
    usleep(3000000);
    std::exit(0);
}

TEST(Program, ThatLooksAtAFailureIsNotToldAgain) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_and_look");
    EXPECT_TRUE(seen.exited_with(0));
    EXPECT_FALSE(contains(seen.errors, advice_at_exit)) << seen.errors;
}

void fail_and_look() {
    hmm::launch(1, [](std::size_t) { middle(nullptr); });
    std::exit(hmm::synchronize(std::nothrow) == hmmErrorIllegalAddress ? 0 : 1);
}

TEST(Program, InStrictModeThatPrintsEnds) {
    NEEDS_AGENT();
    const outcome seen = run_program("print", "HMMRT_STRICT=1");
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_CONTAINS(seen.errors, " is not allowed in device code (hmmErrorSystemCall)");
}

void print() {
    hmm::launch(100, [](std::size_t i) { std::printf("%zu\n", i); });
    const hmmError_t code = hmm::synchronize(std::nothrow);
    std::printf("done\n");
    std::exit(code == hmmErrorSystemCall ? 0 : 1);
}

TEST(Program, WithALaunchThatNeverEndsIsToldAndEndedAtTheLimit) {
    const outcome seen = run_program("never_end", "HMMRT_LAUNCH_TIMEOUT=14");
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_CONTAINS(seen.errors, "hmmrt: device 0: a thread has been waiting for 10 s; lane ");
    EXPECT_CONTAINS(seen.errors, "never_end()::{lambda(unsigned long)#1} for ");
    EXPECT_CONTAINS(seen.errors, " s (items 0 to 0)\n");
    EXPECT_CONTAINS(seen.errors, "the launch took longer than 14 s (HMMRT_LAUNCH_TIMEOUT) "
                                 "(hmmErrorLaunchTimeout)\n");
}

void never_end() {
    hmm::launch(1, [](std::size_t) {
        for (;;)
            asm volatile("pause");
    });
    std::exit(hmm::synchronize(std::nothrow) == hmmErrorLaunchTimeout ? 0 : 1);
}

TEST(Program, WithALaunchThatCannotBeInterruptedGoesOnAfterTheLimit) {
    const outcome seen = run_program("block_signals", "HMMRT_LAUNCH_TIMEOUT=1");
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_CONTAINS(seen.errors, "the launch took longer than 1 s (HMMRT_LAUNCH_TIMEOUT) "
                                 "(hmmErrorLaunchTimeout)\n");
}

void block_signals() {
    hmm::launch(1, [](std::size_t) {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);
        for (;;)
            usleep(10000);
    });
    std::exit(hmm::synchronize(std::nothrow) == hmmErrorLaunchTimeout ? 0 : 1);
}

/// 10 MiB exceed the default stack of 8 MiB.
void recurse_deeply() {
    hmm::launch(1, [](std::size_t) { recurse(10 << 8); });
    std::exit(hmm::synchronize(std::nothrow) == hmmSuccess ? 0 : 1);
}

TEST(Program, WithALargeStackRecursesDeeply) {
    const outcome seen = run_program("recurse_deeply", "HMMRT_STACK_SIZE=12M");
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
}

TEST(Program, WithASmallStackIsToldItsSize) {
    NEEDS_FAILURES();
    const outcome usual = run_program("recurse_deeply", "HMMRT_STACK_SIZE=8M");
    EXPECT_TRUE(usual.exited_with(1)) << usual.status;
    EXPECT_CONTAINS(usual.errors, "stack overflow in lane ");
    EXPECT_CONTAINS(usual.errors, " (8 MiB), ");
    const outcome small = run_program("recurse_deeply", "HMMRT_STACK_SIZE=512K");
    EXPECT_TRUE(small.exited_with(1)) << small.status;
    EXPECT_CONTAINS(small.errors, "stack overflow in lane ");
    EXPECT_CONTAINS(small.errors, " (512 KiB), ");
}

// ---- handlers of the program, installed before or after the first use of a
// device

constexpr const char* install_before = "INSTALL=before";
constexpr const char* install_after = "INSTALL=after";

sigjmp_buf after_signal;
std::atomic<int> handler_calls = 0;

struct sigaction action_of(void (*handler)(int), int flags) {
    struct sigaction action = {};
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigaddset(&action.sa_mask, SIGUSR1);
    return action;
}

void use_device() {
    hmm::launch(1, [](std::size_t) {});
    hmm::synchronize();
}

void install(int signal, void (*handler)(int), int flags = 0) {
    const bool before = std::string(std::getenv("INSTALL")) == "before";
    const struct sigaction action = action_of(handler, flags);
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (before) sigaction(signal, &action, nullptr);
    use_device();
    if (!before) sigaction(signal, &action, nullptr);
    if (!before) use_device();
}

void tell(int) {
    if (++handler_calls > 5) _exit(77);
    constexpr char text[] = "called\n";
    if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0) _exit(78);
}

bool blocks_in_handler(int signal) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return sigismember(&mask, signal) == 1;
}

int calls_in(const std::string& text) {
    int calls = 0;
    for (std::size_t at = 0; (at = text.find("called\n", at)) != std::string::npos; at++)
        calls++;
    return calls;
}

bool died_of(const outcome& seen, int signal) {
    return WIFSIGNALED(seen.status) && WTERMSIG(seen.status) == signal;
}

void leave_handlers() {
    install(SIGSEGV, [](int) {
        ++handler_calls;
        siglongjmp(after_signal, 1);
    });
    static int rounds; // a jump does not restore it
    for (rounds = 0; rounds < 100; rounds++)
        if (sigsetjmp(after_signal, 1) == 0) middle(nullptr);
    use_device();
    _exit(handler_calls == 100 && !blocks_in_handler(SIGSEGV) ? 0 : 1);
}

void return_from_handler_once() {
    install(SIGSEGV, tell, SA_RESETHAND);
    middle(nullptr);
}

void fail_in_handler() {
    install(SIGSEGV, [](int signal) {
        tell(signal);
        if (!blocks_in_handler(SIGSEGV) || !blocks_in_handler(SIGUSR1)) _exit(1);
        middle(nullptr);
    });
    middle(nullptr);
}

void fail_in_handler_that_defers_nothing() {
    install(
        SIGSEGV,
        [](int) {
            if (blocks_in_handler(SIGSEGV) || !blocks_in_handler(SIGUSR1)) _exit(1);
            if (++handler_calls == 3) _exit(0);
            middle(nullptr);
        },
        SA_NODEFER);
    middle(nullptr);
}

void fail_on_device() {
    install(SIGSEGV, tell);
    hmm::launch(1, [](std::size_t) { middle(nullptr); });
    _exit(hmm::synchronize(std::nothrow) == hmmErrorIllegalAddress ? 0 : 1);
}

void ignore_traps() {
    install(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
    raise(SIGTRAP);
    hmm::launch(1, [](std::size_t) { asm volatile("int3"); });
    if (hmm::synchronize(std::nothrow) == hmmSuccess) _exit(1);
    raise(SIGTRAP);
    asm volatile("int3"); // can't be ignored
}

/// The handler calls the one that it replaced, as crash handlers do.
void call_handler_before() {
    static struct sigaction before;
    install(SIGUSR2, SIG_IGN);
    const struct sigaction action = action_of(
        [](int signal) {
            tell(signal);
            if (before.sa_handler == SIG_DFL) {
                sigaction(SIGSEGV, &before, nullptr);
                return;
            }
            siginfo_t info = {};
            info.si_code = SI_USER;
            ucontext_t context = {};
            getcontext(&context);
            before.sa_sigaction(signal, &info, &context);
        },
        0);
    sigaction(SIGSEGV, &action, &before);
    use_device();
    middle(nullptr);
}

void restore_handler() {
    struct sigaction before;
    install(SIGUSR2, SIG_IGN);
    const struct sigaction action = action_of(tell, 0);
    sigaction(SIGSEGV, &action, &before);
    use_device();
    sigaction(SIGSEGV, &before, nullptr);
    use_device();
    middle(nullptr);
}

/// signal() doesn't return the full action that a handler replaces, so these
/// handlers only pass on the signal number.
void (*replaced_handler)(int);

void call_replaced_handler(int signal) {
    tell(signal);
    replaced_handler(signal);
}

void tell_and_leave(int signal) {
    tell(signal);
    _exit(0);
}

void replace_and_restore_by_signal() {
    std::signal(SIGSEGV,
                std::getenv("INSTALL") == std::string("before") ? tell_and_leave : SIG_DFL);
    use_device();
    std::signal(SIGSEGV, std::signal(SIGSEGV, tell));
}

void restore_handler_by_signal() {
    install(SIGUSR2, SIG_IGN);
    replace_and_restore_by_signal();
    middle(nullptr);
}

void restore_handler_by_signal_and_launch() {
    install(SIGUSR2, SIG_IGN);
    replace_and_restore_by_signal();
    use_device();
    middle(nullptr);
}

void replace_by_signal(int signal, void (*first)(int)) {
    install(SIGUSR2, SIG_IGN);
    std::signal(signal, first);
    use_device();
    replaced_handler = std::signal(signal, call_replaced_handler);
    if (std::getenv("INSTALL") == std::string("after")) use_device();
}

void call_handler_of_signal() {
    replace_by_signal(SIGSEGV, tell_and_leave);
    middle(nullptr);
}

void call_default_by_signal() {
    replace_by_signal(SIGFPE, SIG_DFL);
    raise(SIGFPE);
}

void call_handler_of_signal_on_device() {
    std::atomic<bool> begun = false, go = false;
    hmm::launch(1, [&](std::size_t) {
        begun = true;
        while (!go)
            asm volatile("pause");
        middle(nullptr);
    });
    while (!begun)
        usleep(1000);
    replaced_handler = std::signal(SIGSEGV, call_replaced_handler);
    go = true;
    _exit(hmm::synchronize(std::nothrow) == hmmErrorIllegalAddress ? 0 : 1);
}

void install_while_the_library_does() {
    install(SIGUSR2, SIG_IGN);
    std::signal(SIGSEGV, tell);
    before_change = [] { std::signal(SIGSEGV, tell_and_leave); };
    use_device();
    if (before_change != nullptr) _exit(1);
    middle(nullptr);
}

template <int Signal>
void die_of() {
    install(Signal, SIG_DFL);
    raise(Signal);
}

void die_of_breakpoint() {
    install(SIGTRAP, SIG_DFL);
    asm volatile("int3");
}

class Handler : public testing::TestWithParam<const char*> {};

TEST_P(Handler, MayBeLeftByAJump) {
    NEEDS_FAILURES();
    const outcome seen = run_program("leave_handlers", GetParam());
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
}

TEST_P(Handler, ThatIsResetIsCalledOnce) {
    NEEDS_FAILURES();
    const outcome seen = run_program("return_from_handler_once", GetParam());
    EXPECT_TRUE(died_of(seen, SIGSEGV)) << seen.status;
    EXPECT_EQ(calls_in(seen.errors), 1);
}

TEST_P(Handler, RunsWithItsMask) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_in_handler", GetParam());
    EXPECT_TRUE(died_of(seen, SIGSEGV)) << seen.status;
    EXPECT_EQ(calls_in(seen.errors), 1);
    const outcome open = run_program("fail_in_handler_that_defers_nothing", GetParam());
    EXPECT_TRUE(open.exited_with(0)) << open.status;
}

TEST_P(Handler, DoesNotGetWhatDeviceCodeDid) {
    NEEDS_FAILURES();
    const outcome seen = run_program("fail_on_device", GetParam());
    EXPECT_TRUE(seen.exited_with(0)) << seen.status;
    EXPECT_EQ(calls_in(seen.errors), 0);
}

TEST_P(Handler, MayCallTheOneThatItReplaced) {
    NEEDS_FAILURES();
    const outcome seen = run_program("call_handler_before", GetParam());
    EXPECT_TRUE(died_of(seen, SIGSEGV)) << seen.status;
    EXPECT_EQ(calls_in(seen.errors), 1);
}

TEST_P(Handler, MayBeReplacedByTheOneBefore) {
    NEEDS_FAILURES();
    const outcome seen = run_program("restore_handler", GetParam());
    EXPECT_TRUE(died_of(seen, SIGSEGV)) << seen.status;
    EXPECT_EQ(calls_in(seen.errors), 0);
}

TEST_P(Handler, MayBeReplacedByTheOneBeforeWithSignal) {
    NEEDS_FAILURES();
    const bool has_handler = std::string(GetParam()) == install_before;
    for (const char* part : {"restore_handler_by_signal", "restore_handler_by_signal_and_launch"}) {
        const outcome seen = run_program(part, GetParam());
        EXPECT_TRUE(has_handler ? seen.exited_with(0) : died_of(seen, SIGSEGV))
            << part << seen.status << seen.errors;
        EXPECT_EQ(calls_in(seen.errors), has_handler ? 1 : 0) << part;
    }
}

TEST_P(Handler, MayCallTheOneThatItReplacedWithTheSignalAlone) {
    NEEDS_FAILURES();
    const outcome seen = run_program("call_handler_of_signal", GetParam());
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_EQ(calls_in(seen.errors), 2);
    if (is_cpu_device()) { // otherwise the default isn't a function that can be called
        const outcome none = run_program("call_default_by_signal", GetParam());
        EXPECT_TRUE(died_of(none, SIGFPE)) << none.status << none.errors;
        EXPECT_EQ(calls_in(none.errors), 1);
    }
    const outcome on_device = run_program("call_handler_of_signal_on_device", GetParam());
    EXPECT_TRUE(on_device.exited_with(0)) << on_device.status << on_device.errors;
}

TEST_P(Handler, IsNotLostIfItIsInstalledWhileTheLibraryInstallsItsOwn) {
    NEEDS_FAILURES();
    if (!is_cpu_device()) GTEST_SKIP() << "the library installs no handler";
    const outcome seen = run_program("install_while_the_library_does", GetParam());
    EXPECT_TRUE(seen.exited_with(0)) << seen.status << seen.errors;
    EXPECT_EQ(calls_in(seen.errors), 1);
}

TEST_P(Handler, OfNoneEndsTheProgramByTheSignal) {
    NEEDS_FAILURES();
    EXPECT_TRUE(died_of(run_program("die_of_segv", GetParam()), SIGSEGV));
    EXPECT_TRUE(died_of(run_program("die_of_fpe", GetParam()), SIGFPE));
    EXPECT_TRUE(died_of(run_program("die_of_abrt", GetParam()), SIGABRT));
    EXPECT_TRUE(died_of(run_program("die_of_breakpoint", GetParam()), SIGTRAP));
    const outcome ignored = run_program("ignore_traps", GetParam());
    EXPECT_TRUE(died_of(ignored, SIGTRAP)) << ignored.status << ignored.errors;
}

INSTANTIATE_TEST_SUITE_P(Installed, Handler, testing::Values(install_before, install_after),
                         [](const auto& how) { return how.index == 0 ? "Before" : "After"; });

void fail_quietly() {
    hmm::launch(1, [](std::size_t) { std::abort(); });
    std::exit(hmm::synchronize(std::nothrow) == hmmErrorAssert ? 0 : 1);
}

int run_part(const std::string& name) {
    const struct {
        const char* name;
        void (*run)();
    } parts[] = {
        {"fail_and_throw", fail_and_throw},
        {"fail_and_leave", fail_and_leave},
        {"fail_and_look", fail_and_look},
        {"fail_quietly", fail_quietly},
        {"never_end", never_end},
        {"leave_handlers", leave_handlers},
        {"return_from_handler_once", return_from_handler_once},
        {"fail_in_handler", fail_in_handler},
        {"fail_in_handler_that_defers_nothing", fail_in_handler_that_defers_nothing},
        {"fail_on_device", fail_on_device},
        {"ignore_traps", ignore_traps},
        {"call_handler_before", call_handler_before},
        {"restore_handler", restore_handler},
        {"restore_handler_by_signal", restore_handler_by_signal},
        {"restore_handler_by_signal_and_launch", restore_handler_by_signal_and_launch},
        {"call_handler_of_signal", call_handler_of_signal},
        {"call_default_by_signal", call_default_by_signal},
        {"call_handler_of_signal_on_device", call_handler_of_signal_on_device},
        {"install_while_the_library_does", install_while_the_library_does},
        {"die_of_segv", die_of<SIGSEGV>},
        {"die_of_fpe", die_of<SIGFPE>},
        {"die_of_abrt", die_of<SIGABRT>},
        {"die_of_breakpoint", die_of_breakpoint},
        {"print", print},
        {"recurse_deeply", recurse_deeply},
        {"block_signals", block_signals},
        {"end_launches_by_exit", end_launches_by_exit},
        {"end_launches_by_quick_exit", end_launches_by_quick_exit},
        {"end_launches_by_err", end_launches_by_err},
        {"end_children_of_device_code", end_children_of_device_code},
    };
    for (const auto& part : parts)
        if (name == part.name) {
            part.run();
            return 0;
        }
    return 125;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--part") return run_part(argv[2]);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
