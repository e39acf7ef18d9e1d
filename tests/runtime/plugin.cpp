// SPDX-License-Identifier: MIT
// A library that uses the device. A program loads it at run time.
#include <hmm/hmm.hpp>

extern "C" __attribute__((visibility("default"))) bool use_device() {
    int answer = 0;
    hmm::launch(1, [&](std::size_t) { answer = 42; });
    return hmm::synchronize(std::nothrow) == hmmSuccess && answer == 42;
}
