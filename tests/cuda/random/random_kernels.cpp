// SPDX-License-Identifier: MIT
/*
 * random_kernels FIRST COUNT: prints a CUDA program with the kernels of these
 * seeds and with what they have to compute, which writes TAP.
 */
#include "kernel.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <span>

using namespace random_kernel;

namespace {

constexpr const char* head = R"(// Printed by random_kernels.
#pragma clang diagnostic ignored "-Wtautological-compare"
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <cooperative_groups.h>

__constant__ unsigned table[{0}];

__device__ __noinline__ unsigned mixed(unsigned a, unsigned b, unsigned thread) {{
    return (a ^ (a >> 15)) * 739U + b * (thread | 1U);
}}

__device__ unsigned own_number() {{ return threadIdx.y * blockDim.x + threadIdx.x; }}
__device__ unsigned even(unsigned a) {{ return a - own_number(); }}
__device__ unsigned odd(unsigned a) {{ return a ^ (blockIdx.x + 7) * own_number(); }}
__device__ unsigned (*const functions[])(unsigned) = {{even, odd}};
__device__ unsigned turned(unsigned a, unsigned turns) {{
    return turns == 0 ? functions[a & 1](a) : turned(a * 5 + own_number() + 1, turns - 1);
}}
__device__ unsigned turned(unsigned a) {{ return turned(a, a & 3); }}

__device__ void wait_for_grid() {{ cooperative_groups::this_grid().sync(); }}

template <void (*Barrier)()>
__device__ unsigned exchange(const unsigned* shared, unsigned at) {{
    Barrier();
    const unsigned read = shared[at % (blockDim.x * blockDim.y)];
    Barrier();
    return read;
}}

)";

constexpr const char* tail = R"(
static bool same(const char* what, const unsigned* found, const unsigned* expected, unsigned count) {{
    for (unsigned i = 0; i < count; i++)
        if (found[i] != expected[i]) {{
            std::printf("# %s[%u] is %#x instead of %#x\n", what, i, found[i], expected[i]);
            return false;
        }}
    return true;
}}

template <typename Kernel>
bool run(Kernel kernel, bool cooperative, dim3 grid, dim3 block, unsigned bytes, unsigned rounds,
         const unsigned* expected, unsigned count, const unsigned* expected_sums) {{
    unsigned* in = static_cast<unsigned*>(std::malloc({0} * sizeof(unsigned)));
    for (unsigned i = 0; i < {0}; i++) in[i] = (i + 1) * 2654435761U;
    unsigned* out = nullptr;
    unsigned sums[{1}] = {{}};
    cudaMallocManaged(&out, count * sizeof(unsigned));
    unsigned* sums_at = sums;
    void* arguments[] = {{&in, &out, &sums_at, &rounds}};
    if (cooperative)
        cudaLaunchCooperativeKernel(kernel, grid, block, arguments, bytes);
    else
        kernel<<<grid, block, bytes>>>(in, out, sums, rounds);
    const cudaError_t error = cudaDeviceSynchronize();
    bool good = error == cudaSuccess;
    if (good) {{
        good = same("out", out, expected, count) && same("sums", sums, expected_sums, {1});
        cudaFree(out);
    }} else {{
        std::printf("# %s\n", cudaGetErrorString(error));
        cudaDeviceReset();
    }}
    std::free(in);
    return good;
}}

static int count = 0, failed = 0;

static void check(bool good, const char* name) {{
    count++;
    if (!good) failed++;
    std::printf("%s %d %s\n", good ? "ok" : "not ok", count, name);
    std::fflush(stdout);
}}

int main() {{
    unsigned of_table[{2}];
    for (unsigned i = 0; i < {2}; i++) of_table[i] = (i * i + 3) * 40503U;
    cudaMemcpyToSymbol(table, of_table, sizeof(of_table));
)";

void print_expected(const kernel& of) {
    const result expected = run_kernel(of);
    fmt::print("static const unsigned out_{}[] = {{{:#x}}};\n", of.seed,
               fmt::join(expected.out, ", "));
    fmt::print("static const unsigned sums_{}[] = {{{:#x}}};\n\n", of.seed,
               fmt::join(expected.sums, ", "));
}

void print_call(const kernel& of) {
    fmt::print("    check(run(kernel_{0}, {7}, {1}, dim3({2}, {3}), {4}, {5}, out_{0}, {6}, "
               "sums_{0}), \"kernel_{0}\");\n",
               of.seed, of.blocks, of.width, of.height,
               of.dynamic ? of.threads() * sizeof(unsigned) : 0, of.rounds,
               2 * of.blocks * of.threads(), of.cooperative);
}

bool parse(const char* text, std::uint64_t& number) {
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc() && stop == end;
}

} // namespace

int main(int count_of_arguments, char** arguments) {
    const std::span given(arguments, static_cast<std::size_t>(count_of_arguments));
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    if (given.size() != 3 || !parse(given[1], first) || !parse(given[2], count) || count == 0) {
        std::fputs("usage: random_kernels FIRST COUNT\n", stderr);
        return 2;
    }
    fmt::print(head, table_count);
    for (std::uint64_t seed = first; seed < first + count; seed++) {
        const kernel of = make_kernel(seed);
        std::fputs(print_kernel(of).c_str(), stdout);
        print_expected(of);
    }
    fmt::print(tail, input_count, sum_count, table_count);
    for (std::uint64_t seed = first; seed < first + count; seed++)
        print_call(make_kernel(seed));
    fmt::print("    std::printf(\"1..%d\\n\", count);\n    return failed != 0;\n}}\n");
    return 0;
}
