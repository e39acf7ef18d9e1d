// SPDX-License-Identifier: MIT
/*
 * The kernel's own HMM test driver, lib/test_hmm. We measure it in another process: in this one, it
 * and the runtime's devices would get each other's invalidations.
 */
#include "patterns.hpp"
#include "peers.hpp"
#include "program_memory.hpp"
#include "test_hmm.hpp"
#include "work.hpp"
#include "worker.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

namespace bench {
namespace {

/// hmmrt_dmirror's nodes have the same names, so their existence doesn't prove anything.
constexpr const char* loaded_module = "/sys/module/test_hmm";

class test_hmm_work : public work {
  public:
    test_hmm_work(std::size_t pages, bool back)
        : device_(open(test_hmm::node, O_RDWR | O_CLOEXEC)),
          back_(back),
          memory_(pages * page_bytes),
          copy_(pages * page_bytes) {
        if (device_.get() < 0) fail(test_hmm::node);
        stay_on_this_processor();
        std::memset(memory_.data(), 1, memory_.span().size());
        std::memset(copy_.data(), 0, copy_.span().size());
        if (back_) move(test_hmm::move_to_device);
    }

    void run() override { move(back_ ? test_hmm::move_to_system : test_hmm::move_to_device); }

  private:
    [[noreturn]] static void fail(const char* what) {
        throw std::system_error(errno, std::generic_category(), what);
    }
    /// The kernel doesn't move a page that is still in a processor's own batch and not yet on a
    /// shared list. An ioctl only flushes the batch of the processor that it runs on.
    static void stay_on_this_processor() {
        cpu_set_t processor;
        CPU_ZERO(&processor);
        CPU_SET(static_cast<unsigned>(sched_getcpu()), &processor);
        if (sched_setaffinity(0, sizeof(processor), &processor) != 0) fail("sched_setaffinity");
    }
    void move(unsigned long call) const {
        test_hmm::request request = {reinterpret_cast<std::uintptr_t>(memory_.data()),
                                     reinterpret_cast<std::uintptr_t>(copy_.data()),
                                     memory_.span().size() / page_bytes, 0, 0};
        if (ioctl(device_.get(), call, &request) != 0) fail("test_hmm");
        if (request.done != request.pages)
            throw std::runtime_error("test_hmm left pages where they were");
    }

    tools::descriptor device_;
    bool back_;
    mapping memory_, copy_;
};

class test_hmm_peer : public peer {
  public:
    test_hmm_peer(const std::string& name, std::size_t pages)
        : request_{{"work", name}, {"pages", pages}}, pages_(pages) {}

    double measure() override { return seconds_together(std::span(&process_, 1), request_); }
    std::size_t operations() const override { return pages_; }

  private:
    hmmctl::json request_;
    std::size_t pages_;
    worker process_;
};

} // namespace

std::unique_ptr<work> make_test_hmm_work(std::size_t pages, bool back) {
    return std::make_unique<test_hmm_work>(pages, back);
}

std::unique_ptr<peer> make_test_hmm(std::string_view name, std::size_t pages) {
    if (access(loaded_module, F_OK) != 0)
        throw not_possible("the kernel's module test_hmm is not loaded");
    if (access(test_hmm::node, R_OK | W_OK) != 0)
        throw not_possible(std::string(test_hmm::node) + ": " + std::strerror(errno));
    return std::make_unique<test_hmm_peer>(std::string(name), pages);
}

} // namespace bench
