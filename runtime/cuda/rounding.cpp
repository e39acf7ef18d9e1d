// SPDX-License-Identifier: MIT
/*
 * Operations that use the processor's rounding modes, for __dadd_ru() and similar functions.
 * Volatile variables keep each operation between the writes to the register.
 */
#include <cmath>

#include <immintrin.h>

namespace {

/// Sets the rounding mode, and enables subnormal numbers.
class rounding {
  public:
    explicit rounding(int mode) : before_(_mm_getcsr()) {
        // in the order of __hmm_rounding
        constexpr unsigned modes[] = {_MM_ROUND_NEAREST, _MM_ROUND_TOWARD_ZERO, _MM_ROUND_UP,
                                      _MM_ROUND_DOWN};
        constexpr unsigned subnormals_are_zero = 0x0040;
        constexpr unsigned replaced = _MM_ROUND_MASK | _MM_FLUSH_ZERO_MASK | subnormals_are_zero;
        _mm_setcsr((before_ & ~replaced) | modes[mode]);
    }
    ~rounding() { _mm_setcsr(before_); }
    rounding(const rounding&) = delete;
    rounding& operator=(const rounding&) = delete;

  private:
    unsigned before_;
};

} // namespace

extern "C" {

double __hmm_directed_sum(double a, double b, int mode) noexcept {
    const volatile double x = a, y = b;
    const rounding directed(mode);
    const volatile double result = x + y;
    return result;
}

double __hmm_directed_product(double a, double b, int mode) noexcept {
    const volatile double x = a, y = b;
    const rounding directed(mode);
    const volatile double result = x * y;
    return result;
}

double __hmm_directed_quotient(double a, double b, int mode) noexcept {
    const volatile double x = a, y = b;
    const rounding directed(mode);
    const volatile double result = x / y;
    return result;
}

double __hmm_directed_root(double a, int mode) noexcept {
    const volatile double x = a;
    const rounding directed(mode);
    const volatile double result = std::sqrt(x);
    return result;
}

double __hmm_directed_fma(double a, double b, double c, int mode) noexcept {
    const volatile double x = a, y = b, z = c;
    const rounding directed(mode);
    const volatile double result = std::fma(x, y, z);
    return result;
}

} // extern "C"
