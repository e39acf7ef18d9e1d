// SPDX-License-Identifier: MIT
// The 16-bit floating point types, on the device and on the host.
#include "numbers.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <string>

namespace {

using bits16 = unsigned short;

/// A format, with the names of its functions.
#define FORMAT(format, Number, Pair, name, name2, fraction, bias, infinite)                        \
    struct format {                                                                                \
        using number = Number;                                                                     \
        using pair = Pair;                                                                         \
        static constexpr int fraction_bits = fraction, exponent_bias = bias;                       \
        static constexpr bits16 infinity = infinite;                                               \
        static constexpr const char* text = #name;                                                 \
        static __host__ __device__ number of(bits16 bits) { return __ushort_as_##name(bits); }     \
        static __host__ __device__ bits16 bits(number x) { return __##name##_as_ushort(x); }       \
        static __host__ __device__ void round(bits16* to, float x) {                               \
            to[0] = bits(__float2##name##_rn(x));                                                  \
            to[1] = bits(__float2##name##_rz(x));                                                  \
            to[2] = bits(__float2##name##_ru(x));                                                  \
            to[3] = bits(__float2##name##_rd(x));                                                  \
        }                                                                                          \
        static __host__ __device__ void round_whole(bits16* to, long long x) {                     \
            to[0] = bits(__ll2##name##_rn(x));                                                     \
            to[1] = bits(__ll2##name##_rz(x));                                                     \
            to[2] = bits(__ll2##name##_ru(x));                                                     \
            to[3] = bits(__ll2##name##_rd(x));                                                     \
        }                                                                                          \
        static __host__ __device__ void whole(long long* to, number x) {                           \
            to[0] = __##name##2int_rn(x);                                                          \
            to[1] = __##name##2ll_rz(x);                                                           \
            to[2] = __##name##2short_ru(x);                                                        \
            to[3] = __##name##2uint_rd(x);                                                         \
        }                                                                                          \
        static __host__ __device__ number of_double(double x) { return __double2##name(x); }       \
        static __host__ __device__ float value(number x) { return __##name##2float(x); }           \
        static __host__ __device__ pair both(float x, float y) {                                   \
            return __floats2##name2##_rn(x, y);                                                    \
        }                                                                                          \
    };
FORMAT(fp16, __half, __half2, half, half2, 10, 15, 0x7c00)
FORMAT(bf16, __nv_bfloat16, __nv_bfloat162, bfloat16, bfloat162, 7, 127, 0x7f80)

/// The name of a check, prefixed with the format.
template <class F>
void check_format(bool good, const char* name) {
    check(good, (std::string(F::text) + "_" + name).c_str());
}

// ---- an independent model ----------------------------------------------------

/// The value of a nonnegative number. Infinity has the value of the next power of two.
template <class F>
double size_of(bits16 bits) {
    const int exponent = bits >> F::fraction_bits;
    const int fraction = bits & ((1 << F::fraction_bits) - 1);
    if (exponent == 0) return std::ldexp(fraction, 1 - F::exponent_bias - F::fraction_bits);
    return std::ldexp(fraction + (1 << F::fraction_bits),
                      exponent - F::exponent_bias - F::fraction_bits);
}

template <class F>
bool is_nan(bits16 bits) {
    return (bits & 0x7fff) > F::infinity;
}

/// Rounds by searching all numbers of the format.
template <class F, class Exact>
bits16 model(Exact x, int mode) {
    static const std::vector<double> sizes = [] {
        std::vector<double> all;
        for (bits16 bits = 0; bits <= F::infinity; bits++)
            all.push_back(size_of<F>(bits));
        return all;
    }();
    if (x != x) return 0x7fff;
    const bool negative = x < 0 || (x == 0 && std::signbit(double(x)));
    const Exact size = negative ? -x : x;
    const bits16 sign = negative ? 0x8000 : 0;
    if (size > std::numeric_limits<double>::max()) return sign | F::infinity;
    const auto above = std::upper_bound(sizes.begin(), sizes.end(), size);
    if (above == sizes.end())
        return sign | (mode == FE_TONEAREST || mode == (negative ? FE_DOWNWARD : FE_UPWARD)
                           ? F::infinity
                           : F::infinity - 1);
    const bits16 low = static_cast<bits16>(above - sizes.begin() - 1);
    const Exact lost = size - sizes[low], missing = *above - size;
    const bool up = mode == FE_TONEAREST
                        ? lost > missing || (lost == missing && low % 2 != 0)
                        : lost != 0 && mode == (negative ? FE_DOWNWARD : FE_UPWARD);
    return sign | (low + up);
}

template <class F>
bool same_bits(bits16 found, bits16 wanted) {
    return found == wanted || (is_nan<F>(found) && is_nan<F>(wanted));
}

template <class F>
double value_of(bits16 bits) {
    if (is_nan<F>(bits)) return NAN;
    const double size = (bits & 0x7fff) == F::infinity ? INFINITY : size_of<F>(bits & 0x7fff);
    return (bits & 0x8000) != 0 ? -size : size;
}

/// Compares @per results for each input with the model, and prints the first mismatch.
template <class F, class Wanted>
bool as_wanted(const bits16* found, int count, int per, Wanted wanted) {
    for (int i = 0; i < count * per; i++)
        if (!same_bits<F>(found[i], wanted(i / per, i % per))) {
            printf("# %s: result %d of input %d is %#x instead of %#x\n", F::text, i % per, i / per,
                   found[i], wanted(i / per, i % per));
            return false;
        }
    return true;
}

template <class Function>
__global__ void for_each(int count, Function function) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) function(i);
}
template <class Function>
bool run(int count, Function function) {
    for_each<<<(count + 255) / 256, 256>>>(count, function);
    return device_is_well();
}

// ---- conversions -------------------------------------------------------------

/// All numbers of the format, the midpoints between them, and the neighbours of both.
template <class F>
std::vector<float> near_numbers() {
    std::vector<float> all;
    for (int bits = 0; bits <= F::infinity; bits++) {
        const float size = static_cast<float>(size_of<F>(bits));
        const float next = static_cast<float>(size_of<F>(bits + 1));
        const float middle = size + (next - size) / 2;
        for (const float each : {size, middle})
            for (const float to : {each, INFINITY, -INFINITY})
                all.push_back(std::nextafter(each, to) * (bits % 2 == 0 ? 1 : -1));
    }
    for (const float each :
         {INFINITY, -INFINITY, -0.0F, 1e38F, -1e38F, 1e-44F, -1e-44F, float(NAN)})
        all.push_back(each);
    return all;
}

template <class F>
void test_conversions() {
    std::vector<float> in = near_numbers<F>();
    const int count = static_cast<int>(in.size());
    std::vector<bits16> out(4 * count), host(4 * count);
    const float* from = in.data();
    bits16* to = out.data();
    bool good = run(count, [=] __device__(int i) { F::round(&to[4 * i], from[i]); });
    for (int i = 0; i < count; i++)
        F::round(&host[4 * i], in[i]);
    const auto wanted = [&](int i, int mode) {
        return model<F>(double(in[i]), rounding_modes[mode].mode);
    };
    good = good && as_wanted<F>(to, count, 4, wanted);
    check_format<F>(good, "rounds_on_the_device");
    check_format<F>(as_wanted<F>(host.data(), count, 4, wanted), "rounds_on_the_host");
    // the rounding depends on a bit that float doesn't have
    std::vector<double> exact(in.begin(), in.end());
    for (int i = 0; i < count; i++)
        exact[i] = std::nextafter(exact[i], i % 2 == 0 ? INFINITY : -INFINITY);
    const double* wide = exact.data();
    good = run(count, [=] __device__(int i) { to[i] = F::bits(F::of_double(wide[i])); });
    check_format<F>(good &&
                        as_wanted<F>(to, count, 1,
                                     [&](int i, int) { return model<F>(exact[i], FE_TONEAREST); }),
                    "rounds_double_once");
}

template <class F>
void test_values() {
    std::vector<float> out(65536), host(65536);
    float* to = out.data();
    bool good = run(65536, [=] __device__(int i) { to[i] = F::value(F::of(i)); });
    for (int i = 0; i < 65536 && good; i++)
        good = is_same<double>(out[i], value_of<F>(i)) &&
               is_same<double>(F::value(F::of(i)), value_of<F>(i));
    check_format<F>(good, "has_the_right_values");
}

template <class F>
void test_whole() {
    std::vector<long long> out(4 * 65536), in;
    long long* to = out.data();
    bool good = run(65536, [=] __device__(int i) { F::whole(&to[4 * i], F::of(i)); });
    for (int i = 0; i < 65536 && good; i++) {
        const double x = value_of<F>(i);
        good = out[4 * i] == whole_of<int>(x, FE_TONEAREST) &&
               out[4 * i + 1] == whole_of<long long>(x, FE_TOWARDZERO) &&
               out[4 * i + 2] == whole_of<short>(x, FE_UPWARD) &&
               out[4 * i + 3] == whole_of<unsigned int>(x, FE_DOWNWARD);
        if (!good) printf("# whole numbers of %a: %lld\n", x, out[4 * i]);
    }
    check_format<F>(good, "becomes_whole_numbers");
    for (int i = -70000; i < 70000; i += 3)
        in.push_back(i);
    for (int i = 0; i < 64; i++)
        for (int near = -2; near < 3; near++)
            for (int j = 0; j < 64; j++)
                in.push_back(static_cast<long long>((1ULL << i) + (1ULL << j) + near));
    std::vector<bits16> rounded(4 * in.size());
    bits16* bits = rounded.data();
    const long long* from = in.data();
    good = run(in.size(), [=] __device__(int i) { F::round_whole(&bits[4 * i], from[i]); });
    check_format<F>(good && as_wanted<F>(bits, in.size(), 4,
                                         [&](int i, int mode) {
                                             return model<F>(static_cast<long double>(in[i]),
                                                             rounding_modes[mode].mode);
                                         }),
                    "is_made_of_whole_numbers");
}

// ---- arithmetic --------------------------------------------------------------

/// Operands of all sizes. @i goes through all values of the first one.
bits16 operand(unsigned int i, int which) {
    const unsigned int mixed = i * 2654435761U + which * 40503U;
    return static_cast<bits16>(which == 0 ? i : mixed ^ mixed >> 15);
}

template <class F>
void test_arithmetic() {
    using number = typename F::number;
    constexpr int count = 4 * 65536, per = 6;
    std::vector<bits16> out(per * count), seconds(count);
    bits16 *to = out.data(), *second = seconds.data();
    for (int i = 0; i < count; i++)
        seconds[i] = operand(i, 1);
    const auto calculate = [=] __host__ __device__(int i) {
        const number a = F::of(i), b = F::of(second[i]);
        to[per * i] = F::bits(a + b);
        to[per * i + 1] = F::bits(__hsub(a, b));
        to[per * i + 2] = F::bits(a * b);
        to[per * i + 3] = F::bits(__hdiv(a, b));
        to[per * i + 4] = F::bits(__hadd_sat(a, b));
        to[per * i + 5] = F::bits(-a);
    };
    const auto wanted = [&](int i, int which) {
        const double a = value_of<F>(i), b = value_of<F>(seconds[i]);
        const double results[] = {a + b, a - b, a * b, a / b, std::fmin(std::fmax(a + b, 0), 1),
                                  -a};
        return model<F>(results[which] == 0 && which == 4 ? 0.0 : results[which], FE_TONEAREST);
    };
    bool good = run(count, calculate) && as_wanted<F>(to, count, per, wanted);
    check_format<F>(good, "arithmetic_rounds_once");
    for (int i = 0; i < 65536; i++)
        calculate(i);
    check_format<F>(as_wanted<F>(to, 65536, per, wanted), "arithmetic_on_the_host");
}

template <class F>
void test_multiply_add() {
    constexpr int count = 3 * 65536;
    std::vector<bits16> out(count), in(3 * count);
    for (int i = 0; i < 3 * count; i++) {
        in[i] = operand(i / 3, i % 3);
        // limit the exponents so that the exact type can represent the result
        if (F::exponent_bias > 15) in[i] = (in[i] & 0x87ff) | 0x3c00;
    }
    const bits16 tie[] = {model<F>(1 + std::ldexp(1.0, -F::fraction_bits), FE_TONEAREST),
                          model<F>(1.5, FE_TONEAREST), 1};
    for (int i = 0; i < 3; i++) // 1.5 * (1 + u) is a tie, and the sum is above it
        in[i] = tie[i];
    in[3] = tie[0];
    in[4] = tie[1];
    in[5] = 0x8001;
    bits16* to = out.data();
    const bits16* from = in.data();
    const bool good = run(count, [=] __device__(int i) {
        to[i] = F::bits(__hfma(F::of(from[3 * i]), F::of(from[3 * i + 1]), F::of(from[3 * i + 2])));
    });
    const double middle = value_of<F>(tie[0]) * 1.5;
    check_format<F>(good && as_wanted<F>(to, count, 1,
                                         [&](int i, int) {
                                             const __float128 a = value_of<F>(in[3 * i]),
                                                              b = value_of<F>(in[3 * i + 1]),
                                                              c = value_of<F>(in[3 * i + 2]);
                                             if (i == 0) return model<F>(middle * (1 + 1e-9), 0);
                                             if (i == 1) return model<F>(middle * (1 - 1e-9), 0);
                                             return model<F>(a * b + c, FE_TONEAREST);
                                         }),
                    "multiply_add_rounds_once");
}

template <class F>
void test_comparisons() {
    const bits16 some[] = {0,           0x8000, 1,
                           0x8001,      0x3c00, 0xbc00,
                           F::infinity, 0x7fff, static_cast<bits16>(F::infinity | 0x8000)};
    constexpr int count = 81;
    std::vector<unsigned int> out(count);
    std::vector<bits16> extremes(4 * count);
    std::vector<bits16> in(some, some + 9);
    unsigned int* to = out.data();
    bits16* extreme = extremes.data();
    const bits16* from = in.data();
    bool good = run(count, [=] __device__(int i) {
        const auto a = F::of(from[i / 9]), b = F::of(from[i % 9]);
        to[i] = (a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 | (a > b) << 4 |
                (a >= b) << 5 | __hequ(a, b) << 6 | __hne(a, b) << 7 | __hltu(a, b) << 8 |
                __hgeu(a, b) << 9 | __hisnan(a) << 10 | (__hisinf(a) < 0) << 11 |
                (__hisinf(a) > 0) << 12;
        extreme[4 * i] = F::bits(__hmax(a, b));
        extreme[4 * i + 1] = F::bits(__hmin(a, b));
        extreme[4 * i + 2] = F::bits(__hmax_nan(a, b));
        extreme[4 * i + 3] = F::bits(__hmin_nan(a, b));
    });
    for (int i = 0; i < count && good; i++) {
        const double a = value_of<F>(in[i / 9]), b = value_of<F>(in[i % 9]);
        const bool none = std::isnan(a) || std::isnan(b);
        const unsigned int wanted = (a == b) | (a != b) << 1 | (a < b) << 2 | (a <= b) << 3 |
                                    (a > b) << 4 | (a >= b) << 5 | (a == b || none) << 6 |
                                    (a != b && !none) << 7 | (a < b || none) << 8 |
                                    (a >= b || none) << 9 | std::isnan(a) << 10 |
                                    (a == -INFINITY) << 11 | (a == INFINITY) << 12;
        good = out[i] == wanted;
        if (!good) printf("# comparisons of %g and %g: %#x instead of %#x\n", a, b, out[i], wanted);
    }
    check_format<F>(good, "is_compared");
    check_format<F>(as_wanted<F>(extreme, count, 4,
                                 [&](int i, int which) {
                                     const bits16 first = in[i / 9], second = in[i % 9];
                                     const double a = value_of<F>(first), b = value_of<F>(second);
                                     if (std::isnan(a) || std::isnan(b))
                                         return which >= 2 || first == second ? bits16(0x7fff)
                                                : std::isnan(a)               ? second
                                                                              : first;
                                     const bool less = a < b || (a == b && std::signbit(a));
                                     return less == (which % 2 != 0) ? first : second;
                                 }),
                    "has_a_larger_and_a_smaller_one");
}

// ---- functions ---------------------------------------------------------------

/// For each number. Exact functions must round correctly; others may be off by one.
template <class F>
void test_functions() {
    constexpr int per = 16;
    std::vector<bits16> out(per * 65536);
    bits16* to = out.data();
    bool good = run(65536, [=] __device__(int i) {
        const auto x = F::of(i);
        const typename F::number all[per] = {
            hsqrt(x), hrcp(x),  hceil(x),  hfloor(x), htrunc(x), hrint(x),  __habs(x), hrsqrt(x),
            hlog(x),  hlog2(x), hlog10(x), hexp(x),   hexp2(x),  hexp10(x), hsin(x),   htanh(x)};
        for (int k = 0; k < per; k++)
            to[per * i + k] = F::bits(all[k]);
    });
    for (int i = 0; i < per * 65536 && good; i++) {
        const double x = value_of<F>(i / per);
        const int k = i % per;
        const double all[per] = {sqrt(x), 1 / x,       ceil(x), floor(x), trunc(x), rint(x),
                                 fabs(x), 1 / sqrt(x), log(x),  log2(x),  log10(x), exp(x),
                                 exp2(x), pow(10, x),  sin(x),  tanh(x)};
        const bits16 wanted = model<F>(all[k], FE_TONEAREST);
        good = same_bits<F>(out[i], wanted) || (k >= 7 && std::abs(out[i] - wanted) <= 1);
        if (!good) printf("# function %d of %a is %#x instead of %#x\n", k, x, out[i], wanted);
    }
    check_format<F>(good, "functions_of_all_numbers");
}

template <class F>
__global__ void use_pairs(float* out, typename F::pair* sum, typename F::number* one_sum) {
    const int lane = threadIdx.x;
    const typename F::pair mine = F::both(lane, 0.5F * lane), two = F::both(2, 4);
    const typename F::pair from = __shfl_sync(0xffffffff, mine, lane ^ 1);
    const typename F::number up = __shfl_up_sync(0xffffffff, mine.x, 1);
    const typename F::pair down = __shfl_down_sync(0xffffffff, mine, 1);
    const typename F::pair made = __hfma2(from, two, __ldg(sum));
    float* mine_out = &out[8 * lane];
    mine_out[0] = __low2float(made);
    mine_out[1] = __high2float(made);
    mine_out[2] = up;
    mine_out[3] = down.y;
    mine_out[4] = __hbgt2(mine, two);
    mine_out[5] = __low2float(__lowhigh2highlow(mine) * two);
    mine_out[6] = __hgt2_mask(mine, two);
    mine_out[7] = __shfl_xor_sync(0xffffffff, mine.y, 2);
    atomicAdd(&sum[1], F::both(1, 2));
    atomicAdd(one_sum, typename F::number(0.5F));
}

template <class F>
void test_pairs() {
    float *out = managed<float>(256), wanted[256];
    auto* sum = managed<typename F::pair>(2);
    auto* one_sum = managed<typename F::number>(1);
    sum[0] = F::both(1, -1);
    use_pairs<F><<<1, 32>>>(out, sum, one_sum);
    for (int lane = 0; lane < 32; lane++) {
        const float values[8] = {1 + 2.0F * (lane ^ 1),
                                 -1 + 2.0F * (lane ^ 1),
                                 float(lane == 0 ? 0 : lane - 1),
                                 0.5F * (lane == 31 ? 31 : lane + 1),
                                 float(lane > 8),
                                 float(lane),
                                 float((lane > 2 ? 0xffffU : 0) | (lane > 8 ? 0xffff0000U : 0)),
                                 0.5F * (lane ^ 2)};
        std::copy_n(values, 8, &wanted[8 * lane]);
    }
    check_format<F>(device_is_well() && same(out, wanted, 256), "pairs_and_shuffles");
    check_format<F>(float(sum[1].x) == 32 && float(sum[1].y) == 64 && float(*one_sum) == 16,
                    "atomic_sums");
}

template <class F>
void test_language() {
    typename F::number x = 1.5F, y = 2;
    x += y;
    ++x;
    const int whole = x;
    const float value = x - y / typename F::number(4);
    const bool truth = x ? true : false;
    y = 0.25;
    check_format<F>(whole == 4 && value == 4 && truth && float(-y) == -0.25F && x > y &&
                        sizeof(x) == 2 && sizeof(typename F::pair) == 4 && int(F::of(0x7fff)) == 0,
                    "is_a_number_of_the_language");
}

template <class F>
void test_format() {
    test_values<F>();
    test_conversions<F>();
    test_whole<F>();
    test_arithmetic<F>();
    test_multiply_add<F>();
    test_comparisons<F>();
    test_functions<F>();
    test_pairs<F>();
    test_language<F>();
}

} // namespace

int main() {
    test_format<fp16>();
    test_format<bf16>();
    return end_checks();
}
