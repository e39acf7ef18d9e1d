// SPDX-License-Identifier: MIT
// Concurrent storms and prefetches by several lanes and devices.
#include "patterns.hpp"
#include "program_memory.hpp"
#include "work.hpp"

#include <hmm/hmm.hpp>

#include <cstring>
#include <vector>

namespace bench {
namespace {

/// A stream that keeps one lane of a device busy.
class busy_lane {
  public:
    busy_lane(hmm::device where, std::size_t pages)
        : device_(where), memory_(pages * page_bytes), stream_(stream_of(where)) {
        std::memset(memory_.data(), 1, memory_.span().size());
        const hmm::scoped_device use(device_);
        hmm::launch(stream_, 1, [](std::size_t) {}); // warm-up: starts device and lane
        stream_.synchronize();
    }

    void touch() const {
        const hmm::scoped_device use(device_);
        hmm::launch(stream_, 1, [data = memory_.span()](std::size_t) {
            sequential.run(data.data(), data.size());
        });
    }
    void prefetch() const {
        const hmm::scoped_device use(device_);
        hmm::prefetch(memory_.span(), device_, stream_);
    }
    void wait() const { stream_.synchronize(); }

  private:
    static hmm::stream stream_of(hmm::device where) {
        const hmm::scoped_device use(where);
        return hmm::stream(hmmStreamNonBlocking);
    }

    hmm::device device_;
    mapping memory_;
    hmm::stream stream_;
};

class scaling_work : public work {
  public:
    scaling_work(bool faults, const scaling_size& size) : faults_(faults) {
        for (unsigned device = 0; device < size.devices; device++)
            for (unsigned lane = 0; lane < size.lanes; lane++)
                parts_.push_back(
                    std::make_unique<busy_lane>(hmm::device(static_cast<int>(device)), size.pages));
    }

    void run() override {
        for (const auto& one : parts_)
            faults_ ? one->touch() : one->prefetch();
        for (const auto& one : parts_)
            one->wait();
    }

  private:
    bool faults_;
    std::vector<std::unique_ptr<busy_lane>> parts_;
};

} // namespace

std::unique_ptr<work> make_scaling_work(bool faults, const scaling_size& size) {
    return std::make_unique<scaling_work>(faults, size);
}

} // namespace bench
