// SPDX-License-Identifier: MIT
/*
 * Measures the cost of recording events: a storm of device faults over 64 MiB, with nothing
 * recorded, with a ring of all events of the space, and with a ring of device faults only. We
 * measure the second storm after each change, because an emulated machine translates the kernel's
 * code again in the first one. The three alternate, so that all run under the same load of the
 * machine. Ratios are medians over the rounds.
 */
#include "manager.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>
#include <linux/hmmrt_event.h>

#include <chrono>
#include <cstdio>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int rounds = 9;
constexpr std::size_t page = 4096, storm_bytes = 64 << 20;
constexpr unsigned ring_events = 1u << 16;

/// Records events of the space until it is destroyed.
class ring {
  public:
    ring(const bench::manager& manager, std::uint64_t types) {
        hmmrt_events_open open = {};
        open.scope = HMMRT_EVENTS_OF_SPACE;
        open.events = ring_events;
        open.types = types;
        open.wake_events = ring_events;
        manager.call(HMMRT_IOC_EVENTS_OPEN, open, "HMMRT_IOC_EVENTS_OPEN");
        fd_ = open.out_fd;
        bytes_ = open.out_map_bytes;
        header_ = static_cast<hmmrt_event_ring*>(
            mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0));
        if (header_ == MAP_FAILED) bench::fail("mmap");
    }
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring() {
        munmap(header_, bytes_);
        close(fd_);
    }
    std::uint64_t events() const { return __atomic_load_n(&header_->head, __ATOMIC_ACQUIRE); }
    std::uint64_t dropped() const {
        std::uint64_t sum = 0;
        for (const auto count : header_->dropped)
            sum += count;
        return sum;
    }

  private:
    int fd_;
    std::size_t bytes_;
    hmmrt_event_ring* header_;
};

/// The kernel keeps recording for a second after the last ring is closed.
void pause() {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
}

/// Returns how many seconds the device takes to touch each page of memory that the CPU has filled.
double storm() {
    const auto memory = bench::filled(storm_bytes);
    char* const data = memory->data();
    return bench::seconds([=] {
        hmm::launch(1, [=](std::size_t) {
            for (std::size_t at = 0; at < storm_bytes; at += page)
                data[at]++;
        });
        hmm::synchronize();
    });
}

struct recorded {
    std::vector<double> times;
    std::uint64_t events = 0, dropped = 0;

    void measure(const bench::manager& manager, std::uint64_t types) {
        const ring open(manager, types);
        storm();
        const auto before = open.events();
        times.push_back(storm());
        events = open.events() - before;
        dropped += open.dropped();
    }
    void print(const char* what, const std::vector<double>& off) const {
        std::printf("  %-34s %8.2f ms %9.3f (want < 1.03) %8llu events %llu dropped\n", what,
                    bench::median(times) * 1e3, bench::median_ratio(times, off),
                    static_cast<unsigned long long>(events),
                    static_cast<unsigned long long>(dropped));
    }
};

void measure(const bench::manager& manager, bool prefetch) {
    std::vector<double> off;
    recorded all, faults;
    manager.set_prefetch(prefetch);
    storm();
    for (int round = 0; round < rounds; round++) {
        pause();
        storm();
        off.push_back(storm());
        all.measure(manager, HMMRT_EVENTS_EXCEPT_ACCESS);
        faults.measure(manager, HMMRT_EVENT_BIT(HMMRT_EVENT_DEVICE_FAULT));
    }
    std::printf("storm over 64 MiB, prefetch by density %s, time and ratio to nothing recorded:\n",
                prefetch ? "on" : "off");
    std::printf("  %-34s %8.2f ms\n", "nothing recorded", bench::median(off) * 1e3);
    all.print("all events of the space", off);
    faults.print("device faults only", off);
}

} // namespace

int main() {
    const bench::manager manager;
    measure(manager, true);
    measure(manager, false);
}
