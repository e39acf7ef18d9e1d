// SPDX-License-Identifier: MIT
/*
 * Traverses a graph in malloc memory, level by level, on the CPU, and on the
 * device in three ways: lazy (pages move when they are touched), prefetched, and
 * with advice. After each level the CPU reads whether there is another one.
 *
 *     traversal [VERTICES]
 *
 * Memory is named and each way is a section, so `hmmctl profile -- traversal`
 * shows what each costs, and which memory moves back and forth.
 */
#include <hmm/hmm.hpp>

#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t edges_of_each = 8, page = 4096;
constexpr std::int32_t unreached = -1;

/// Edges of vertex v: targets[first[v]] to targets[first[v + 1] - 1].
struct graph {
    std::vector<std::uint32_t> first, targets;

    explicit graph(std::size_t vertices) {
        std::uint64_t random = 1;
        for (std::size_t v = 0; v < vertices; v++) {
            first.push_back(static_cast<std::uint32_t>(targets.size()));
            for (std::size_t i = 0; i < edges_of_each; i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                targets.push_back(static_cast<std::uint32_t>((random >> 33) % vertices));
            }
        }
        first.push_back(static_cast<std::uint32_t>(targets.size()));
    }
    std::size_t vertices() const { return first.size() - 1; }
};

/// Has a page of its own, because CPU and device both use it.
struct alignas(page) progress {
    std::atomic<bool> reached_more;
};

/// The CPU and the device both call this function, for different vertices.
void visit(const graph& of, std::int32_t* levels, std::int32_t level, std::size_t v,
           progress& found) {
    if (levels[v] != level) return;
    for (std::uint32_t i = of.first[v]; i < of.first[v + 1]; i++) {
        const std::atomic_ref target(levels[of.targets[i]]);
        if (target.load(std::memory_order_relaxed) != unreached) continue;
        target.store(level + 1, std::memory_order_relaxed); // racing writers store the same value
        found.reached_more.store(true, std::memory_order_relaxed);
    }
}

std::vector<std::int32_t> first_levels(const graph& of) {
    std::vector<std::int32_t> levels(of.vertices(), unreached);
    levels[0] = 0;
    return levels;
}

std::vector<std::int32_t> traverse_on_cpu(const graph& of) {
    std::vector<std::int32_t> levels = first_levels(of);
    const auto found = std::make_unique<progress>();
    for (std::int32_t level = 0;; level++) {
        found->reached_more = false;
        for (std::size_t v = 0; v < of.vertices(); v++)
            visit(of, levels.data(), level, v, *found);
        if (!found->reached_more) return levels;
    }
}

/// The data of a traversal on the device.
struct traversal {
    graph of;
    std::vector<std::int32_t> levels;
    std::unique_ptr<progress> found = std::make_unique<progress>();

    explicit traversal(std::size_t vertices) : of(vertices), levels(first_levels(of)) {
        hmm::name(of.first, "first edges");
        hmm::name(of.targets, "targets");
        hmm::name(levels, "levels");
        hmm::name(std::span(found.get(), 1), "progress");
    }

    void run() {
        for (std::int32_t level = 0;; level++) {
            found->reached_more = false;
            hmm::parallel_for(std::size_t{0}, of.vertices(), [this, level](std::size_t v) {
                visit(of, levels.data(), level, v, *found);
            });
            if (!found->reached_more) return;
        }
    }
};

void nothing(traversal&) {}

void prefetch(traversal& one) {
    hmm::prefetch_batch({std::span(one.of.first), std::span(one.of.targets)}, hmm::device(0));
    hmm::prefetch(one.levels, hmm::device(0));
}

// The device writes the progress page in system memory, because the CPU reads it
// after each level.
void advise(traversal& one) {
    prefetch(one);
    const std::span progress(one.found.get(), 1);
    hmm::advise(progress, hmm::preferred(hmm::host));
    hmm::advise(progress, hmm::accessed_by(hmm::device(0)));
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

void measure(const char* label, std::size_t vertices, const std::vector<std::int32_t>& expected,
             void (*prepare)(traversal&)) {
    traversal one(vertices);
    const hmmStats before = hmm::stats();
    const auto start = std::chrono::steady_clock::now();
    {
        const hmm::section way(label);
        prepare(one);
        one.run();
    }
    const double time = milliseconds_since(start);
    const hmmStats after = hmm::stats();
    const auto grown = [&](std::uint64_t hmmStats::*count) {
        return static_cast<unsigned long>(after.*count - before.*count);
    };
    std::printf("%-12s %8.1f ms %8lu %8lu %8lu KiB %8lu KiB\n", label, time,
                grown(&hmmStats::deviceFaults), grown(&hmmStats::cpuFaults),
                grown(&hmmStats::pagesToDevice) * 4, grown(&hmmStats::pagesToHost) * 4);
    if (one.levels != expected) throw std::runtime_error("the results differ");
}

std::size_t vertices_of(const std::string& text) {
    std::size_t end = 0;
    const unsigned long number = std::isdigit(text[0]) ? std::stoul(text, &end) : 0;
    if (number == 0 || end != text.size() || number > UINT32_MAX / edges_of_each)
        throw std::invalid_argument("usage: traversal [VERTICES]");
    return number;
}

} // namespace

int main(int argc, char** argv) try {
    const std::size_t vertices = argc > 1 ? vertices_of(argv[1]) : 100'000;
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();

    const graph reference(vertices);
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::int32_t> expected = traverse_on_cpu(reference);
    std::printf("%zu vertices with %zu edges each, in malloc memory\n", vertices, edges_of_each);
    std::printf("%-12s %11s %8s %8s %12s %12s\n", "", "time", "faults", "by CPU", "to device",
                "to host");
    std::printf("%-12s %8.1f ms   one thread\n", "CPU", milliseconds_since(start));
    measure("lazy", vertices, expected, nothing);
    measure("prefetched", vertices, expected, prefetch);
    measure("advised", vertices, expected, advise);
    std::printf("all reached the same vertices at the same levels\n");
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
