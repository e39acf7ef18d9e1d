/* SPDX-License-Identifier: MIT */
/*
 * Functions of CUDA's math library that <cmath> does not have. They are calculated
 * with the next larger type: float with double, and double with long double.
 */
#ifndef HMM_CUDA_DEVICE_SPECIAL_H
#define HMM_CUDA_DEVICE_SPECIAL_H

#include "../number_rounding.h"
#include "device_keywords.h"

#include <cmath>
#include <limits>

HMM_CUDA_EXACT

template <class Wide>
constexpr Wide __hmm_pi = static_cast<Wide>(3.14159265358979323846264338327950288L);
template <class Wide>
constexpr Wide __hmm_root_half = static_cast<Wide>(0.707106781186547524400844362104849039L);
template <class Wide>
constexpr Wide __hmm_root_pi = static_cast<Wide>(1.77245385090551602729816748334114518L);

/* Of pi times x. The part of x that counts is exact, and so are the zeros. */
template <class Wide, class Number>
HMM_CUDA_BOTH Wide __hmm_sine_of_turn(Number x, int quarters) {
    const Number turn = x - 2 * std::rint(x / 2);
    const Number quarter = std::rint(2 * turn);
    const Wide angle = __hmm_pi<Wide> * (turn - quarter / 2);
    if (!(std::fabs(quarter) <= 2)) return std::numeric_limits<Wide>::quiet_NaN();
    switch ((static_cast<int>(quarter) + quarters) & 3) {
    case 0:
        return std::sin(angle);
    case 1:
        return std::cos(angle);
    case 2:
        return 0 - std::sin(angle);
    default:
        return -std::cos(angle);
    }
}
/* A whole number gives a 0 of its own sign. */
template <class Wide, class Number>
HMM_CUDA_BOTH Number __hmm_sinpi(Number x) {
    const Number sine = static_cast<Number>(__hmm_sine_of_turn<Wide>(x, 0));
    return sine == 0 ? std::copysign(Number(0), x) : sine;
}
template <class Wide, class Number>
HMM_CUDA_BOTH Number __hmm_cospi(Number x) {
    return static_cast<Number>(__hmm_sine_of_turn<Wide>(std::fabs(x), 1)) + 0;
}

/* exp(x * x) * erfc(x), of any x. */
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_erfcx(Wide x) {
    if (!(x > 10)) return std::exp(x * x) * std::erfc(x);
    const Wide step = 1 / (2 * x * x);
    Wide sum = 0;
    for (int k = 25; k > 0; k--)
        sum = -(2 * k - 1) * step * (1 + sum);
    return (1 + sum) / (x * __hmm_root_pi<Wide>);
}

/* The x of which erfc is @y, for 0 < y <= 1/2. It solves x * x = log(erfcx(x) / y). */
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_erfcinv_of_small(Wide y) {
    const Wide wanted = -std::log(y);
    Wide x = std::sqrt(wanted) - Wide(0.3);
    for (int i = 0; i < 7; i++) {
        const Wide scaled = __hmm_erfcx(x);
        x -= (x * x - std::log(scaled) - wanted) * scaled * __hmm_root_pi<Wide> / 2;
    }
    return x;
}
/* The x of which erf is @y, for |y| <= 1/2. */
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_erfinv_of_small(Wide y) {
    Wide x = y * __hmm_root_pi<Wide> / 2;
    for (int i = 0; i < 6; i++)
        x -= (std::erf(x) - y) * std::exp(x * x) * __hmm_root_pi<Wide> / 2;
    return x;
}
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_erfcinv(Wide y) {
    constexpr Wide infinity = std::numeric_limits<Wide>::infinity();
    if (!(y >= 0 && y <= 2)) return std::numeric_limits<Wide>::quiet_NaN();
    if (y == 0 || y == 2) return y == 0 ? infinity : -infinity;
    if (y < Wide(0.5)) return __hmm_erfcinv_of_small(y);
    return y > Wide(1.5) ? -__hmm_erfcinv_of_small(2 - y) : __hmm_erfinv_of_small(1 - y);
}
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_erfinv(Wide y) {
    return std::fabs(y) <= Wide(0.5) ? __hmm_erfinv_of_small(y) : __hmm_erfcinv(1 - y);
}

/* The modified Bessel function of the first kind of order 0 or 1. */
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_bessel_i(int order, Wide x) {
    const Wide size = std::fabs(x);
    const Wide sign = order == 1 && x < 0 ? -1 : 1;
    Wide term = 1, sum = 0;
    if (!(size >= 30)) {
        const Wide square = size * size / 4;
        for (int k = 1; k < 90; k++) {
            sum += term;
            term *= square / (k * (k + order));
        }
        return sign * (order == 0 ? sum : sum * size / 2);
    }
    for (int k = 1; k < 30; k++) {
        sum += term;
        term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (k * 8 * size);
    }
    const Wide half = std::exp(size / 2); /* the whole may be too large where the result is not */
    const Wide result = half * (sum / std::sqrt(2 * __hmm_pi<Wide> * size)) * half;
    return std::isinf(size) ? x * x * sign : sign * result;
}

/* The root of the sum of squares. Infinity takes precedence over NaN. */
template <class Wide>
HMM_CUDA_BOTH Wide __hmm_root_of_sum(Wide a, Wide b, Wide c, Wide d) {
    if (std::isinf(a) || std::isinf(b) || std::isinf(c) || std::isinf(d))
        return std::numeric_limits<Wide>::infinity();
    return std::sqrt(a * a + b * b + c * c + d * d);
}
template <class Wide, class Number>
HMM_CUDA_BOTH Wide __hmm_root_of_sum(int count, const Number* numbers) {
    Wide sum = 0;
    bool infinite = false;
    for (int i = 0; i < count; i++) {
        sum += static_cast<Wide>(numbers[i]) * numbers[i];
        infinite = infinite || std::isinf(numbers[i]);
    }
    return infinite ? std::numeric_limits<Wide>::infinity() : std::sqrt(sum);
}

/* The functions of one argument, for double and float. @result calculates with wide x. */
#define HMM_CUDA_SPECIAL(name, result)                                                             \
    HMM_CUDA_BOTH double name(double number) {                                                     \
        using Wide = long double;                                                                  \
        const Wide x = number;                                                                     \
        return static_cast<double>(result);                                                        \
    }                                                                                              \
    HMM_CUDA_BOTH float name##f(float number) {                                                    \
        using Wide = double;                                                                       \
        const Wide x = number;                                                                     \
        return static_cast<float>(result);                                                         \
    }
HMM_CUDA_SPECIAL(rcbrt, 1 / std::cbrt(x))
HMM_CUDA_SPECIAL(erfcx, __hmm_erfcx(x))
HMM_CUDA_SPECIAL(erfinv, __hmm_erfinv(x))
HMM_CUDA_SPECIAL(erfcinv, __hmm_erfcinv(x))
HMM_CUDA_SPECIAL(normcdf, std::erfc(-x* __hmm_root_half<Wide>) / 2)
HMM_CUDA_SPECIAL(normcdfinv, 0 - __hmm_erfcinv(2 * x) * (2 * __hmm_root_half<Wide>))
HMM_CUDA_SPECIAL(cyl_bessel_i0, __hmm_bessel_i(0, x))
HMM_CUDA_SPECIAL(cyl_bessel_i1, __hmm_bessel_i(1, x))
#undef HMM_CUDA_SPECIAL

#define HMM_CUDA_SPECIAL(Number, Wide, suffix)                                                     \
    HMM_CUDA_BOTH_C Number sinpi##suffix(Number x) noexcept {                                      \
        return __hmm_sinpi<Wide>(x);                                                               \
    }                                                                                              \
    HMM_CUDA_BOTH_C Number cospi##suffix(Number x) noexcept {                                      \
        return __hmm_cospi<Wide>(x);                                                               \
    }                                                                                              \
    HMM_CUDA_BOTH void sincospi##suffix(Number x, Number* sine, Number* cosine) {                  \
        *sine = sinpi##suffix(x);                                                                  \
        *cosine = cospi##suffix(x);                                                                \
    }                                                                                              \
    HMM_CUDA_BOTH Number rhypot##suffix(Number x, Number y) {                                      \
        return static_cast<Number>(1 / __hmm_root_of_sum<Wide>(x, y, 0, 0));                       \
    }                                                                                              \
    HMM_CUDA_BOTH Number norm3d##suffix(Number a, Number b, Number c) {                            \
        return static_cast<Number>(__hmm_root_of_sum<Wide>(a, b, c, 0));                           \
    }                                                                                              \
    HMM_CUDA_BOTH Number rnorm3d##suffix(Number a, Number b, Number c) {                           \
        return static_cast<Number>(1 / __hmm_root_of_sum<Wide>(a, b, c, 0));                       \
    }                                                                                              \
    HMM_CUDA_BOTH Number norm4d##suffix(Number a, Number b, Number c, Number d) {                  \
        return static_cast<Number>(__hmm_root_of_sum<Wide>(a, b, c, d));                           \
    }                                                                                              \
    HMM_CUDA_BOTH Number rnorm4d##suffix(Number a, Number b, Number c, Number d) {                 \
        return static_cast<Number>(1 / __hmm_root_of_sum<Wide>(a, b, c, d));                       \
    }                                                                                              \
    HMM_CUDA_BOTH Number norm##suffix(int count, const Number* numbers) {                          \
        return static_cast<Number>(__hmm_root_of_sum<Wide>(count, numbers));                       \
    }                                                                                              \
    HMM_CUDA_BOTH Number rnorm##suffix(int count, const Number* numbers) {                         \
        return static_cast<Number>(1 / __hmm_root_of_sum<Wide>(count, numbers));                   \
    }
HMM_CUDA_SPECIAL(double, long double, )
HMM_CUDA_SPECIAL(float, double, f)
#undef HMM_CUDA_SPECIAL

HMM_CUDA_EXACT_END

#endif /* HMM_CUDA_DEVICE_SPECIAL_H */
