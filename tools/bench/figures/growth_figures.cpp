// SPDX-License-Identifier: MIT
/*
 * Measures memory objects: four ways to grow a vector; the cost of one step of a
 * vector that is already large; mapping one granule and setting its access,
 * compared with mmap() and munmap() of shared memory; and setting access for one
 * device and for all devices.
 *
 * Figures are medians of `repetitions` after one warm-up round. Each ratio
 * compares measurements of the same round. The largest vector needs devices of
 * 2 GiB: tools/vm run --memory 8G --device-memory 2560M -- growth_figures
 */
#include "chart.hpp"
#include "measure.hpp"

#include <hmm/hmm.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t mib = 1 << 20, unit = 2 * mib;
constexpr int repetitions = 5;

void check(hmmError_t error, const char* what) {
    if (error == hmmSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, hmmGetErrorString(error));
    std::exit(1);
}

/// We fill only the first granule of a vector. Its contents must survive.
void put_contents(void* memory) {
    check(hmmMemset(memory, 7, unit), "memset");
}

void check_contents(const void* memory) {
    std::vector<char> copy(unit);
    check(hmmMemcpy(copy.data(), memory, unit, hmmMemcpyDefault), "memcpy");
    for (const char byte : copy) {
        if (byte == 7) continue;
        std::fprintf(stderr, "the contents were lost\n");
        std::exit(1);
    }
}

// ---- growing by doubling

double grow_by_mapping(std::size_t bytes) {
    hmm::growable_vector<char> vector(hmm::device(0));
    vector.grow(unit);
    put_contents(vector.data());
    const double taken = bench::seconds([&] {
        while (vector.size() < bytes)
            vector.grow(vector.size());
    });
    check_contents(vector.data());
    return taken;
}

/// Allocates twice the memory, copies, and frees the old memory, until there are @bytes.
template <class Allocate>
double grow_by_copying(std::size_t bytes, Allocate allocate) {
    void* memory = allocate(unit);
    put_contents(memory);
    const double taken = bench::seconds([&] {
        for (std::size_t size = unit; size < bytes; size *= 2) {
            void* const larger = allocate(2 * size);
            check(hmmMemcpy(larger, memory, size, hmmMemcpyDefault), "memcpy");
            check(hmmFree(memory), "free");
            memory = larger;
        }
    });
    check_contents(memory);
    check(hmmFree(memory), "free");
    return taken;
}

void* allocated(std::size_t bytes) {
    void* memory = nullptr;
    check(hmmMalloc(&memory, bytes), "malloc");
    return memory;
}

void prefetch(char* memory, std::size_t bytes) {
    check(hmmMemPrefetchAsync(memory, bytes, 0, nullptr), "prefetch");
}

void* allocated_managed(std::size_t bytes) {
    void* memory = nullptr;
    check(hmmMallocManaged(&memory, bytes, hmmMemAttachGlobal), "malloc");
    return memory;
}

void* prefetched(std::size_t bytes) {
    void* const memory = allocated_managed(bytes);
    prefetch(static_cast<char*>(memory), bytes);
    return memory;
}

double grow_in_reserved(std::size_t bytes) {
    auto* const memory = static_cast<char*>(allocated_managed(bytes));
    prefetch(memory, unit);
    put_contents(memory);
    const double taken = bench::seconds([&] {
        for (std::size_t size = unit; size < bytes; size *= 2) {
            prefetch(memory + size, size);
            check(hmmDeviceSynchronize(), "synchronize");
        }
    });
    check_contents(memory);
    check(hmmFree(memory), "free");
    return taken;
}

/// Times of the four ways: memory objects in a growable_vector; hmmMalloc(), copy
/// and hmmFree(); the same with managed memory and prefetch; managed memory that
/// is allocated once, and prefetched in parts.
struct growth {
    std::vector<double> mapping, copying, prefetching, reserved;
};

void measure_growth(growth& into, std::size_t bytes) {
    into.mapping.push_back(grow_by_mapping(bytes));
    into.copying.push_back(grow_by_copying(bytes, allocated));
    into.prefetching.push_back(grow_by_copying(bytes, prefetched));
    into.reserved.push_back(grow_in_reserved(bytes));
}

/// Prints the bars of one size, with the factor to mapping.
void print_growth(std::vector<chart::bar>& bars, const growth& of, std::size_t bytes) {
    const std::string size = std::to_string(bytes / mib) + " MiB: ";
    std::vector<chart::bar> here;
    const auto add = [&](const char* how, const std::vector<double>& times) {
        char factor[32];
        std::snprintf(factor, sizeof(factor), "(%.1f x)", bench::median_ratio(times, of.mapping));
        here.push_back({size + how, bench::median(times) * 1e3, factor});
    };
    add("mapping", of.mapping);
    add("copying", of.copying);
    add("prefetching", of.prefetching);
    add("reserved", of.reserved);
    chart::print(here);
    bars.insert(bars.end(), here.begin(), here.end());
}

void measure_all_growth() {
    std::vector<chart::bar> bars;
    for (const std::size_t bytes : {64 * mib, 256 * mib, 1024 * mib}) {
        growth figures, warming_up;
        measure_growth(warming_up, bytes);
        for (int i = 0; i < repetitions; i++)
            measure_growth(figures, bytes);
        print_growth(bars, figures, bytes);
    }
    const char* const out = std::getenv("HMMRT_OUT");
    if (out == nullptr) return;
    const std::string path = std::string(out) + "/growth.svg";
    if (chart::write_svg(path, "Growing by doubling from 2 MiB, in device memory", bars))
        std::printf("written: %s\n", path.c_str());
}

// ---- a step of a vector that is already large

/// Returns the time of 16 steps of one granule. @reserved: the vector reserves the addresses first.
double steps_of(std::size_t held, bool reserved) {
    constexpr int steps = 16;
    hmm::growable_vector<char> vector(hmm::device(0));
    if (reserved) vector.reserve(held + steps * unit);
    vector.grow(held);
    return bench::seconds([&] {
        for (int i = 0; i < steps; i++)
            vector.grow(unit);
    });
}

void measure_steps() {
    std::vector<double> small, large, small_moved, large_moved;
    for (int i = 0; i <= repetitions; i++) {
        small.push_back(steps_of(64 * mib, true));
        large.push_back(steps_of(1024 * mib, true));
        small_moved.push_back(steps_of(64 * mib, false));
        large_moved.push_back(steps_of(1024 * mib, false));
    }
    const auto print = [](const char* what, const std::vector<double>& held_much,
                          const std::vector<double>& held_little, const char* wanted) {
        std::printf("%-28s %8.1f ms %8.1f ms %9.2f%s\n", what, bench::median(held_little) * 1e3,
                    bench::median(held_much) * 1e3, bench::median_ratio(held_much, held_little),
                    wanted);
    };
    std::printf("%-28s %11s %11s %9s\n", "16 steps of 2 MiB", "64 MiB held", "1 GiB held", "ratio");
    print("addresses reserved", large, small, " (want <= 1.5)");
    print("addresses not reserved", large_moved, small_moved, "");
}

// ---- one granule

/// Populated shared memory, like the memory object.
class shared_memory {
  public:
    shared_memory() : fd_(memfd_create("growth_figures", MFD_CLOEXEC)) {
        if (fd_ < 0 || ftruncate(fd_, unit) != 0) std::exit(1);
        map_and_unmap();
    }
    shared_memory(const shared_memory&) = delete;
    ~shared_memory() { close(fd_); }
    void map_and_unmap() const {
        void* const at =
            mmap(nullptr, unit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
        if (at == MAP_FAILED || munmap(at, unit) != 0) std::exit(1);
    }

  private:
    int fd_;
};

void measure_granule() {
    constexpr int rounds = 200;
    const hmm::device gpu(0);
    const hmm::physical_memory memory(unit, gpu);
    const hmm::address_range range(unit);
    const shared_memory shared;
    std::vector<double> ours, theirs, call;
    for (int i = 0; i <= repetitions; i++) {
        ours.push_back(bench::seconds([&] {
            for (int j = 0; j < rounds; j++) {
                const hmm::mapping mapped(range.get().data(), memory);
                mapped.set_access(gpu, hmm::memory_access::read_write);
            }
        }));
        theirs.push_back(bench::seconds([&] {
            for (int j = 0; j < rounds; j++)
                shared.map_and_unmap();
        }));
        call.push_back(bench::seconds([&] {
            for (int j = 0; j < rounds; j++)
                getppid();
        }));
    }
    std::printf("2 MiB mapped, with access, and unmapped:\n");
    std::printf("%-48s %9.2f us\n", "memory object", bench::median(ours) / rounds * 1e6);
    std::printf("%-48s %9.2f us\n", "shared memory, with its pages",
                bench::median(theirs) / rounds * 1e6);
    std::printf("%-48s %9.2f us\n", "a system call", bench::median(call) / rounds * 1e6);
    std::printf("%-48s %9.2f\n", "memory object / shared memory",
                bench::median_ratio(ours, theirs));
}

// ---- devices

/// Sets access of 1,000 mappings of one granule, for devices [0, @devices).
double access_of(const std::vector<hmm::mapping>& mappings, int devices,
                 hmm::memory_access access) {
    std::vector<hmmMemAccessDesc> all;
    for (int i = 0; i < devices; i++)
        all.push_back(
            {hmm::location(hmm::device(i)).get(), static_cast<hmmMemAccessFlags>(access)});
    return bench::seconds([&] {
        for (const hmm::mapping& each : mappings)
            hmm::set_access(each.get(), std::span<const hmmMemAccessDesc>(all));
    });
}

void measure_devices() {
    constexpr std::size_t count = 1000;
    int devices = 0;
    check(hmmGetDeviceCount(&devices), "devices");
    const hmm::physical_memory memory(unit, hmm::device(0));
    const hmm::address_range range(count * unit);
    std::vector<hmm::mapping> mappings;
    for (std::size_t i = 0; i < count; i++)
        mappings.emplace_back(range.get().data() + i * unit, memory);
    std::vector<double> one, all, enable;
    for (int i = 0; i <= repetitions; i++) {
        one.push_back(access_of(mappings, 1, hmm::memory_access::read_write));
        access_of(mappings, 1, hmm::memory_access::none);
        all.push_back(access_of(mappings, devices, hmm::memory_access::read_write));
        access_of(mappings, devices, hmm::memory_access::none);
        enable.push_back(bench::seconds([&] {
            for (int peer = 1; peer < devices; peer++)
                check(hmmDeviceEnablePeerAccess(peer, 0), "peer access");
        }));
        for (int peer = 1; peer < devices; peer++)
            check(hmmDeviceDisablePeerAccess(peer), "peer access");
    }
    std::printf("%d devices, 1,000 mappings of 2 MiB:\n", devices);
    std::printf("%-48s %9.2f us\n", "access of one device, each", bench::median(one) / count * 1e6);
    std::printf("%-48s %9.2f us\n", "access of all devices, each",
                bench::median(all) / count * 1e6);
    std::printf("%-48s %9.2f\n", "all devices / one", bench::median_ratio(all, one));
    std::printf("%-48s %9.2f us\n", "peer access of device 0 to all others",
                bench::median(enable) * 1e6);
}

} // namespace

int main(int argc, char** argv) {
    const bool only_devices = argc > 1 && std::strcmp(argv[1], "devices") == 0;
    if (!only_devices) {
        measure_all_growth();
        measure_steps();
        measure_granule();
    }
    measure_devices();
    return 0;
}
