// SPDX-License-Identifier: MIT
/*
 * Measurements that hmmctl-bench runs in worker processes, because they need a different
 * environment, several processes, or memory that the runtime's devices don't mirror.
 */
#pragma once

#include "json.hpp"

#include <cstddef>
#include <memory>

namespace bench {

/// Something that is measured once. The constructor prepares it.
class work {
  public:
    work() = default;
    work(const work&) = delete;
    work& operator=(const work&) = delete;
    virtual ~work() = default;

    virtual void run() = 0;
};

/// The argument that makes hmmctl-bench a worker process.
constexpr const char* worker_argument = "work";

/// Does the work that it reads from standard input, until end of file, and prints the start and end
/// time of each.
void serve();

/// Makes the work for a request from worker::prepare().
std::unique_ptr<work> make_work(const hmmctl::json& request);

/// The size of a scaling measurement: each lane of each device has @pages of its own.
struct scaling_size {
    unsigned devices = 1, lanes = 1;
    std::size_t pages = 0;
};

// Work from other files, for make_work().
std::unique_ptr<work> make_scaling_work(bool faults, const scaling_size& size);
std::unique_ptr<work> make_test_hmm_work(std::size_t pages, bool back);

} // namespace bench
