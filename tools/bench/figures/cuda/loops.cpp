// SPDX-License-Identifier: MIT
// The loops, as a single-threaded program would have them.
#include "figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cuda_figures {
namespace {

float normal(float x) {
    return 0.5f * erfcf(-x * 0.70710678f);
}

void multiply(int n, const float* __restrict a, const float* __restrict b, float* __restrict out) {
    std::fill(out, out + n * n, 0.0f);
    for (int row = 0; row < n; row++)
        for (int k = 0; k < n; k++)
            for (int column = 0; column < n; column++)
                out[row * n + column] += a[row * n + k] * b[k * n + column];
}

void rows(int n, const float* __restrict a, const float* __restrict x, float* __restrict out) {
    for (int i = 0; i < n; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j] * x[j];
        out[i] = sum;
    }
}

void columns(int n, const float* __restrict a, const float* __restrict x, float* __restrict out) {
    std::fill(out, out + n, 0.0f);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[j] += a[i * n + j] * x[i];
}

void add_scaled(int n, float factor, const float* __restrict x, const float* __restrict y,
                float* __restrict out) {
    for (int i = 0; i < n; i++)
        out[i] = factor * x[i] + y[i];
}

void average(int n, const float* __restrict in, float* __restrict out) {
    for (int i = 1; i < n - 1; i++)
        out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

void turn(int n, const float* __restrict in, float* __restrict out) {
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++)
            out[x * n + y] = in[y * n + x];
}

} // namespace

void loop_saxpy(const arrays& d) {
    add_scaled(length, 2.5f, d.a, d.b, d.out);
}
void loop_grid_stride(const arrays& d) {
    add_scaled(length, 2.5f, d.a, d.b, d.out);
}
void loop_copy4(const arrays& d) {
    const float* __restrict from = d.a;
    float* __restrict to = d.out;
    for (int i = 0; i < length; i++)
        to[i] = from[i];
}
void loop_stencil(const arrays& d) {
    average(length, d.a, d.out);
}
void loop_stencil2d(const arrays& d) {
    const float* __restrict in = d.a;
    float* __restrict out = d.out;
    for (int y = 1; y < side - 1; y++)
        for (int x = 1; x < side - 1; x++) {
            const int i = y * side + x;
            out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - side] + in[i + side]);
        }
}
void loop_polynomial(const arrays& d) {
    const float* __restrict x = d.a;
    float* __restrict out = d.out;
    for (int i = 0; i < length; i++) {
        float value = 0;
        for (int k = 0; k < polynomial_degree; k++)
            value = value * x[i] + d.b[k];
        out[i] = value;
    }
}
void loop_threshold(const arrays& d) {
    const float* __restrict in = d.a;
    float* __restrict out = d.out;
    for (int i = 0; i < length; i++)
        out[i] = in[i] > 0.5f ? sqrtf(in[i]) : -in[i];
}
void loop_black_scholes(const arrays& d) {
    const float rate = 0.02f;
    const float spread = 0.3f;
    for (int i = 0; i < length; i++) {
        const float root = sqrtf(d.c[i] + 0.1f);
        const float s = d.a[i] + 1;
        const float k = d.b[i] + 1;
        const float t = d.c[i] + 0.1f;
        const float d1 = (logf(s / k) + (rate + 0.5f * spread * spread) * t) / (spread * root);
        const float d2 = d1 - spread * root;
        d.out[i] = s * normal(d1) - k * expf(-rate * t) * normal(d2);
    }
}
void loop_gather(const arrays& d) {
    const float* __restrict in = d.a;
    float* __restrict out = d.out;
    for (int i = 0; i < length; i++)
        out[i] = in[d.index[i]];
}
void loop_transpose(const arrays& d) {
    turn(side, d.a, d.out);
}
void loop_mandelbrot(const arrays& d) {
    for (int y = 0; y < side; y++)
        for (int x = 0; x < side; x++) {
            const float real = 3.0f * x / side - 2;
            const float imaginary = 2.0f * y / side - 1;
            float a = 0;
            float b = 0;
            int k = 0;
            while (k < most_iterations && a * a + b * b < 4) {
                const float next = a * a - b * b + real;
                b = 2 * a * b + imaginary;
                a = next;
                k++;
            }
            d.out[y * side + x] = k;
        }
}
void loop_struct_by_value(const arrays& d) {
    weights w = {};
    for (int i = 0; i < 12; i++)
        w.sum += w.factor[i] = 1.0f / (i + 1);
    const float* __restrict in = d.a;
    float* __restrict out = d.out;
    for (int i = 0; i < length - 12; i++) {
        float value = 0;
        for (int k = 0; k < 12; k++)
            value += w.factor[k] * in[i + k];
        out[i] = value / w.sum;
    }
}
void loop_shared_stencil(const arrays& d) {
    average(length, d.a, d.out);
    d.out[0] = 0.5f * d.a[0] + 0.25f * d.a[1];
    d.out[length - 1] = 0.25f * d.a[length - 2] + 0.5f * d.a[length - 1];
}
void loop_tiled_transpose(const arrays& d) {
    turn(side, d.a, d.out);
}
void loop_block_scan(const arrays& d) {
    for (int first = 0; first < length; first += block) {
        float sum = 0;
        for (int i = first; i < first + block; i++)
            d.out[i] = sum += d.a[i];
    }
}
void loop_shared_histogram(const arrays& d) {
    for (int i = 0; i < length; i++)
        d.counts[static_cast<int>(d.a[i] * (bins - 1))]++;
}
void loop_tiled_matmul(const arrays& d) {
    multiply(small_side, d.a, d.b, d.out);
}
void loop_tree_sum(const arrays& d) {
    for (int first = 0; first < length; first += block) {
        float sum = 0;
        for (int i = first; i < first + block; i++)
            sum += d.a[i];
        d.out[first / block] = sum;
    }
}
void loop_tree_max(const arrays& d) {
    for (int first = 0; first < 16; first++) {
        float most = 0;
        for (int i = first * block; i < length; i += 16 * block)
            for (int k = 0; k < block; k++)
                most = std::fmax(most, d.a[i + k]);
        d.out[first] = most;
    }
}
void loop_shuffle_sum(const arrays& d) {
    for (int first = 0; first < length; first += 32) {
        float sum = 0;
        for (int i = first; i < first + 32; i++)
            sum += d.a[i];
        d.out[first / 32] = sum;
    }
}
void loop_butterfly_max(const arrays& d) {
    for (int first = 0; first < length; first += 32) {
        float most = 0;
        for (int i = first; i < first + 32; i++)
            most = std::fmax(most, d.a[i]);
        for (int i = first; i < first + 32; i++)
            d.out[i] = d.a[i] / most;
    }
}
void loop_shuffle_scan(const arrays& d) {
    for (int first = 0; first < length; first += 32) {
        float sum = 0;
        for (int i = first; i < first + 32; i++)
            d.out[i] = sum += d.a[i];
    }
}
void loop_row_product(const arrays& d) {
    rows(side, d.a, d.b, d.out);
}
void loop_column_product(const arrays& d) {
    columns(side, d.a, d.b, d.out);
}
void loop_atax(const arrays& d) {
    rows(side, d.a, d.b, d.out + side);
    columns(side, d.a, d.out + side, d.out);
}
void loop_bicg(const arrays& d) {
    columns(side, d.a, d.b, d.out);
    rows(side, d.a, d.c, d.out + side);
}
void loop_plain_matmul(const arrays& d) {
    multiply(small_side, d.a, d.b, d.out);
}
void loop_all_pairs(const arrays& d) {
    for (int i = 0; i < bodies; i++) {
        float sum = 0;
        for (int j = 0; j < bodies; j++) {
            const float distance = d.a[j] - d.a[i];
            sum += d.b[j] * distance / (distance * distance + 0.01f);
        }
        d.out[i] = sum;
    }
}

} // namespace cuda_figures
