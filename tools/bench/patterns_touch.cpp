// SPDX-License-Identifier: MIT
// Patterns that touch pages, and two that stream through arrays.
#include "data.hpp"

#include <algorithm>
#include <vector>

namespace bench {
namespace {

part everything(std::size_t bytes) {
    return {0, bytes};
}

std::uint64_t& word_of(std::byte* at, std::size_t page) {
    return *reinterpret_cast<std::uint64_t*>(at + page * page_bytes);
}

void fill_pages(std::byte* at, std::size_t bytes) {
    for (std::size_t page = 0; page < bytes / page_bytes; page++)
        word_of(at, page) = page * 3;
}

void touch(std::byte* at, std::size_t page) {
    word_of(at, page) += page + 1;
}

void run_sequential(std::byte* at, std::size_t bytes) {
    for (std::size_t page = 0; page < bytes / page_bytes; page++)
        touch(at, page);
}

/// 64 KiB, the least that a device fault moves by default.
constexpr std::size_t stride_pages = 16;

void run_strided(std::byte* at, std::size_t bytes) {
    for (std::size_t first = 0; first < stride_pages; first++)
        for (std::size_t page = first; page < bytes / page_bytes; page += stride_pages)
            touch(at, page);
}

/// Returns the number of pages at the start that hold the order of visits of the others, with
/// @each visits of a page on average.
std::size_t order_pages(std::size_t bytes, std::size_t each = 1) {
    return whole_pages(bytes / page_bytes * each * sizeof(std::uint32_t)) / page_bytes;
}

void fill_random(std::byte* at, std::size_t bytes) {
    fill_pages(at, bytes);
    const std::size_t first = order_pages(bytes), pages = bytes / page_bytes;
    auto* order = reinterpret_cast<std::uint32_t*>(at);
    for (const std::uint32_t page :
         shuffled(static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(pages)))
        *order++ = page;
}

void run_random(std::byte* at, std::size_t bytes) {
    const auto* order = reinterpret_cast<const std::uint32_t*>(at);
    for (std::size_t i = 0; i < bytes / page_bytes - order_pages(bytes); i++)
        touch(at, order[i]);
}

constexpr std::size_t zipf_visits = 4;

/// The n-th most popular page gets 1/n of the visits of the first one. Popular pages are anywhere.
void fill_zipf(std::byte* at, std::size_t bytes) {
    fill_pages(at, bytes);
    const auto first = static_cast<std::uint32_t>(order_pages(bytes, zipf_visits));
    const auto by_rank = shuffled(first, static_cast<std::uint32_t>(bytes / page_bytes));
    std::vector<double> sums;
    for (std::size_t rank = 1; rank <= by_rank.size(); rank++)
        sums.push_back((sums.empty() ? 0 : sums.back()) + 1 / static_cast<double>(rank));
    auto* order = reinterpret_cast<std::uint32_t*>(at);
    numbers random;
    constexpr std::uint32_t steps = 1u << 31;
    for (std::size_t i = 0; i < zipf_visits * by_rank.size(); i++) {
        const double up_to = sums.back() * random.below(steps) / steps;
        const auto rank = std::upper_bound(sums.begin(), sums.end(), up_to) - sums.begin();
        *order++ = by_rank[static_cast<std::size_t>(rank)];
    }
}

void run_zipf(std::byte* at, std::size_t bytes) {
    const auto* order = reinterpret_cast<const std::uint32_t*>(at);
    const std::size_t pages = bytes / page_bytes - order_pages(bytes, zipf_visits);
    for (std::size_t i = 0; i < zipf_visits * pages; i++)
        touch(at, order[i]);
}

/// Four updates for each page.
void run_gups(std::byte* at, std::size_t bytes) {
    const auto pages = static_cast<std::uint32_t>(bytes / page_bytes);
    numbers random;
    for (std::uint64_t i = 0; i < 4 * std::uint64_t{pages}; i++)
        (&word_of(at, random.below(pages)))[random.below(page_bytes / 8)] ^= i + 1;
}

// ---- streams

struct triad_data {
    triad_data(std::byte* at, std::size_t bytes) : count(fitting(bytes, 3 * sizeof(double), 3)) {
        arrays data(at);
        to = data.next<double>(count);
        left = data.next<double>(count);
        right = data.next<double>(count);
    }
    std::size_t count;
    double *to, *left, *right;
};

void fill_triad(std::byte* at, std::size_t bytes) {
    const triad_data data(at, bytes);
    for (std::size_t i = 0; i < data.count; i++) {
        data.to[i] = 0;
        data.left[i] = static_cast<double>(i % 1000);
        data.right[i] = static_cast<double>(i % 77);
    }
}

void run_triad(std::byte* at, std::size_t bytes) {
    const triad_data data(at, bytes);
    for (std::size_t i = 0; i < data.count; i++)
        data.to[i] = data.left[i] + 3 * data.right[i];
}

part result_of_triad(std::size_t bytes) {
    return {0, triad_data(nullptr, bytes).count * sizeof(double)};
}

struct stencil_data {
    stencil_data(std::byte* at, std::size_t bytes) {
        const std::size_t cells = fitting(bytes, 2 * sizeof(float), 2);
        while ((side + 1) * (side + 1) <= cells)
            side++;
        arrays data(at);
        to = data.next<float>(side * side);
        from = data.next<float>(side * side);
    }
    std::size_t side = 1;
    float *to, *from;
};

void fill_stencil(std::byte* at, std::size_t bytes) {
    const stencil_data data(at, bytes);
    for (std::size_t i = 0; i < data.side * data.side; i++) {
        data.to[i] = 0;
        data.from[i] = static_cast<float>(i % 251);
    }
}

void run_stencil(std::byte* at, std::size_t bytes) {
    const stencil_data data(at, bytes);
    for (std::size_t row = 1; row + 1 < data.side; row++)
        for (std::size_t column = 1; column + 1 < data.side; column++) {
            const std::size_t i = row * data.side + column;
            data.to[i] = (data.from[i] + data.from[i - 1] + data.from[i + 1] +
                          data.from[i - data.side] + data.from[i + data.side]) /
                         5;
        }
}

part result_of_stencil(std::size_t bytes) {
    const std::size_t side = stencil_data(nullptr, bytes).side;
    return {0, side * side * sizeof(float)};
}

} // namespace

const pattern sequential = {"sequential", fill_pages, run_sequential, everything, nullptr};
const pattern random_pages = {"random", fill_random, run_random, everything, nullptr};
const pattern strided = {"strided", fill_pages, run_strided, everything, nullptr};
const pattern zipf = {"zipf", fill_zipf, run_zipf, everything, nullptr};
const pattern gups = {"gups", fill_pages, run_gups, everything, nullptr};
const pattern triad = {"triad", fill_triad, run_triad, result_of_triad, nullptr};
const pattern stencil = {"stencil", fill_stencil, run_stencil, result_of_stencil, nullptr};

} // namespace bench
