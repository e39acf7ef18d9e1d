// SPDX-License-Identifier: MIT
/*
 * What processes beside hmmctl-bench measure for it: what takes another environment, several
 * processes, or memory that no device of the runtime watches.
 */
#pragma once

#include "json.hpp"

#include <cstddef>
#include <memory>

namespace bench {

/// Something that is measured once. Its construction makes it ready.
class work {
  public:
    work() = default;
    work(const work&) = delete;
    work& operator=(const work&) = delete;
    virtual ~work() = default;

    virtual void run() = 0;
};

/// The argument of hmmctl-bench that makes it a process for work.
constexpr const char* worker_argument = "work";

/// Does the work that standard input asks for, to its end, and prints when each began and ended.
void serve();

/// Returns the work that a request of worker::prepare() asks for.
std::unique_ptr<work> make_work(const hmmctl::json& request);

/// What scales: each lane of each device has @pages for itself.
struct scaling_size {
    unsigned devices = 1, lanes = 1;
    std::size_t pages = 0;
};

// Those that make_work() finds in other files.
std::unique_ptr<work> make_scaling_work(bool faults, const scaling_size& size);
std::unique_ptr<work> make_test_hmm_work(std::size_t pages, bool back);

} // namespace bench
