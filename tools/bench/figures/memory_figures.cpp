// SPDX-License-Identifier: MIT
/*
 * Measures the memory calls: a prefetch compared with memcpy() and with the
 * kernel's own driver, in alternation; how huge pages migrate back; and what
 * advice costs with many ranges.
 *
 * Figures are medians of `repetitions` after one warm-up round. Each ratio
 * compares measurements of the same round, so that both run under the same load
 * of the machine.
 */
#include "kernel_driver.hpp"
#include "manager.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace {

constexpr std::size_t bytes = 64 << 20;
constexpr int repetitions = 7;
const auto page_size = static_cast<std::size_t>(getpagesize());

void print_time(const char* name, const std::vector<double>& values, double unit,
                const char* unit_name) {
    std::printf("  %-46s %9.2f %s\n", name, bench::median(values) * unit, unit_name);
}

void print_ratio(const char* name, const std::vector<double>& of, const std::vector<double>& to,
                 const char* wanted) {
    std::printf("%-48s %9.2f %s\n", name, bench::median_ratio(of, to), wanted);
}

// ---- prefetches

void prefetch(const bench::manager& manager, char* memory, unsigned int location) {
    hmmrt_prefetch argument = {};
    argument.addr = reinterpret_cast<std::uintptr_t>(memory);
    argument.len = bytes;
    argument.location = location;
    manager.call(HMMRT_IOC_PREFETCH, argument, "HMMRT_IOC_PREFETCH");
    if (argument.out_pages_moved == bytes / page_size) return;
    std::fprintf(stderr, "prefetch: %llu pages moved\n", argument.out_pages_moved);
    std::exit(1);
}

struct prefetch_figures {
    std::vector<double> memcpy, to_device, to_host;
    std::vector<double> their_device, their_device_alone, their_host;
};

class prefetch_bench {
  public:
    explicit prefetch_bench(const bench::manager& manager) : manager_(manager) {
        for (const auto* memory : {&memory_, &from_, &to_}) {
            madvise(memory->data(), bytes, MADV_NOHUGEPAGE);
            std::memset(memory->data(), 1, bytes);
        }
    }

    void measure_once(prefetch_figures& figures, const bench::kernel_driver& theirs) const {
        figures.memcpy.push_back(
            bench::seconds([&] { std::memcpy(to_.data(), from_.data(), bytes); }));
        figures.to_device.push_back(bench::seconds([&] { prefetch(0); }));
        figures.to_host.push_back(bench::seconds([&] { prefetch(HMMRT_LOCATION_HOST); }));
        const auto times = theirs.measure();
        figures.their_device.push_back(times.to_device);
        figures.their_device_alone.push_back(times.to_device - times.read);
        figures.their_host.push_back(times.to_host);
    }

  private:
    void prefetch(unsigned int location) const { ::prefetch(manager_, memory_.data(), location); }

    const bench::manager& manager_;
    bench::mapping memory_{bytes, MAP_PRIVATE};
    bench::mapping from_{bytes, MAP_PRIVATE}, to_{bytes, MAP_PRIVATE};
};

void print_prefetches(const prefetch_figures& f) {
    std::printf("64 MiB in single pages:\n");
    print_time("memcpy()", f.memcpy, 1e3, "ms");
    print_time("prefetch to the device", f.to_device, 1e3, "ms");
    print_time("prefetch back", f.to_host, 1e3, "ms");
    print_time("test_hmm to the device", f.their_device, 1e3, "ms");
    print_time("test_hmm to the device, less reading it there", f.their_device_alone, 1e3, "ms");
    print_time("test_hmm back", f.their_host, 1e3, "ms");
    print_ratio("prefetch / memcpy()", f.to_device, f.memcpy, "");
    print_ratio("prefetch back / memcpy()", f.to_host, f.memcpy, "");
    print_ratio("test_hmm / prefetch", f.their_device, f.to_device, "(want >= 2.5)");
    print_ratio("test_hmm less reading / prefetch", f.their_device_alone, f.to_device, "");
    print_ratio("test_hmm back / prefetch back", f.their_host, f.to_host, "(want >= 1.5)");
}

void measure_prefetches(const bench::manager& manager, const bench::kernel_driver& theirs) {
    const prefetch_bench ours(manager);
    prefetch_figures figures, warming_up;
    ours.measure_once(warming_up, theirs);
    for (int i = 0; i < repetitions; i++)
        ours.measure_once(figures, theirs);
    print_prefetches(figures);
}

// ---- huge pages

constexpr std::size_t huge_page_size = 2 << 20;

struct huge_figures {
    std::vector<double> touch, longest, to_host;
    std::vector<double> touch_new, longest_new;
};

/// Uses huge pages where the kernel supports them in device memory. Elsewhere
/// they migrate as single pages.
class huge_bench {
  public:
    explicit huge_bench(const bench::manager& manager)
        : manager_(manager), data_(filled(memory_)) {}

    void measure_once(huge_figures& figures) {
        prefetch(manager_, data_, 0);
        touch_all(figures.touch, figures.longest);
        prefetch(manager_, data_, 0);
        // Take the memory that the data left, so that the data migrates back to
        // other memory.
        kept_.push_back(std::make_unique<bench::mapping>(bytes + huge_page_size, MAP_PRIVATE));
        filled(*kept_.back());
        touch_all(figures.touch_new, figures.longest_new);
        prefetch(manager_, data_, 0);
        figures.to_host.push_back(
            bench::seconds([&] { prefetch(manager_, data_, HMMRT_LOCATION_HOST); }));
    }

  private:
    static char* filled(const bench::mapping& memory) {
        const auto number = reinterpret_cast<std::uintptr_t>(memory.data());
        char* const first = memory.data() + (-number & (huge_page_size - 1));
        madvise(first, bytes, MADV_HUGEPAGE);
        std::memset(first, 1, bytes);
        return first;
    }
    void touch_all(std::vector<double>& sums, std::vector<double>& longest) const {
        double sum = 0, most = 0;
        for (std::size_t at = 0; at < bytes; at += huge_page_size) {
            const double taken = bench::seconds([&] { touch(data_ + at); });
            sum += taken;
            most = std::max(most, taken);
        }
        sums.push_back(sum);
        longest.push_back(most);
    }
    static void touch(const char* huge_page) {
        for (std::size_t at = 0; at < huge_page_size; at += page_size)
            static_cast<void>(*static_cast<const volatile char*>(huge_page + at));
    }

    const bench::manager& manager_;
    bench::mapping memory_{bytes + huge_page_size, MAP_PRIVATE};
    char* data_;
    std::vector<std::unique_ptr<bench::mapping>> kept_;
};

void print_huge(const huge_figures& f) {
    double worst = 0;
    for (std::size_t i = 0; i < f.touch.size(); i++)
        worst = std::max(worst, f.touch[i] / f.to_host[i]);
    std::printf("64 MiB in huge pages:\n");
    print_time("CPU touches them on the device", f.touch, 1e3, "ms");
    print_time("the one that takes longest", f.longest, 1e3, "ms");
    print_time("CPU touches them, moved to other memory", f.touch_new, 1e3, "ms");
    print_time("the one that takes longest", f.longest_new, 1e3, "ms");
    print_time("prefetch back", f.to_host, 1e3, "ms");
    print_ratio("CPU touches / prefetch back", f.touch, f.to_host, "(want <= 1.5)");
    std::printf("%-48s %9.2f (want <= 1.5)\n", "the same, worst round", worst);
    print_ratio("CPU touches, other memory / prefetch back", f.touch_new, f.to_host, "");
}

void measure_huge(const bench::manager& manager) {
    huge_bench huge(manager);
    huge_figures figures, warming_up;
    huge.measure_once(warming_up);
    for (int i = 0; i < repetitions; i++)
        huge.measure_once(figures);
    print_huge(figures);
}

// ---- advice

constexpr std::size_t ranges = 100000;
constexpr std::size_t sample = 1000;

struct advice_figures {
    std::vector<double> first, middle, last;
    std::vector<double> attributes_none, attributes_first, attributes_middle, attributes_last;
    std::vector<double> attributes_all;
    std::vector<double> fault_none, fault_elsewhere, fault_among, unmap;
};

/*
 * Shared memory: its faults migrate nothing, which leaves lookup and mapping.
 * Every other page has system memory as its preferred location, where shared
 * pages are mapped anyway.
 */
class advice_bench {
  public:
    explicit advice_bench(const bench::manager& manager) : manager_(manager) {}

    void measure_once(advice_figures& figures) const {
        {
            const bench::mapping plain(ranges * page_size, MAP_SHARED);
            figures.attributes_none.push_back(attributes(plain, 0));
            figures.fault_none.push_back(faults(plain));
        }
        auto advised = std::make_unique<bench::mapping>(ranges * page_size, MAP_SHARED);
        figures.first.push_back(advise(*advised, 0, sample));
        advise(*advised, sample, (ranges - sample) / 2);
        figures.middle.push_back(advise(*advised, (ranges - sample) / 2, (ranges + sample) / 2));
        advise(*advised, (ranges + sample) / 2, ranges - sample);
        figures.last.push_back(advise(*advised, ranges - sample, ranges));

        figures.attributes_first.push_back(attributes(*advised, 0));
        figures.attributes_middle.push_back(attributes(*advised, (ranges - sample) / 2));
        figures.attributes_last.push_back(attributes(*advised, ranges - sample));
        figures.attributes_all.push_back(
            bench::seconds([&] { attributes_of(advised->data(), advised->size()); }) / ranges);
        {
            const bench::mapping plain(ranges * page_size, MAP_SHARED);
            figures.fault_elsewhere.push_back(faults(plain));
        }
        figures.fault_among.push_back(faults(*advised));
        figures.unmap.push_back(bench::seconds([&] { advised.reset(); }) / ranges);
    }

  private:
    /// Makes a call for each page, and returns the seconds per call.
    double advise(const bench::mapping& memory, std::size_t from, std::size_t to) const {
        return bench::seconds([&] {
                   for (std::size_t i = from; i < to; i++)
                       advise_page(memory.data() + i * page_size, i % 2 != 0);
               }) /
               static_cast<double>(to - from);
    }
    void advise_page(char* page, bool prefers_host) const {
        hmmrt_advise argument = {};
        argument.addr = reinterpret_cast<std::uintptr_t>(page);
        argument.len = page_size;
        argument.advice =
            prefers_host ? HMMRT_ADVICE_SET_PREFERRED_LOCATION : HMMRT_ADVICE_SET_READ_MOSTLY;
        argument.location = prefers_host ? HMMRT_LOCATION_HOST : 0;
        manager_.call(HMMRT_IOC_ADVISE, argument, "HMMRT_IOC_ADVISE");
    }

    /// Returns the seconds per call for one page, from page @p from on.
    double attributes(const bench::mapping& memory, std::size_t from) const {
        return bench::seconds([&] {
                   for (std::size_t i = from; i < from + sample; i++)
                       attributes_of(memory.data() + i * page_size, page_size);
               }) /
               sample;
    }
    void attributes_of(char* start, std::size_t size) const {
        hmmrt_range_attributes argument = {};
        argument.addr = reinterpret_cast<std::uintptr_t>(start);
        argument.len = size;
        manager_.call(HMMRT_IOC_RANGE_ATTRIBUTES, argument, "HMMRT_IOC_RANGE_ATTRIBUTES");
    }

    /// Returns the seconds per device fault on a page that the CPU has filled.
    double faults(const bench::mapping& memory) const {
        constexpr std::size_t stride = ranges / sample;
        static_assert(stride % 2 == 0, "the same advice for all");
        char* first = memory.data() + page_size;
        const std::size_t step = stride * page_size;
        for (std::size_t i = 0; i < sample; i++)
            first[i * step] = 1;
        hmm::launch(1, [](std::size_t) {}); // wakes the lane
        hmm::synchronize();
        const auto before = manager_.statistics().out_device_faults;
        const double taken = bench::seconds([&] {
            hmm::launch(1, [=](std::size_t) {
                for (std::size_t i = 0; i < sample; i++)
                    static_cast<void>(*static_cast<volatile char*>(first + i * step));
            });
            hmm::synchronize();
        });
        const auto faults = manager_.statistics().out_device_faults - before;
        if (faults < sample) {
            std::fprintf(stderr, "%llu faults for %zu pages\n", faults, sample);
            std::exit(1);
        }
        return taken / sample;
    }

    const bench::manager& manager_;
};

void print_advice(const advice_figures& f) {
    std::printf("%zu ranges of one page, two kinds of advice in turns, times of one:\n", ranges);
    print_time("advise, first 1000 calls", f.first, 1e6, "us");
    print_time("advise, 1000 calls in the middle", f.middle, 1e6, "us");
    print_time("advise, last 1000 calls", f.last, 1e6, "us");
    print_time("attributes, without advice", f.attributes_none, 1e6, "us");
    print_time("attributes, first 1000 ranges", f.attributes_first, 1e6, "us");
    print_time("attributes, 1000 in the middle", f.attributes_middle, 1e6, "us");
    print_time("attributes, last 1000 ranges", f.attributes_last, 1e6, "us");
    print_time("attributes, of all in one call", f.attributes_all, 1e6, "us");
    print_time("device fault, without advice", f.fault_none, 1e6, "us");
    print_time("device fault, the ranges are elsewhere", f.fault_elsewhere, 1e6, "us");
    print_time("device fault, among the ranges", f.fault_among, 1e6, "us");
    print_time("unmapped, with its advice", f.unmap, 1e6, "us");
    print_ratio("advise, last / first", f.last, f.first, "(want <= 2)");
    print_ratio("advise, middle / first", f.middle, f.first, "(want <= 2)");
    print_ratio("attributes, last / without advice", f.attributes_last, f.attributes_none, "");
    print_ratio("device fault, ranges elsewhere / none", f.fault_elsewhere, f.fault_none, "");
    print_ratio("device fault, among ranges / none", f.fault_among, f.fault_none, "");
}

void measure_advice(const bench::manager& manager) {
    const advice_bench advice(manager);
    advice_figures figures, warming_up;
    advice.measure_once(warming_up);
    for (int i = 0; i < repetitions; i++)
        advice.measure_once(figures);
    print_advice(figures);
}

} // namespace

int main() try {
    const bench::kernel_driver theirs(bytes);
    hmm::launch(1, [](std::size_t) {}); // binds the device
    hmm::synchronize();
    const bench::manager manager;
    measure_prefetches(manager, theirs);
    measure_huge(manager);
    measure_advice(manager);
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s: %s\n", error.operation(), error.what());
    return 1;
}
