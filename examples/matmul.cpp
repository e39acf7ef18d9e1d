// SPDX-License-Identifier: MIT
/*
 * Multiplies matrices in malloc memory on the CPU, and on the device in three
 * ways: lazy (pages move when the device touches them), prefetched, and with
 * advice. No matrix is allocated for a device or copied to one.
 *
 *     matmul [N]    matrices of N rows and columns
 *
 * Matrices are named and each way is a section, so `hmmctl profile -- matmul` can show both.
 */
#include <hmm/hmm.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using matrix = std::vector<float>;

struct problem {
    std::size_t n;
    matrix left, right, result;

    explicit problem(std::size_t size) : n(size), left(n * n), right(n * n), result(n * n) {
        for (std::size_t i = 0; i < n * n; i++) {
            left[i] = static_cast<float>(i * 7 % 13) - 6.0f;
            right[i] = static_cast<float>(i * 5 % 11) / 8.0f;
        }
    }
};

/// The CPU and the device both call this function, for different rows.
[[gnu::noinline]] void multiply_row(const float* left, const float* right, float* result,
                                    std::size_t n) {
    std::fill_n(result, n, 0.0f);
    for (std::size_t k = 0; k < n; k++)
        for (std::size_t column = 0; column < n; column++)
            result[column] += left[k] * right[k * n + column];
}

void multiply_on_cpu(problem& of) {
    for (std::size_t row = 0; row < of.n; row++)
        multiply_row(&of.left[row * of.n], of.right.data(), &of.result[row * of.n], of.n);
}

void multiply_on_device(problem& of) {
    hmm::parallel_for(
        std::size_t{0}, of.n,
        [left = of.left.data(), right = of.right.data(), result = of.result.data(),
         n = of.n](std::size_t row) { multiply_row(left + row * n, right, result + row * n, n); });
}

bool equal(const matrix& left, const matrix& right) {
    return std::memcmp(left.data(), right.data(), left.size() * sizeof(float)) == 0;
}

double sum(const matrix& of) {
    double total = 0;
    for (const float each : of)
        total += each;
    return total;
}

double milliseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
}

void nothing(problem&) {}

void prefetch(problem& of) {
    hmm::prefetch_batch({std::span(of.left), std::span(of.right), std::span(of.result)},
                        hmm::device(0));
}

// The device reads duplicates of the input, so the CPU keeps its pages.
void advise(problem& of) {
    hmm::advise(of.left, hmm::read_mostly);
    hmm::advise(of.right, hmm::read_mostly);
    hmm::advise(of.result, hmm::preferred(hmm::device(0)));
}

/// Reads all three matrices with the CPU afterwards, as a program would.
void measure(const char* label, std::size_t n, const matrix& expected, void (*prepare)(problem&)) {
    problem one(n);
    hmm::name(one.left, "left");
    hmm::name(one.right, "right");
    hmm::name(one.result, "result");
    const hmm::section way(label);
    const hmmStats before = hmm::stats();
    const auto start = std::chrono::steady_clock::now();
    prepare(one);
    multiply_on_device(one);
    const double product = milliseconds_since(start);
    const double total = sum(one.left) + sum(one.right) + sum(one.result);
    const double all = milliseconds_since(start);
    const hmmStats after = hmm::stats();
    const auto kib = [](std::uint64_t pages) { return static_cast<unsigned long>(pages * 4); };
    std::printf(
        "%-12s %8.1f ms %8.1f ms %8lu %8lu %8lu KiB %8lu KiB\n", label, product, all,
        static_cast<unsigned long>(after.deviceFaults - before.deviceFaults),
        static_cast<unsigned long>(after.cpuFaults - before.cpuFaults),
        kib(after.pagesToDevice - before.pagesToDevice + after.duplicates - before.duplicates),
        kib(after.pagesToHost - before.pagesToHost));
    if (!equal(one.result, expected) || total != total)
        throw std::runtime_error("the results differ");
}

std::size_t size_of(const std::string& text) {
    std::size_t end = 0;
    const unsigned long size = std::isdigit(text[0]) ? std::stoul(text, &end) : 0;
    if (size == 0 || end != text.size()) throw std::invalid_argument("usage: matmul [N]");
    return size;
}

} // namespace

int main(int argc, char** argv) try {
    const std::size_t n = argc > 1 ? size_of(argv[1]) : 320;
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();

    problem reference(n);
    const auto start = std::chrono::steady_clock::now();
    multiply_on_cpu(reference);
    std::printf("%zu x %zu floats, three matrices of %zu KiB in malloc memory\n", n, n,
                n * n * sizeof(float) / 1024);
    std::printf("%-12s %11s %11s %8s %8s %12s %12s\n", "", "product", "and read", "faults",
                "by CPU", "to device", "to host");
    std::printf("%-12s %8.1f ms   one thread\n", "CPU", milliseconds_since(start));
    measure("lazy", n, reference.result, nothing);
    measure("prefetched", n, reference.result, prefetch);
    measure("advised", n, reference.result, advise);
    std::printf("the results are equal bit by bit\n");
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
