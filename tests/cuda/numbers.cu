// SPDX-License-Identifier: MIT
// Operations and conversions with the rounding mode in their name.
#include "numbers.h"

namespace {

// For float, the processor's rounding modes are the reference. The library doesn't use them there.
#define CHECK_FLOAT(name, arguments, ...)                                                          \
    check(FLOAT_IS_SAME(FE_TONEAREST, name##_rn arguments, __VA_ARGS__) &                          \
              FLOAT_IS_SAME(FE_TOWARDZERO, name##_rz arguments, __VA_ARGS__) &                     \
              FLOAT_IS_SAME(FE_UPWARD, name##_ru arguments, __VA_ARGS__) &                         \
              FLOAT_IS_SAME(FE_DOWNWARD, name##_rd arguments, __VA_ARGS__),                        \
          "rounding_of" #name)
#define FLOAT_IS_SAME(mode, call, ...)                                                             \
    all_equal<float>(                                                                              \
        in,                                                                                        \
        [] __device__(float a, float b, float c) {                                                 \
            (void)b, (void)c;                                                                      \
            return call;                                                                           \
        },                                                                                         \
        [](float first, float second, float third) {                                               \
            return with_rounding(mode, [=] {                                                       \
                const volatile float a = first, b = second, c = third;                             \
                const volatile float result = (void(b), void(c), __VA_ARGS__);                     \
                return float(result);                                                              \
            });                                                                                    \
        },                                                                                         \
        #call)

void test_float_operations() {
    const inputs<float> in = make_inputs<float, std::uint32_t>();
    CHECK_FLOAT(__fadd, (a, b), a + b);
    CHECK_FLOAT(__fsub, (a, b), a - b);
    CHECK_FLOAT(__fmul, (a, b), a * b);
    CHECK_FLOAT(__fdiv, (a, b), a / b);
    CHECK_FLOAT(__frcp, (a), 1 / a);
    CHECK_FLOAT(__fsqrt, (a), std::sqrt(a));
    CHECK_FLOAT(__fmaf, (a, b, c), std::fma(a, b, c));
    CHECK_FLOAT(__fmaf_ieee, (a, b, c), std::fma(a, b, c));
    check(all_equal<float>(
              in, [] __device__(float a, float, float) { return __frsqrt_rn(a); },
              [](float a, float, float) { return float(1 / sqrtl(a)); }, "__frsqrt_rn"),
          "rounding_of__frsqrt_rn");
}

// For double, the reference is an exact calculation with 113 bits.
using exact = __float128;

double next(double x, double to) {
    return std::nextafter(x, to);
}
/// True if the exact value rounds to @found. @difference(x) is the exact value minus x.
template <class Difference>
bool rounds_to(double found, int mode, Difference difference) {
    const auto below = [&](exact x) { return difference(x) > 0; }; // x is below the exact value
    const auto above = [&](exact x) { return difference(x) < 0; };
    const double up = next(found, INFINITY), down = next(found, -INFINITY);
    if (mode == FE_TOWARDZERO)
        mode = found > 0 || (found == 0 && !std::signbit(found)) ? FE_DOWNWARD : FE_UPWARD;
    if (mode == FE_DOWNWARD) return !above(found) && above(up);
    if (mode == FE_UPWARD) return !below(found) && below(down);
    const exact middle_above = (exact(found) + up) / 2, middle_below = (exact(found) + down) / 2;
    const bool even = __hmm_bits_as<std::uint64_t>(found) % 2 == 0;
    return (even ? !below(middle_above) : above(middle_above)) &&
           (even ? !above(middle_below) : below(middle_below));
}

/// Numbers for which the exact type suffices: no edge cases, and similar exponents.
bool is_simple(double x) {
    return std::fabs(x) > 1e-3 && std::fabs(x) < 1e3;
}

#define DOUBLE_IS_ROUNDED(mode, call, ...)                                                         \
    all_accepted<double>(                                                                          \
        in,                                                                                        \
        [] __device__(double a, double b, double c) {                                              \
            (void)b, (void)c;                                                                      \
            return call;                                                                           \
        },                                                                                         \
        [](double found, double first, double second, double third) {                              \
            if (!is_simple(first) || !is_simple(second) || !is_simple(third)) return true;         \
            const exact a = first, b = second, c = third;                                          \
            return rounds_to(found, mode,                                                          \
                             [&](exact x) { return (void(b), void(c), __VA_ARGS__); });            \
        },                                                                                         \
        #call)
#define CHECK_DOUBLE(name, arguments, ...)                                                         \
    check(DOUBLE_IS_ROUNDED(FE_TONEAREST, name##_rn arguments, __VA_ARGS__) &                      \
              DOUBLE_IS_ROUNDED(FE_TOWARDZERO, name##_rz arguments, __VA_ARGS__) &                 \
              DOUBLE_IS_ROUNDED(FE_UPWARD, name##_ru arguments, __VA_ARGS__) &                     \
              DOUBLE_IS_ROUNDED(FE_DOWNWARD, name##_rd arguments, __VA_ARGS__),                    \
          "rounding_of" #name)

void test_double_operations() {
    const inputs<double> in = make_inputs<double, std::uint64_t>();
    CHECK_DOUBLE(__dadd, (a, b), a + b - x);
    CHECK_DOUBLE(__dsub, (a, b), a - b - x);
    CHECK_DOUBLE(__dmul, (a, b), a * b - x);
    CHECK_DOUBLE(__ddiv, (a, b), b > 0 ? a - x * b : x * b - a);
    CHECK_DOUBLE(__drcp, (a), a > 0 ? 1 - x * a : x * a - 1);
    CHECK_DOUBLE(__dsqrt, (fabs(a)), (a < 0 ? -a : a) - x * x);
    CHECK_DOUBLE(__fma, (a, b, c), a * b + c - x);
}

__global__ void at_edges(double* out, double largest, double smallest, double zero) {
    out[0] = __dadd_rd(largest, largest);
    out[1] = __dadd_ru(largest, largest);
    out[2] = __dmul_ru(smallest, smallest);
    out[3] = __dmul_rd(smallest, smallest);
    out[4] = __dsub_rd(smallest, smallest);
    out[5] = __dsub_ru(smallest, smallest);
    out[6] = __ddiv_rz(largest, smallest);
    out[7] = __drcp_rz(zero);
    out[8] = __dsqrt_ru(-zero);
    out[9] = __fma_rd(smallest, -smallest, zero);
}

void test_edges() {
    double* const out = managed<double>(10);
    const double largest = std::numeric_limits<double>::max();
    const double smallest = std::numeric_limits<double>::denorm_min();
    const double wanted[10] = {largest, INFINITY, smallest, 0,    -0.0,
                               0,       largest,  INFINITY, -0.0, -smallest};
    at_edges<<<1, 1>>>(out, largest, smallest, 0);
    bool good = device_is_well();
    for (int i = 0; i < 10; i++) {
        good = good && is_same(out[i], wanted[i]);
        if (!is_same(out[i], wanted[i])) printf("# %d is %a instead of %a\n", i, out[i], wanted[i]);
    }
    check(good, "directed_rounding_at_the_edges_of_double");
}

/// The square of 1 + 2^-20 isn't representable as a float.
__global__ void contract(float* out, double* wide, float a, float c, double x, double z) {
    out[0] = __fadd_rn(a * a, c);
    out[1] = __fmul_rn(a, a) + c;
    out[2] = __fsub_rn(a * a, -c);
    out[3] = a * a + c;
    wide[0] = __dadd_rn(x * x, z);
    wide[1] = __dmul_rn(x, x) + z;
}

void test_contraction() {
    float* const out = managed<float>(4);
    double* const wide = managed<double>(2);
    const float a = 1 + 0x1p-20F, tail = 0x1p-40F;
    const double x = 1 + 0x1p-40;
    contract<<<1, 1>>>(out, wide, a, -(1 + 0x1p-19F), x, -(1 + 0x1p-39));
    check(device_is_well() && out[0] == 0 && out[1] == 0 && out[2] == 0 && wide[0] == 0 &&
              wide[1] == 0,
          "operations_with_a_rounding_do_not_become_multiply_adds");
    check(out[3] == tail || out[3] == 0, "others_may");
}

#define TO_WHOLE(mode, call, From, To)                                                             \
    all_equal<To>(                                                                                 \
        in, [] __device__(From a, From, From) { return call(a); },                                 \
        [](From a, From, From) {                                                                   \
            return whole_of<To>(a, mode, sizeof(From) == 8 || sizeof(To) == 8);                    \
        },                                                                                         \
        #call)
#define CHECK_TO_WHOLE(from, From, to, To)                                                         \
    check(TO_WHOLE(FE_TONEAREST, __##from##2##to##_rn, From, To) &                                 \
              TO_WHOLE(FE_TOWARDZERO, __##from##2##to##_rz, From, To) &                            \
              TO_WHOLE(FE_UPWARD, __##from##2##to##_ru, From, To) &                                \
              TO_WHOLE(FE_DOWNWARD, __##from##2##to##_rd, From, To),                               \
          "conversions_" #from "2" #to)

/// Adds numbers near integers, and near the limits of the integer types.
template <class T>
void make_whole(inputs<T>& in) {
    const double ends[] = {0, 2147483647, 4294967296, 9.2233720368547758e18, 1.8446744073709552e19};
    for (int i = 0; i < in.count; i += 3)
        in.a[i] = T((i % 2 == 0 ? 1 : -1) * (ends[i % 5] + (i % 64 - 32) * 0.25));
}

void test_to_whole() {
    {
        inputs<float> in = make_inputs<float, std::uint32_t>();
        make_whole(in);
        CHECK_TO_WHOLE(float, float, int, int);
        CHECK_TO_WHOLE(float, float, uint, unsigned int);
        CHECK_TO_WHOLE(float, float, ll, long long);
        CHECK_TO_WHOLE(float, float, ull, unsigned long long);
    }
    inputs<double> in = make_inputs<double, std::uint64_t>();
    make_whole(in);
    CHECK_TO_WHOLE(double, double, int, int);
    CHECK_TO_WHOLE(double, double, uint, unsigned int);
    CHECK_TO_WHOLE(double, double, ll, long long);
    CHECK_TO_WHOLE(double, double, ull, unsigned long long);
}

#define TO_NUMBER(mode, call, From, To)                                                            \
    all_equal<To>(                                                                                 \
        in, [] __device__(From a, From, From) { return call(a); },                                 \
        [](From a, From, From) {                                                                   \
            return with_rounding(mode, [=] {                                                       \
                const volatile long double number = a;                                             \
                const volatile To result = To(number);                                             \
                return To(result);                                                                 \
            });                                                                                    \
        },                                                                                         \
        #call)
#define CHECK_TO_NUMBER(from, From, To)                                                            \
    check(TO_NUMBER(FE_TONEAREST, __##from##2##To##_rn, From, To) &                                \
              TO_NUMBER(FE_TOWARDZERO, __##from##2##To##_rz, From, To) &                           \
              TO_NUMBER(FE_UPWARD, __##from##2##To##_ru, From, To) &                               \
              TO_NUMBER(FE_DOWNWARD, __##from##2##To##_rd, From, To),                              \
          "conversions_" #from "2" #To)

/// Numbers with any count of bits, many of them near a tie between two floats.
template <class T>
inputs<T> make_whole_inputs() {
    inputs<T> in = {managed<T>(20000), managed<T>(20000), managed<T>(20000), 20000};
    std::mt19937_64 random(99);
    for (int i = 0; i < in.count; i++) {
        const int bits = 8 * sizeof(T);
        in.a[i] = T(random()) >> i % bits;
        if (i % 3 == 0) in.a[i] = T(T(1) << i % bits) + T(T(1) << i / bits % bits) + T(i % 5 - 2);
    }
    return in;
}

template <class T, class Check>
void with_whole_inputs(Check run) {
    run(make_whole_inputs<T>());
}

void test_to_number() {
    with_whole_inputs<int>([](auto in) {
        CHECK_TO_NUMBER(int, int, float);
        check(TO_NUMBER(FE_TONEAREST, __int2double_rn, int, double), "conversions_int2double");
    });
    with_whole_inputs<unsigned int>([](auto in) {
        CHECK_TO_NUMBER(uint, unsigned int, float);
        check(TO_NUMBER(FE_TONEAREST, __uint2double_rn, unsigned int, double),
              "conversions_uint2double");
    });
    with_whole_inputs<long long>([](auto in) {
        CHECK_TO_NUMBER(ll, long long, float);
        CHECK_TO_NUMBER(ll, long long, double);
    });
    with_whole_inputs<unsigned long long>([](auto in) {
        CHECK_TO_NUMBER(ull, unsigned long long, float);
        CHECK_TO_NUMBER(ull, unsigned long long, double);
    });
    const inputs<double> in = make_inputs<double, std::uint64_t>();
    for (int i = 0; i < in.count; i += 2) // of the size of floats
        in.a[i] = std::scalbn(in.c[i], -(i % 160)) * 3;
    CHECK_TO_NUMBER(double, double, float);
}

__global__ void take_apart(double* out, double x) {
    out[0] = __hiloint2double(__double2hiint(x), __double2loint(x));
    out[1] = __hiloint2double(0x3ff00000, -1);
}

void test_parts() {
    double* const out = managed<double>(2);
    take_apart<<<1, 1>>>(out, -123.456);
    check(device_is_well() && out[0] == -123.456 && out[1] == 1 + 0xffffffffp-52,
          "parts_of_double");
}

} // namespace

int main() {
    test_float_operations();
    test_double_operations();
    test_edges();
    test_contraction();
    test_to_whole();
    test_to_number();
    test_parts();
    return end_checks();
}
