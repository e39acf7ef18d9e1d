// SPDX-License-Identifier: MIT
#include "figures.hpp"

#include <cuda_runtime.h>

namespace cuda_figures {
namespace {

constexpr int tile = 16;
constexpr int columns = 32;

__device__ int number() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void saxpy(int n, float factor, const float* x, const float* y, float* out) {
    const int i = number();
    if (i < n) out[i] = factor * x[i] + y[i];
}

__global__ void grid_stride(int n, float factor, const float* x, const float* y, float* out) {
    for (int i = number(); i < n; i += gridDim.x * blockDim.x)
        out[i] = factor * x[i] + y[i];
}

__global__ void copy4(int n, const float4* from, float4* to) {
    const int i = number();
    if (i < n) to[i] = from[i];
}

__global__ void stencil(int n, const float* in, float* out) {
    const int i = number();
    if (i > 0 && i < n - 1) out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];
}

__global__ void stencil2d(int n, const float* in, float* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1) return;
    const int i = y * n + x;
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

__global__ void polynomial(int n, const float* x, const float* factors, float* out) {
    const int i = number();
    if (i >= n) return;
    float value = 0;
    for (int k = 0; k < polynomial_degree; k++)
        value = value * x[i] + factors[k];
    out[i] = value;
}

__global__ void threshold(int n, const float* in, float* out) {
    const int i = number();
    if (i >= n) return;
    if (in[i] > 0.5f)
        out[i] = sqrtf(in[i]);
    else
        out[i] = -in[i];
}

__device__ float normal(float x) {
    return 0.5f * erfcf(-x * 0.70710678f);
}

__global__ void black_scholes(int n, const float* price, const float* strike, const float* years,
                              float* out) {
    const int i = number();
    if (i >= n) return;
    const float rate = 0.02f;
    const float spread = 0.3f;
    const float root = sqrtf(years[i] + 0.1f);
    const float s = price[i] + 1;
    const float k = strike[i] + 1;
    const float t = years[i] + 0.1f;
    const float d1 = (logf(s / k) + (rate + 0.5f * spread * spread) * t) / (spread * root);
    const float d2 = d1 - spread * root;
    out[i] = s * normal(d1) - k * expf(-rate * t) * normal(d2);
}

__global__ void gather(int n, const int* index, const float* in, float* out) {
    const int i = number();
    if (i < n) out[i] = in[index[i]];
}

__global__ void transpose(int n, const float* in, float* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < n && y < n) out[x * n + y] = in[y * n + x];
}

__global__ void mandelbrot(int n, float* out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= n || y >= n) return;
    const float real = 3.0f * x / n - 2;
    const float imaginary = 2.0f * y / n - 1;
    float a = 0;
    float b = 0;
    int k = 0;
    while (k < most_iterations && a * a + b * b < 4) {
        const float next = a * a - b * b + real;
        b = 2 * a * b + imaginary;
        a = next;
        k++;
    }
    out[y * n + x] = k;
}

__global__ void struct_by_value(int n, weights w, const float* in, float* out) {
    const int i = number();
    if (i >= n - 12) return;
    float value = 0;
    for (int k = 0; k < 12; k++)
        value += w.factor[k] * in[i + k];
    out[i] = value / w.sum;
}

__global__ void shared_stencil(int n, const float* in, float* out) {
    __shared__ float part[block + 2];
    const int i = number();
    const int t = threadIdx.x + 1;
    part[t] = i < n ? in[i] : 0;
    if (threadIdx.x == 0) part[0] = i > 0 ? in[i - 1] : 0;
    if (threadIdx.x == blockDim.x - 1) part[t + 1] = i + 1 < n ? in[i + 1] : 0;
    __syncthreads();
    if (i < n) out[i] = 0.25f * part[t - 1] + 0.5f * part[t] + 0.25f * part[t + 1];
}

__global__ void tiled_transpose(int n, const float* in, float* out) {
    __shared__ float part[columns][columns + 1];
    int x = blockIdx.x * columns + threadIdx.x;
    int y = blockIdx.y * columns + threadIdx.y;
    for (int row = 0; row < columns; row += 8)
        part[threadIdx.y + row][threadIdx.x] = in[(y + row) * n + x];
    __syncthreads();
    x = blockIdx.y * columns + threadIdx.x;
    y = blockIdx.x * columns + threadIdx.y;
    for (int row = 0; row < columns; row += 8)
        out[(y + row) * n + x] = part[threadIdx.x][threadIdx.y + row];
}

__global__ void block_scan(int n, const float* in, float* out) {
    __shared__ float sums[2][block];
    const int i = number();
    const int t = threadIdx.x;
    int from = 0;
    sums[0][t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < block; step *= 2) {
        sums[1 - from][t] = t >= step ? sums[from][t] + sums[from][t - step] : sums[from][t];
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) out[i] = sums[from][t];
}

__global__ void shared_histogram(int n, const float* in, int* counts) {
    __shared__ int own[bins];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = number(); i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[static_cast<int>(in[i] * (bins - 1))], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

__global__ void tiled_matmul(int n, const float* a, const float* b, float* out) {
    __shared__ float of_a[tile][tile];
    __shared__ float of_b[tile][tile];
    const int row = blockIdx.y * tile + threadIdx.y;
    const int column = blockIdx.x * tile + threadIdx.x;
    float sum = 0;
    for (int part = 0; part < n / tile; part++) {
        of_a[threadIdx.y][threadIdx.x] = a[row * n + part * tile + threadIdx.x];
        of_b[threadIdx.y][threadIdx.x] = b[(part * tile + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < tile; k++)
            sum += of_a[threadIdx.y][k] * of_b[k][threadIdx.x];
        __syncthreads();
    }
    out[row * n + column] = sum;
}

__global__ void tree_sum(int n, const float* in, float* out) {
    __shared__ float part[block];
    const int i = number();
    const unsigned int t = threadIdx.x;
    part[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void tree_max(int n, const float* in, float* out) {
    __shared__ float part[block];
    const unsigned int t = threadIdx.x;
    float most = 0;
    for (int i = number(); i < n; i += gridDim.x * blockDim.x)
        most = fmaxf(most, in[i]);
    part[t] = most;
    __syncthreads();
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) part[t] = fmaxf(part[t], part[t + half]);
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

__global__ void shuffle_sum(int n, const float* in, float* out) {
    const int i = number();
    float sum = i < n ? in[i] : 0;
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, distance);
    if (threadIdx.x % 32 == 0) out[i / 32] = sum;
}

__global__ void butterfly_max(int n, const float* in, float* out) {
    const int i = number();
    float most = i < n ? in[i] : 0;
    for (int lanes = 16; lanes > 0; lanes /= 2)
        most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, lanes));
    if (i < n) out[i] = in[i] / most;
}

__global__ void shuffle_scan(int n, const float* in, float* out) {
    const int i = number();
    const int lane = threadIdx.x % 32;
    float sum = i < n ? in[i] : 0;
    for (int distance = 1; distance < 32; distance *= 2) {
        const float other = __shfl_up_sync(0xffffffff, sum, distance);
        if (lane >= distance) sum += other;
    }
    if (i < n) out[i] = sum;
}

__global__ void row_product(int n, const float* a, const float* x, float* out) {
    const int i = number();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++)
        sum += a[i * n + j] * x[j];
    out[i] = sum;
}

__global__ void column_product(int n, const float* a, const float* x, float* out) {
    const int j = number();
    if (j >= n) return;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i * n + j] * x[i];
    out[j] = sum;
}

__global__ void add_columns(int n, const float* a, const float* x, float* out) {
    const int j = number();
    if (j >= n) return;
    out[j] = 0;
    for (int i = 0; i < n; i++)
        out[j] += a[i * n + j] * x[i];
}

__global__ void add_rows(int n, const float* a, const float* x, float* out) {
    const int i = number();
    if (i >= n) return;
    out[i] = 0;
    for (int j = 0; j < n; j++)
        out[i] += a[i * n + j] * x[j];
}

__global__ void plain_matmul(int n, const float* a, const float* b, float* out) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= n || row >= n) return;
    float sum = 0;
    for (int k = 0; k < n; k++)
        sum += a[row * n + k] * b[k * n + column];
    out[row * n + column] = sum;
}

__global__ void all_pairs(int n, const float* x, const float* mass, float* out) {
    const int i = number();
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < n; j++) {
        const float distance = x[j] - x[i];
        sum += mass[j] * distance / (distance * distance + 0.01f);
    }
    out[i] = sum;
}

__global__ void barriers(float* out, int count) {
    __shared__ float part[block];
    const int t = threadIdx.x;
    part[t] = t;
    __syncthreads();
    for (int k = 1; k < count; k++) {
        part[t] = part[t] * 0.5f + k;
        __syncthreads();
    }
    out[blockIdx.x * block + t] = part[t];
}

constexpr int blocks_of(int threads) {
    return (threads + block - 1) / block;
}

} // namespace

void kernel_saxpy(const arrays& d) {
    saxpy<<<blocks_of(length), block>>>(length, 2.5f, d.a, d.b, d.out);
}
void kernel_grid_stride(const arrays& d) {
    grid_stride<<<16, block>>>(length, 2.5f, d.a, d.b, d.out);
}
void kernel_copy4(const arrays& d) {
    copy4<<<blocks_of(length / 4), block>>>(length / 4, reinterpret_cast<const float4*>(d.a),
                                            reinterpret_cast<float4*>(d.out));
}
void kernel_stencil(const arrays& d) {
    stencil<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_stencil2d(const arrays& d) {
    stencil2d<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(side, d.a, d.out);
}
void kernel_polynomial(const arrays& d) {
    polynomial<<<blocks_of(length), block>>>(length, d.a, d.b, d.out);
}
void kernel_threshold(const arrays& d) {
    threshold<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_black_scholes(const arrays& d) {
    black_scholes<<<blocks_of(length), block>>>(length, d.a, d.b, d.c, d.out);
}
void kernel_gather(const arrays& d) {
    gather<<<blocks_of(length), block>>>(length, d.index, d.a, d.out);
}
void kernel_transpose(const arrays& d) {
    transpose<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(side, d.a, d.out);
}
void kernel_mandelbrot(const arrays& d) {
    mandelbrot<<<dim3(side / 32, side / 8), dim3(32, 8)>>>(side, d.out);
}
void kernel_struct_by_value(const arrays& d) {
    weights w = {};
    for (int i = 0; i < 12; i++)
        w.sum += w.factor[i] = 1.0f / (i + 1);
    struct_by_value<<<blocks_of(length), block>>>(length, w, d.a, d.out);
}
void kernel_shared_stencil(const arrays& d) {
    shared_stencil<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_tiled_transpose(const arrays& d) {
    tiled_transpose<<<dim3(side / columns, side / columns), dim3(columns, 8)>>>(side, d.a, d.out);
}
void kernel_block_scan(const arrays& d) {
    block_scan<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_shared_histogram(const arrays& d) {
    shared_histogram<<<16, block>>>(length, d.a, d.counts);
}
void kernel_tiled_matmul(const arrays& d) {
    tiled_matmul<<<dim3(small_side / tile, small_side / tile), dim3(tile, tile)>>>(small_side, d.a,
                                                                                   d.b, d.out);
}
void kernel_tree_sum(const arrays& d) {
    tree_sum<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_tree_max(const arrays& d) {
    tree_max<<<16, block>>>(length, d.a, d.out);
}
void kernel_shuffle_sum(const arrays& d) {
    shuffle_sum<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_butterfly_max(const arrays& d) {
    butterfly_max<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_shuffle_scan(const arrays& d) {
    shuffle_scan<<<blocks_of(length), block>>>(length, d.a, d.out);
}
void kernel_row_product(const arrays& d) {
    row_product<<<blocks_of(side), block>>>(side, d.a, d.b, d.out);
}
void kernel_column_product(const arrays& d) {
    column_product<<<blocks_of(side), block>>>(side, d.a, d.b, d.out);
}
void kernel_atax(const arrays& d) {
    add_rows<<<blocks_of(side), block>>>(side, d.a, d.b, d.out + side);
    add_columns<<<blocks_of(side), block>>>(side, d.a, d.out + side, d.out);
}
void kernel_bicg(const arrays& d) {
    add_columns<<<blocks_of(side), block>>>(side, d.a, d.b, d.out);
    add_rows<<<blocks_of(side), block>>>(side, d.a, d.c, d.out + side);
}
void kernel_plain_matmul(const arrays& d) {
    plain_matmul<<<dim3(small_side / 32, small_side / 8), dim3(32, 8)>>>(small_side, d.a, d.b,
                                                                         d.out);
}
void kernel_all_pairs(const arrays& d) {
    all_pairs<<<blocks_of(bodies), block>>>(bodies, d.a, d.b, d.out);
}
void kernel_barriers(float* out, int blocks, int count) {
    barriers<<<blocks, block>>>(out, count);
}

} // namespace cuda_figures
