// SPDX-License-Identifier: MIT
/*
 * The project's main figures, medians of `repetitions`: device code compared
 * with the CPU, faulting compared with prefetching, a launch compared with the
 * cheapest way in which two processes can alternate, and the gain from running
 * a copy concurrently with a kernel, compared with the gain of two CPU threads.
 *
 * One lane does the work, like the one CPU thread that it is compared with.
 */
#include "manager.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <linux/futex.h>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t bytes = 64 << 20;
constexpr std::size_t count = bytes / sizeof(float);
constexpr int repetitions = 7;
constexpr int rounds = 2000;

// ---- alternating processes

void futex(std::atomic<unsigned>& word, int operation, unsigned value) {
    syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

struct shared_words {
    alignas(64) std::atomic<unsigned> ping{0};
    alignas(64) std::atomic<unsigned> pong{0};
};

void answer_forever(shared_words& words) {
    for (unsigned round = 0;; round++) {
        while (words.ping.load() == round)
            futex(words.ping, FUTEX_WAIT, round);
        words.pong.store(round + 1);
        futex(words.pong, FUTEX_WAKE, 1);
    }
}

/// Another process to alternate with. Create it before the first launch.
class opponent {
  public:
    opponent() : words_(*new (memory_.data()) shared_words), child_(fork()) {
        if (child_ < 0) bench::fail("fork");
        if (child_ == 0) answer_forever(words_);
    }
    opponent(const opponent&) = delete;
    opponent& operator=(const opponent&) = delete;
    ~opponent() {
        kill(child_, SIGKILL);
        waitpid(child_, nullptr, 0);
    }

    /// Returns the seconds per round trip. Each side sleeps while the other
    /// runs.
    double ping_pong() {
        const double taken = bench::seconds([&] {
            for (int k = 0; k < rounds; k++, round_++) {
                words_.ping.store(round_ + 1);
                futex(words_.ping, FUTEX_WAKE, 1);
                while (words_.pong.load() == round_)
                    futex(words_.pong, FUTEX_WAIT, round_);
            }
        });
        return taken / rounds;
    }

  private:
    bench::mapping memory_{sizeof(shared_words), MAP_SHARED};
    shared_words& words_;
    pid_t child_;
    unsigned round_ = 0;
};

double null_launch() {
    const double taken = bench::seconds([] {
        for (int k = 0; k < rounds; k++) {
            hmm::launch(1, [](std::size_t) {});
            hmm::synchronize();
        }
    });
    return taken / rounds;
}

void measure_turns() {
    std::vector<double> turns, launches;
    opponent other;
    for (int i = 0; i <= repetitions; i++) {
        turns.push_back(other.ping_pong());
        launches.push_back(null_launch());
    }
    turns.erase(turns.begin()); // the first is a warm-up
    launches.erase(launches.begin());
    std::printf("futex ping-pong of two processes  %9.2f us\n", bench::median(turns) * 1e6);
    std::printf("null launch + synchronize         %9.2f us\n", bench::median(launches) * 1e6);
    std::printf("null launch / ping-pong          %6.3f  (want <= 1.5)\n",
                bench::median_ratio(launches, turns));
}

// ---- memory

[[gnu::noinline]] void scale(float* data) {
    for (std::size_t i = 0; i < count; i++)
        data[i] = data[i] * 2 + 1;
}

[[gnu::noinline]] float sum(const float* data) {
    float result = 0;
    for (std::size_t i = 0; i < count; i++)
        result += data[i];
    return result;
}

/// Memory that the CPU has just filled, newly mapped for each measurement.
class fresh_memory {
  public:
    fresh_memory()
        : data_(static_cast<float*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        if (data_ == MAP_FAILED) bench::fail("mmap");
        for (std::size_t i = 0; i < count; i++)
            data_[i] = static_cast<float>(i % 1000);
    }
    fresh_memory(const fresh_memory&) = delete;
    fresh_memory& operator=(const fresh_memory&) = delete;
    ~fresh_memory() { munmap(data_, bytes); }

    float* data() const { return data_; }
    std::span<float> span() const { return {data_, count}; }

  private:
    float* data_;
};

/// Reads one word per page: the cost of getting the pages, nearly without
/// reading.
float touch(const float* data) {
    float all = 0;
    for (std::size_t i = 0; i < count; i += 4096 / sizeof(*data))
        all += data[i];
    return all;
}

double device_loop(float* data) {
    return bench::seconds([=] {
        hmm::launch(1, [=](std::size_t) { scale(data); });
        hmm::synchronize();
    });
}

double prefetch(const fresh_memory& memory, auto where) {
    return bench::seconds([&] {
        hmm::prefetch(memory.span(), where);
        hmm::synchronize();
    });
}

struct memory_figures {
    std::vector<double> cold, warm, cpu, read_back, prefetch, prefetched, prefetch_back,
        read_system;
    std::vector<double> touch_back;
    hmmrt_stats before, after;
};

void measure_once(memory_figures& figures, const bench::manager& manager) {
    volatile float sink;
    {
        const fresh_memory memory;
        figures.cpu.push_back(bench::seconds([&] { scale(memory.data()); }));
        figures.before = manager.statistics();
        figures.cold.push_back(device_loop(memory.data()));
        figures.after = manager.statistics();
        figures.warm.push_back(device_loop(memory.data()));
        figures.read_back.push_back(bench::seconds([&] { sink = sum(memory.data()); }));
    }
    const fresh_memory memory;
    figures.prefetch.push_back(prefetch(memory, hmm::device(0)));
    figures.prefetched.push_back(device_loop(memory.data()));
    figures.prefetch_back.push_back(prefetch(memory, hmm::host));
    figures.read_system.push_back(bench::seconds([&] { sink = sum(memory.data()); }));
    prefetch(memory, hmm::device(0));
    figures.touch_back.push_back(bench::seconds([&] { sink = touch(memory.data()); }));
    static_cast<void>(sink);
}

void print_times(const char* name, const std::vector<double>& values) {
    std::printf("  %-34s %9.2f ms\n", name, bench::median(values) * 1e3);
}

void print_memory(const memory_figures& f) {
    const auto of = [](const std::vector<double>& values) { return bench::median(values); };
    std::printf("64 MiB of floats, one lane:\n");
    print_times("CPU loop", f.cpu);
    print_times("device loop, cold", f.cold);
    print_times("device loop, warm", f.warm);
    print_times("prefetch", f.prefetch);
    print_times("device loop after prefetch", f.prefetched);
    print_times("CPU reads it back", f.read_back);
    print_times("CPU touches its pages", f.touch_back);
    print_times("prefetch back", f.prefetch_back);
    print_times("CPU reads system memory", f.read_system);
    std::printf("  cold: %llu device faults, %llu pages migrated, %llu mapped\n",
                f.after.out_device_faults - f.before.out_device_faults,
                f.after.out_migrated_to_device - f.before.out_migrated_to_device,
                f.after.out_mapped_pages - f.before.out_mapped_pages);
    std::printf("warm device loop / CPU loop      %6.3f  (want <= 1.05)\n", of(f.warm) / of(f.cpu));
    std::printf("storm / (prefetch + loop)        %6.3f\n",
                of(f.cold) / (of(f.prefetch) + of(f.prefetched)));
    std::printf("CPU touches / prefetch back      %6.3f  (want <= 1.5)\n",
                of(f.touch_back) / of(f.prefetch_back));
    std::printf("CPU read-back / prefetch back    %6.3f\n", of(f.read_back) / of(f.prefetch_back));
    std::printf("CPU read-back / (back + reading) %6.3f\n",
                of(f.read_back) / (of(f.prefetch_back) + of(f.read_system)));
}

// ---- copies concurrent with kernels

/// Arithmetic only: it shares neither memory nor bandwidth with a copy.
[[gnu::noinline]] unsigned stir(std::size_t steps) {
    unsigned value = 1;
    for (std::size_t i = 0; i < steps; i++)
        value = value * 1664525 + 1013904223;
    return value;
}

struct copy_figures {
    std::vector<double> memcpy, cold, warm, apart, together;
    std::vector<double> threads_apart, threads_together;
};

class copy_bench {
  public:
    void measure_once(copy_figures& figures) {
        std::memcpy(to_.data(), from_.data(), bytes); // moves both to system memory
        figures.memcpy.push_back(
            bench::seconds([&] { std::memcpy(to_.data(), from_.data(), bytes); }));
        figures.cold.push_back(bench::seconds([&] { copy_alone(); }));
        figures.warm.push_back(bench::seconds([&] { copy_alone(); }));
        const std::size_t steps = steps_for(figures.warm.back());
        figures.apart.push_back(bench::seconds([&] {
            copy_alone();
            kernel_alone(steps);
        }));
        figures.together.push_back(bench::seconds([&] {
            hmm::copy(to_.span(), from_.span(), copies_);
            kernel_alone(steps);
            copies_.synchronize();
        }));
        measure_threads(figures, steps);
    }

  private:
    /// The same work by CPU threads: the gain that this machine allows at the moment.
    void measure_threads(copy_figures& figures, std::size_t steps) {
        const auto copy = [&] { std::memcpy(to_.data(), from_.data(), bytes); };
        const auto kernel = [=] {
            volatile unsigned sink = stir(steps);
            static_cast<void>(sink);
        };
        copy(); // moves both to system memory
        figures.threads_apart.push_back(bench::seconds([&] {
            copy();
            std::thread(kernel).join();
        }));
        figures.threads_together.push_back(bench::seconds([&] {
            std::thread beside(kernel);
            copy();
            beside.join();
        }));
    }
    void copy_alone() const {
        hmm::copy(to_.span(), from_.span(), copies_);
        copies_.synchronize();
    }
    void kernel_alone(std::size_t steps) const {
        hmm::launch(kernels_, 1, [=](std::size_t) {
            volatile unsigned sink = stir(steps);
            static_cast<void>(sink);
        });
        kernels_.synchronize();
    }
    /// Returns how many steps a kernel does in @p wanted seconds.
    std::size_t steps_for(double wanted) const {
        constexpr std::size_t trial = 4 << 20;
        kernel_alone(trial); // the first launch also takes faults
        const double taken = bench::seconds([&] { kernel_alone(trial); });
        return static_cast<std::size_t>(trial * (wanted / taken));
    }

    fresh_memory from_, to_;
    hmm::stream copies_, kernels_;
};

void print_copies(const copy_figures& f) {
    std::printf("copies of 64 MiB:\n");
    print_times("memcpy()", f.memcpy);
    print_times("copy, cold", f.cold);
    print_times("copy, warm", f.warm);
    print_times("copy, then a kernel as long", f.apart);
    print_times("copy beside that kernel", f.together);
    std::printf("warm copy / memcpy()             %6.3f  (want <= 1.05)\n",
                bench::median_ratio(f.warm, f.memcpy));
    std::printf("one after the other / beside     %6.3f  (want >= 1.6 on two processors)\n",
                bench::median_ratio(f.apart, f.together));
    std::printf("the same by two threads          %6.3f\n",
                bench::median_ratio(f.threads_apart, f.threads_together));
}

} // namespace

int main() try {
    measure_turns();

    const bench::manager manager;
    memory_figures figures;
    for (int i = 0; i < repetitions; i++)
        measure_once(figures, manager);
    print_memory(figures);

    copy_bench copies;
    copy_figures of_copies;
    for (int i = 0; i < repetitions; i++)
        copies.measure_once(of_copies);
    print_copies(of_copies);
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s: %s\n", error.operation(), error.what());
    return 1;
}
