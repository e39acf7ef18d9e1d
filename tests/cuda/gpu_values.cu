// SPDX-License-Identifier: MIT
/*
 * Functions with exact results. We hash the results for many arguments to one
 * number; gpu_values.inc has the numbers from an H100 with CUDA 13.0, with this
 * program built by nvcc. The argument "print" prints the numbers.
 */
#include "check.h"

#include <cstdint>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace {

__device__ __half half(float x) {
    return __float2half_rn(x);
}
__device__ __nv_bfloat16 bfloat(float x) {
    return __float2bfloat16_rn(x);
}
__device__ float number(__half x) {
    return __half2float(x);
}
__device__ float number(__nv_bfloat16 x) {
    return __bfloat162float(x);
}

constexpr int arguments = 8192;

/// Treats all NaNs as equal.
template <class T>
__device__ unsigned long long bits_of(T value) {
    if (value != value) return ~0ULL;
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof(value));
    return bits;
}

#define VALUE(type, name, wanted, ...)                                                             \
    __global__ void find_##name(const type* in, unsigned long long* out) {                         \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
        const type a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];                            \
        (void)b, (void)c;                                                                          \
        out[i] = bits_of(__VA_ARGS__);                                                             \
    }
#include "gpu_values.inc"
#undef VALUE

std::uint64_t mixed(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
    return x ^ x >> 31;
}

/// An argument from random bits: any bit pattern, a number of usual size, or an edge case.
template <class T>
T argument(std::uint64_t random) {
    const T edges[] = {T(0),     T(1),        T(-1),   T(2),   T(-3),    T(0.5),
                       T(127),   T(128),      T(-128), T(255), T(32767), T(2147483647),
                       T(65504), T(16777216), T(100),  T(31)};
    const std::uint64_t way = random % 4;
    if (way == 0) return edges[random / 4 % 16];
    if (way == 1) return T(std::int64_t(random) >> 40) / T(1024);
    T value;
    memcpy(&value, reinterpret_cast<const char*>(&random) + 8 - sizeof(T), sizeof(T));
    return value;
}

template <class T>
const T* make_arguments() {
    T* const made = managed<T>(3 * arguments);
    for (int i = 0; i < 3 * arguments; i++)
        made[i] = argument<T>(mixed(i + 1));
    return made;
}

/// The arguments of this type, created once.
template <class T>
const T* arguments_of() {
    static const T* const made = make_arguments<T>();
    return made;
}

template <class T>
std::uint64_t find(void (*kernel)(const T*, unsigned long long*)) {
    static unsigned long long* const out = managed<unsigned long long>(arguments);
    kernel<<<arguments / 256, 256>>>(arguments_of<T>(), out);
    if (!device_is_well()) exit(1);
    std::uint64_t sum = 0;
    for (int i = 0; i < arguments; i++)
        sum = mixed(sum + out[i]);
    return sum;
}

} // namespace

int main(int count, char**) {
    const bool print = count == 2;
#define VALUE(type, name, wanted, ...)                                                             \
    if (print)                                                                                     \
        printf("%s %#llx\n", #name, (unsigned long long)find<type>(find_##name));                  \
    else                                                                                           \
        check(find<type>(find_##name) == wanted, #name);
#include "gpu_values.inc"
    return print ? 0 : end_checks();
}
