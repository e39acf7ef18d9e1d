// SPDX-License-Identifier: MIT
/*
 * The kernel's own HMM driver, lib/test_hmm. It runs in a process without hmmrt, so that neither
 * driver gets the other's invalidations.
 */
#pragma once

#include "manager.hpp"
#include "measure.hpp"
#include "test_hmm.hpp"

#include <cinttypes>
#include <csignal>
#include <cstring>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {

class kernel_driver {
  public:
    struct times {
        double to_device; ///< the call also reads the moved pages and copies them to the caller
        double read;      ///< only that reading, of pages that are on the device
        double to_host;
    };

    /// Forks, so create it before the first launch.
    explicit kernel_driver(std::size_t bytes) : bytes_(bytes) {
        insert();
        int questions[2], answers[2];
        if (pipe(questions) != 0 || pipe(answers) != 0) fail("pipe");
        child_ = fork();
        if (child_ < 0) fail("fork");
        if (child_ == 0) {
            close(questions[1]);
            answer(questions[0], answers[1]);
        }
        close(questions[0]);
        close(answers[1]);
        ask_ = questions[1];
        answers_ = answers[0];
    }
    kernel_driver(const kernel_driver&) = delete;
    kernel_driver& operator=(const kernel_driver&) = delete;
    ~kernel_driver() {
        close(ask_);
        close(answers_);
        waitpid(child_, nullptr, 0);
        syscall(SYS_delete_module, "test_hmm", 0);
    }

    times measure() const {
        times result;
        if (write(ask_, "", 1) != 1) fail("the process of the kernel's driver");
        if (read(answers_, &result, sizeof(result)) != sizeof(result)) fail("the kernel's driver");
        return result;
    }

  private:
    static void insert() {
        const char* build = std::getenv("HMMRT_KERNEL_BUILD");
        const std::string path = std::string(build ? build : "") + "/lib/test_hmm.ko";
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        if (file < 0 || syscall(SYS_finit_module, file, "", 0) != 0) fail(path.c_str());
        close(file);
    }

    [[noreturn]] void answer(int questions, int answers) const {
        const int device = open(test_hmm::node, O_RDWR | O_CLOEXEC);
        if (device < 0) fail(test_hmm::node);
        const mapping memory(bytes_, MAP_PRIVATE), copy(bytes_, MAP_PRIVATE);
        madvise(memory.data(), bytes_, MADV_NOHUGEPAGE);
        std::memset(memory.data(), 1, bytes_);
        std::memset(copy.data(), 1, bytes_);
        char byte;
        while (read(questions, &byte, 1) == 1) {
            times result;
            const auto taken = [&](unsigned long number) {
                return seconds([&] { call(device, number, memory, copy); });
            };
            result.to_device = taken(test_hmm::move_to_device);
            result.read = taken(test_hmm::read_pages);
            result.to_host = taken(test_hmm::move_to_system);
            if (write(answers, &result, sizeof(result)) != sizeof(result)) fail("pipe");
        }
        _exit(0);
    }

    static void call(int device, unsigned long number, const mapping& memory, const mapping& copy) {
        test_hmm::request request = {reinterpret_cast<std::uintptr_t>(memory.data()),
                                     reinterpret_cast<std::uintptr_t>(copy.data()),
                                     memory.size() / static_cast<std::size_t>(getpagesize()), 0, 0};
        if (ioctl(device, number, &request) != 0) fail("test_hmm");
        if (request.done == request.pages) return;
        std::fprintf(stderr, "test_hmm: %" PRIu64 " of %" PRIu64 " pages\n", request.done,
                     request.pages);
        std::exit(1);
    }

    std::size_t bytes_;
    pid_t child_ = -1;
    int ask_ = -1, answers_ = -1;
};

} // namespace bench
