// SPDX-License-Identifier: MIT
/*
 * Measures device faults: how many a sweep causes with and without prefetch by
 * density, and what one fault costs while another thread maps and unmaps, with
 * much memory mapped, and with many processes on the device.
 *
 * Figures are medians of `repetitions`. Each ratio compares measurements of the
 * same round, so that both run under the same load of the machine.
 */
#include "manager.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

constexpr int repetitions = 7;
constexpr std::size_t page = 4096, block = 2 << 20;
constexpr std::size_t granule = 64 << 10; // what one fault moves without prefetch

void touch_pages(char* data, std::size_t bytes, std::size_t stride) {
    hmm::launch(1, [=](std::size_t) {
        for (std::size_t at = 0; at < bytes; at += stride)
            data[at]++;
    });
    hmm::synchronize();
}

// ---- with and without prefetch

double faults_of_a_sweep(const bench::manager& manager) {
    const auto memory = bench::filled(64 << 20);
    const auto before = manager.statistics().out_device_faults;
    touch_pages(memory->data(), memory->size(), page);
    return static_cast<double>(manager.statistics().out_device_faults - before);
}

void measure_prefetch(const bench::manager& manager) {
    const double with = faults_of_a_sweep(manager);
    manager.set_prefetch(false);
    const double without = faults_of_a_sweep(manager);
    manager.set_prefetch(true);
    std::printf("sweep over 64 MiB:\n");
    std::printf("  %-46s %9.0f\n", "device faults with prefetch", with);
    std::printf("  %-46s %9.0f\n", "device faults without prefetch", without);
    std::printf("%-48s %9.2f (want >= 10)\n", "without / with", without / with);
}

// ---- the cost of one fault

/// Returns the seconds per fault for @p count faults that move a granule each.
double fault_time(std::size_t count) {
    const auto memory = bench::filled(count * granule);
    return bench::seconds([&] { touch_pages(memory->data(), memory->size(), granule); }) /
           static_cast<double>(count);
}

/// The same for CPU faults, as a baseline for what the kernel can do.
double cpu_fault_time(std::size_t count) {
    const bench::mapping memory(count * page, MAP_PRIVATE);
    madvise(memory.data(), memory.size(), MADV_NOHUGEPAGE);
    return bench::seconds([&] { std::memset(memory.data(), 1, memory.size()); }) /
           static_cast<double>(count);
}

/// A thread of this process that repeats something until it is destroyed.
class busy_thread {
  public:
    template <class Function>
    explicit busy_thread(Function once)
        : thread_([this, once] {
              while (!end_) {
                  once();
                  times_++;
              }
          }) {
        while (!times_)
            std::this_thread::yield();
    }
    ~busy_thread() {
        end_ = true;
        thread_.join();
    }
    long times() const { return times_; }

  private:
    std::atomic<bool> end_{false};
    std::atomic<long> times_{0};
    std::thread thread_;
};

void map_and_unmap() {
    const bench::mapping memory(1 << 20, MAP_PRIVATE);
    memory.data()[0] = 1;
}

/// Returns the seconds per MiB of a sweep with prefetch enabled.
double sweep_time(const bench::manager& manager, std::size_t mib) {
    const auto memory = bench::filled(mib << 20);
    manager.set_prefetch(true);
    const double time = bench::seconds([&] { touch_pages(memory->data(), memory->size(), page); });
    manager.set_prefetch(false);
    return time / static_cast<double>(mib);
}

struct fault_times {
    std::vector<double> device, sweep, cpu;

    void measure(const bench::manager& manager) {
        device.push_back(fault_time(512));
        sweep.push_back(sweep_time(manager, 64));
        cpu.push_back(cpu_fault_time(4096));
    }
    void print(const char* when) const {
        std::printf("  device fault, %-32s %9.2f us\n", when, bench::median(device) * 1e6);
        std::printf("  MiB of a sweep, %-30s %9.2f us\n", when, bench::median(sweep) * 1e6);
        std::printf("  CPU fault, %-35s %9.2f us\n", when, bench::median(cpu) * 1e6);
    }
};

void print_kept(const char* versus, const fault_times& before, const fault_times& mapping) {
    const auto line = [=](const char* what, const std::vector<double>& with,
                          const std::vector<double>& without) {
        char label[64];
        std::snprintf(label, sizeof label, "%s, maps / %s", what, versus);
        std::printf("%-48s %9.2f\n", label, bench::median_ratio(without, with));
    };
    line("sweep by device faults", mapping.sweep, before.sweep);
    line("device faults of 64 KiB", mapping.device, before.device);
    line("CPU faults", mapping.cpu, before.cpu);
}

// A computing thread has a cost, too: unmapping has to send TLB invalidations
// to its CPU. So "computes" is a second baseline.
void measure_traffic(const bench::manager& manager) {
    fault_times quiet, computing, mapping;
    long maps = 0;
    for (int i = 0; i < repetitions; i++) {
        quiet.measure(manager);
        {
            const busy_thread others([] {});
            computing.measure(manager);
        }
        const busy_thread others(map_and_unmap);
        mapping.measure(manager);
        maps += others.times();
    }
    std::printf("faults while another thread maps and unmaps (%ld times):\n", maps);
    quiet.print("quiet");
    computing.print("another thread computes");
    mapping.print("another thread maps");
    std::printf("throughput that is left (want >= 0.9):\n");
    print_kept("computes", computing, mapping);
    print_kept("quiet", quiet, mapping);
}

void measure_mapped() {
    constexpr std::size_t much = 8UL << 30;
    std::vector<double> small, large;
    for (int i = 0; i < repetitions; i++) {
        {
            const auto memory = bench::filled(1 << 20);
            touch_pages(memory->data(), memory->size(), page);
            small.push_back(fault_time(512));
        }
        // Touch one page per block: the manager gets to know all blocks, and
        // device memory stays free.
        const bench::mapping memory(much, MAP_PRIVATE | MAP_NORESERVE);
        madvise(memory.data(), much, MADV_NOHUGEPAGE);
        hmm::set_granularity(std::span(memory.data(), much), page);
        hmm::advise(std::span(memory.data(), much), hmm::no_migrate);
        touch_pages(memory.data(), much, block);
        large.push_back(fault_time(512));
    }
    std::printf("a fault, with so much mapped:\n");
    std::printf("  %-46s %9.2f us\n", "1 MiB", bench::median(small) * 1e6);
    std::printf("  %-46s %9.2f us\n", "8 GiB", bench::median(large) * 1e6);
    std::printf("%-48s %9.2f (want <= 1.2)\n", "8 GiB / 1 MiB", bench::median_ratio(large, small));
}

// ---- many processes

/// Processes that use the device when told to, and live until told to exit.
class crowd {
  public:
    explicit crowd(int count) {
        if (pipe(go_) != 0 || pipe(ready_) != 0 || pipe(end_) != 0) bench::fail("pipe");
        for (int i = 0; i < count; i++) {
            const pid_t child = fork();
            if (child < 0) bench::fail("fork");
            if (child == 0) live();
            children_.push_back(child);
        }
        close(end_[0]);
        close(go_[0]);
    }
    crowd(const crowd&) = delete;
    crowd& operator=(const crowd&) = delete;
    ~crowd() {
        close(go_[1]);
        close(end_[1]);
        for (const pid_t child : children_)
            waitpid(child, nullptr, 0);
    }

    void arrive() {
        for (std::size_t i = 0; i < children_.size(); i++)
            if (write(go_[1], "", 1) != 1) bench::fail("write");
        char byte = 0;
        for (std::size_t i = 0; i < children_.size(); i++)
            if (read(ready_[0], &byte, 1) != 1 || byte) bench::fail("a process of the crowd");
    }

  private:
    [[noreturn]] void live() {
        close(go_[1]);
        close(end_[1]);
        char byte = 1;
        if (read(go_[0], &byte, 1) != 1) _exit(1);
        try {
            const auto memory = bench::filled(1 << 20);
            touch_pages(memory->data(), memory->size(), page);
            byte = 0;
        } catch (const hmm::error& error) {
            std::fprintf(stderr, "%s: %s\n", error.operation(), error.what());
            byte = 1;
        }
        if (write(ready_[1], &byte, 1) != 1 || read(end_[0], &byte, 1) < 0) _exit(1);
        _exit(0);
    }

    int go_[2] = {}, ready_[2] = {}, end_[2] = {};
    std::vector<pid_t> children_;
};

void measure_processes(crowd& others, int count) {
    std::vector<double> alone, among;
    for (int i = 0; i < repetitions; i++)
        alone.push_back(fault_time(512));
    others.arrive();
    for (int i = 0; i < repetitions; i++)
        among.push_back(fault_time(512));
    std::printf("a fault, with so many processes on the device:\n");
    std::printf("  %-46s %9.2f us\n", "1", bench::median(alone) * 1e6);
    std::printf("  %-46d %9.2f us\n", count, bench::median(among) * 1e6);
    std::printf("%-48s %9.2f (want <= 1.2)\n", "many / 1",
                bench::median(among) / bench::median(alone));
}

} // namespace

int main() try {
    constexpr int processes = 64;
    crowd others(processes - 1);        // forks, so before this process has threads
    hmm::launch(1, [](std::size_t) {}); // binds the device
    hmm::synchronize();
    const bench::manager manager;
    measure_prefetch(manager);
    manager.set_prefetch(false);
    measure_traffic(manager);
    measure_mapped();
    measure_processes(others, processes);
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s: %s\n", error.operation(), error.what());
    return 1;
}
