// SPDX-License-Identifier: MIT
/*
 * Measures the policies: a sweep over more memory than the device has compared
 * with one that fits, what read duplication saves, and the effect of choosing
 * eviction victims by access.
 *
 * Figures are medians of `repetitions`. Each ratio compares measurements of the
 * same round, so that both run under the same load of the machine.
 */
#include "manager.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <vector>

namespace {

constexpr int repetitions = 5;
constexpr std::size_t block = 2 << 20;

std::uint64_t device_bytes(const bench::manager& manager) {
    hmmrt_device_info info = {};
    manager.call(HMMRT_IOC_DEVICE_INFO, info, "HMMRT_IOC_DEVICE_INFO");
    return info.out_memory_bytes;
}

// Pages moved in both directions since the binding was made.
std::uint64_t pages_moved(const bench::manager& manager) {
    const hmmrt_stats stats = manager.statistics();
    return stats.out_migrated_to_device + stats.out_evicted_pages;
}

void sweep(char* data, std::size_t bytes) {
    hmm::launch(1, [=](std::size_t) {
        auto* words = reinterpret_cast<std::uint64_t*>(data);
        for (std::size_t i = 0; i < bytes / sizeof(*words); i += 8)
            words[i] += i;
    });
    hmm::synchronize();
}

// ---- sweeps over more than the device has

struct sweep_figures {
    std::vector<double> fitting, twice; // per page that moved
};

double sweep_time(const bench::manager& manager, char* data, std::size_t bytes) {
    const auto before = pages_moved(manager);
    const double taken = bench::seconds([&] { sweep(data, bytes); });
    return taken / static_cast<double>(pages_moved(manager) - before);
}

void measure_sweeps(const bench::manager& manager) {
    const auto capacity = device_bytes(manager);
    sweep_figures f;
    for (int i = 0; i < repetitions; i++) {
        {
            const auto memory = bench::filled(capacity / 2);
            f.fitting.push_back(sweep_time(manager, memory->data(), memory->size()));
        }
        const auto memory = bench::filled(capacity * 2);
        sweep(memory->data(), memory->size()); // fills the device with it
        f.twice.push_back(sweep_time(manager, memory->data(), memory->size()));
    }
    std::printf("sweep over half of the device, and over twice as much as it has:\n");
    std::printf("  %-46s %9.2f us\n", "for a page moved, half", bench::median(f.fitting) * 1e6);
    std::printf("  %-46s %9.2f us\n", "for a page moved, twice", bench::median(f.twice) * 1e6);
    std::printf("%-48s %9.2f (want <= 1.5)\n", "twice / half",
                bench::median_ratio(f.twice, f.fitting));
}

// ---- reading more than the device has

void duplicate_reads(const bench::manager& manager, bool on) {
    hmmrt_knob knob = {};
    knob.knob = HMMRT_KNOB_READ_DUPLICATION;
    knob.operation = HMMRT_KNOB_SET;
    knob.scope = HMMRT_SCOPE_SPACE;
    knob.value = on ? 1 : 0;
    manager.call(HMMRT_IOC_KNOB, knob, "HMMRT_IOC_KNOB");
}

double read_time(const char* data, std::size_t bytes) {
    return bench::seconds([=] {
        hmm::launch(1, [=](std::size_t) {
            std::uint64_t sum = 0;
            for (std::size_t i = 0; i < bytes; i += 64)
                sum += *reinterpret_cast<const volatile std::uint64_t*>(data + i);
            static_cast<void>(sum);
        });
        hmm::synchronize();
    });
}

void measure_reads(const bench::manager& manager) {
    const auto memory = bench::filled(2 * device_bytes(manager));
    std::vector<double> moved, copied;
    for (int i = 0; i < repetitions; i++)
        for (const bool on : {false, true}) {
            duplicate_reads(manager, on);
            read_time(memory->data(), memory->size()); // evicts what the other mode left
            (on ? copied : moved).push_back(read_time(memory->data(), memory->size()));
        }
    duplicate_reads(manager, false);
    std::printf("twice as much as the device has, only read:\n");
    std::printf("  %-46s %9.2f ms\n", "moved", bench::median(moved) * 1e3);
    std::printf("  %-46s %9.2f ms\n", "copied (read_duplication)", bench::median(copied) * 1e3);
    std::printf("%-48s %9.2f\n", "copied / moved", bench::median_ratio(copied, moved));
}

// ---- hot memory among memory that is used once

struct victim_figures {
    std::vector<double> faults, moved;
};

void choose_by_access(bool on) {
    std::ofstream file("/sys/module/hmmrt/parameters/evict_by_access");
    if (!(file << (on ? "Y" : "N") << std::flush)) bench::fail("evict_by_access");
}

// Sweeps over a third of the device again and again, and once over twice its
// memory.
void measure_mix(const bench::manager& manager, victim_figures& f) {
    const auto capacity = device_bytes(manager);
    const auto hot = bench::filled(capacity / 3 / block * block),
               cold = bench::filled(2 * capacity);
    const auto before = manager.statistics();
    for (std::size_t at = 0; at < cold->size(); at += 4 * block) {
        sweep(hot->data(), hot->size());
        sweep(cold->data() + at, 4 * block);
    }
    const auto after = manager.statistics();
    f.faults.push_back(static_cast<double>(after.out_device_faults - before.out_device_faults));
    f.moved.push_back(
        static_cast<double>(after.out_migrated_to_device - before.out_migrated_to_device));
}

void measure_victims(const bench::manager& manager) {
    victim_figures by_access, by_allocation;
    for (int i = 0; i < repetitions; i++) {
        choose_by_access(false);
        measure_mix(manager, by_allocation);
        choose_by_access(true);
        measure_mix(manager, by_access);
    }
    std::printf("a third of the device again and again, twice the device once:\n");
    std::printf("  %-46s %9.0f\n", "device faults, by access", bench::median(by_access.faults));
    std::printf("  %-46s %9.0f\n", "device faults, by allocation",
                bench::median(by_allocation.faults));
    std::printf("  %-46s %9.0f\n", "pages to the device, by access",
                bench::median(by_access.moved));
    std::printf("  %-46s %9.0f\n", "pages to the device, by allocation",
                bench::median(by_allocation.moved));
    std::printf("%-48s %9.2f\n", "faults by access / by allocation",
                bench::median_ratio(by_access.faults, by_allocation.faults));
}

} // namespace

int main() try {
    hmm::launch(1, [](std::size_t) {}); // binds the device
    hmm::synchronize();
    const bench::manager manager;
    measure_sweeps(manager);
    measure_reads(manager);
    measure_victims(manager);
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s: %s\n", error.operation(), error.what());
    return 1;
}
