// SPDX-License-Identifier: MIT
// Compares kernels on one lane with loops on one CPU thread, and prints the ratios of their times.
#include "../../measure.hpp"
#include "figures.hpp"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <string_view>
#include <vector>

namespace {

using cuda_figures::arrays;
using cuda_figures::length;

constexpr int rounds = 15;
constexpr double round_seconds = 0.01;

struct shape {
    const char* name;
    double wanted; ///< the largest acceptable median of ratios; 0: no limit
};
constexpr shape plain{"no barriers", 1.3}, barriers{"barriers", 0}, matmul{"tiled matmul", 1.8},
    tree{"tree reduction", 3.0}, shuffle{"shuffles", 5.0}, rows{"row per thread", 2.0};

struct figure {
    const char* name;
    const shape& of;
    void (*kernel)(const arrays&);
    void (*loop)(const arrays&);
    /// How many elements may differ because rounding decides the number of iterations: pixels at
    /// the edge of a fractal.
    int most_differing;
};

const figure figures[] = {
#define CUDA_FIGURES_ROW(name, shape)                                                              \
    {#name, shape, cuda_figures::kernel_##name, cuda_figures::loop_##name,                         \
     std::string_view(#name) == "mandelbrot" ? length / 1000 : 0},
    CUDA_FIGURES(CUDA_FIGURES_ROW)
#undef CUDA_FIGURES_ROW
};

template <class T>
T* managed(int count) {
    void* memory = nullptr;
    if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess) std::abort();
    std::memset(memory, 0, count * sizeof(T));
    return static_cast<T*>(memory);
}

arrays make_arrays() {
    std::mt19937 random(1);
    const auto numbers = [&] {
        float* const result = managed<float>(length);
        for (int i = 0; i < length; i++)
            result[i] = std::uniform_real_distribution<float>(0, 1)(random);
        return result;
    };
    int* const index = managed<int>(length);
    for (int i = 0; i < length; i++)
        index[i] = static_cast<int>(random() % length);
    const float *const a = numbers(), *const b = numbers(), *const c = numbers();
    return {a, b, c, index, managed<float>(length), managed<int>(cuda_figures::bins)};
}

bool finished() {
    if (cudaDeviceSynchronize() == cudaSuccess) return true;
    std::fprintf(stderr, "cuda_figures: %s\n", cudaGetErrorString(cudaGetLastError()));
    return false;
}

void clear(const arrays& data) {
    std::memset(data.out, 0, length * sizeof(float));
    std::memset(data.counts, 0, cuda_figures::bins * sizeof(int));
}

bool same_results(const figure& each, const arrays& of_kernel, const arrays& of_loop) {
    clear(of_kernel);
    clear(of_loop);
    each.kernel(of_kernel);
    if (!finished()) return false;
    each.loop(of_loop);
    int differing = 0;
    for (int i = 0; i < length; i++) {
        const float x = of_kernel.out[i];
        const float y = of_loop.out[i];
        if (std::fabs(x - y) <= 2e-3f * std::fmax(1.0f, std::fabs(y)) ||
            ++differing <= each.most_differing)
            continue;
        std::fprintf(stderr, "cuda_figures: %s: element %d is %g, and of the loop %g\n", each.name,
                     i, x, y);
        return false;
    }
    for (int i = 0; i < cuda_figures::bins; i++)
        if (of_kernel.counts[i] != of_loop.counts[i]) return false;
    return true;
}

/// Returns how many calls we need for a measurable time.
int calls_of(const std::function<void()>& call) {
    for (int calls = 1;; calls *= 2)
        if (bench::seconds([&] {
                for (int i = 0; i < calls; i++)
                    call();
                cudaDeviceSynchronize();
            }) >= round_seconds)
            return calls;
}

double time_of(const std::function<void()>& call, int calls) {
    return bench::seconds([&] {
               for (int i = 0; i < calls; i++)
                   call();
               cudaDeviceSynchronize();
           }) /
           calls;
}

/// Prints a row and returns the ratio.
double compare(const figure& each, const arrays& of_kernel, const arrays& of_loop) {
    const auto kernel = [&] { each.kernel(of_kernel); };
    const auto loop = [&] { each.loop(of_loop); };
    const int kernel_calls = calls_of(kernel);
    const int loop_calls = calls_of(loop);
    std::vector<double> kernels, loops;
    for (int round = 0; round < rounds; round++) {
        kernels.push_back(time_of(kernel, kernel_calls));
        loops.push_back(time_of(loop, loop_calls));
    }
    const double ratio = bench::median_ratio(kernels, loops);
    std::printf("%-18s %-16s %9.1f %9.1f %8.2f\n", each.name, each.of.name,
                bench::median(kernels) * 1e6, bench::median(loops) * 1e6, ratio);
    std::fflush(stdout);
    return ratio;
}

void print_medians(const std::map<const shape*, std::vector<double>>& ratios) {
    for (const shape* const each : {&plain, &barriers, &matmul, &tree, &shuffle, &rows}) {
        const auto found = ratios.find(each);
        if (found == ratios.end()) continue;
        std::printf("%-18s %-16s median of %2zu ratios: %.2f", "", each->name, found->second.size(),
                    bench::median(found->second));
        if (each->wanted > 0) std::printf("; %.1f is wanted", each->wanted);
        std::printf("\n");
    }
}

void measure_barriers(float* out) {
    constexpr int blocks = 256, few = 10, many = 60;
    const auto run = [&](int count) {
        return [=] { cuda_figures::kernel_barriers(out, blocks, count); };
    };
    std::vector<double> each;
    const int calls = calls_of(run(many));
    for (int round = 0; round < rounds; round++) {
        const double more = time_of(run(many), calls) - time_of(run(few), calls);
        each.push_back(more / (many - few) / blocks / cuda_figures::block);
    }
    std::printf("a barrier takes %.3f ns for each thread of a block of %d; 0.2 are wanted\n",
                bench::median(each) * 1e9, cuda_figures::block);
}

} // namespace

// cuda_figures [NAME...]: measures all figures, or those named; "check" only compares results.
int main(int argc, char** argv) {
    const bool check = argc > 1 && std::strcmp(argv[1], "check") == 0;
    const auto wanted = [&](const char* name) {
        for (int i = 1; i < argc; i++)
            if (std::strcmp(argv[i], name) == 0) return true;
        return argc == 1 || check;
    };
    const arrays of_kernel = make_arrays();
    arrays of_loop = of_kernel;
    of_loop.out = managed<float>(length);
    of_loop.counts = managed<int>(cuda_figures::bins);
    std::map<const shape*, std::vector<double>> ratios;
    int failed = 0;
    if (!check) std::printf("%-18s %-16s %9s %9s %8s\n", "", "", "kernel us", "loop us", "ratio");
    for (const figure& each : figures) {
        if (!wanted(each.name)) continue;
        if (!same_results(each, of_kernel, of_loop))
            failed++;
        else if (!check)
            ratios[&each.of].push_back(compare(each, of_kernel, of_loop));
    }
    print_medians(ratios);
    if (!check && wanted("barriers")) measure_barriers(of_kernel.out);
    return failed == 0 ? 0 : 1;
}
