/* SPDX-License-Identifier: MIT */
/* Input numbers, and comparisons of a kernel's results with the host's. */
#ifndef HMM_TESTS_CUDA_NUMBERS_H
#define HMM_TESTS_CUDA_NUMBERS_H

#include "check.h"

#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

struct rounding_mode {
    const char* suffix;
    int mode; ///< for fesetround()
};
inline const rounding_mode rounding_modes[] = {
    {"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"ru", FE_UPWARD}, {"rd", FE_DOWNWARD}};

template <class T>
struct inputs {
    T *a, *b, *c;
    int count;
};

/// Pairs of edge cases of @T, and random bits. Some of the random ones are close to each other.
template <class T, class Bits>
inputs<T> make_inputs() {
    using limits = std::numeric_limits<T>;
    const T one_more = 1 + limits::epsilon();
    std::vector<T> edges = {T(0),
                            T(1),
                            one_more,
                            T(1.5),
                            T(3),
                            T(1) / 3,
                            limits::min(),
                            limits::denorm_min(),
                            limits::max(),
                            limits::infinity(),
                            limits::quiet_NaN(),
                            limits::epsilon() / 2,
                            limits::min() * one_more};
    for (std::size_t i = edges.size(); i-- > 0;)
        edges.push_back(-edges[i]);
    const int size = static_cast<int>(edges.size()), random_ones = 20000;
    inputs<T> made = {nullptr, nullptr, nullptr, size * size + random_ones};
    made.a = managed<T>(made.count);
    made.b = managed<T>(made.count);
    made.c = managed<T>(made.count);
    for (int i = 0; i < size * size; i++) {
        made.a[i] = edges[i / size];
        made.b[i] = edges[i % size];
        made.c[i] = edges[(i * 7 + i / size) % size];
    }
    std::mt19937_64 random(12345);
    for (int i = size * size; i < made.count; i++) {
        T number[3];
        for (T& each : number) {
            const Bits bits = static_cast<Bits>(random());
            memcpy(&each, &bits, sizeof(each));
            int exponent;
            if (i % 4 != 0) each = std::scalbn(std::frexp(each, &exponent), i % 7);
        }
        made.a[i] = number[0];
        made.b[i] = number[1];
        made.c[i] = number[2];
    }
    return made;
}

template <class R, class T, class Function>
__global__ void apply(R* out, inputs<T> in, Function function) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < in.count) out[i] = function(in.a[i], in.b[i], in.c[i]);
}

template <class T>
bool is_same(T a, T b) {
    return memcmp(&a, &b, sizeof(T)) == 0 || (a != a && b != b);
}

/// Checks each result of @function on the device with @accept, which gets the same arguments.
template <class R, class T, class Function, class Accept>
bool all_accepted(const inputs<T>& in, Function function, Accept accept, const char* name) {
    R* const out = managed<R>(in.count);
    apply<<<(in.count + 255) / 256, 256>>>(out, in, function);
    bool good = device_is_well();
    for (int i = 0; good && i < in.count; i++) {
        good = accept(out[i], in.a[i], in.b[i], in.c[i]);
        if (!good)
            printf("# %s(%a, %a, %a) is %a\n", name, double(in.a[i]), double(in.b[i]),
                   double(in.c[i]), double(out[i]));
    }
    cudaFree(out);
    return good;
}

/// The same, with a function that returns the only correct result.
template <class R, class T, class Function, class Wanted>
bool all_equal(const inputs<T>& in, Function function, Wanted wanted, const char* name) {
    return all_accepted<R>(
        in, function, [=](R found, T a, T b, T c) { return is_same<R>(found, wanted(a, b, c)); },
        name);
}

/// The result of @function in this rounding mode of the processor.
template <class Function>
auto with_rounding(int mode, Function function) {
    fesetround(mode);
    const auto result = function();
    fesetround(FE_TONEAREST);
    return result;
}

/// The result of a conversion to an integer. NaN gives the highest bit if a type is @wide, else 0.
template <class To>
To whole_of(long double x, int mode, bool wide = sizeof(To) == 8) {
    if (std::isnan(x)) return wide ? To(1ULL << (sizeof(To) * 8 - 1)) : To(0);
    const long double whole = with_rounding(mode, [=] {
        const volatile long double number = x;
        return rintl(number);
    });
    if (whole >= std::numeric_limits<To>::max()) return std::numeric_limits<To>::max();
    return whole <= std::numeric_limits<To>::min() ? std::numeric_limits<To>::min() : To(whole);
}

#endif /* HMM_TESTS_CUDA_NUMBERS_H */
