// SPDX-License-Identifier: MIT
// Kernels, and equivalent loops for one CPU thread.
#pragma once

#include <cstddef>

namespace cuda_figures {

inline constexpr int length = 1 << 18;     ///< of vectors
inline constexpr int side = 512;           ///< of matrices
inline constexpr int small_side = 256;     ///< of matrices that are multiplied
inline constexpr int bins = 256;           ///< of histograms
inline constexpr int bodies = 2048;        ///< that attract each other
inline constexpr int block = 256;          ///< threads of a block
inline constexpr int most_iterations = 64; ///< of a pixel
inline constexpr int polynomial_degree = 16;

/// Inputs and outputs of a kernel or a loop. All arrays have @length elements, as many as a matrix
/// of @side * @side.
struct arrays {
    const float *a, *b, *c;
    const int* index; ///< random, below @length
    float* out;
    int* counts;
};

// The name of each kernel and its loop, and the shape that determines the acceptable ratio of their
// times.
#define CUDA_FIGURES(X)                                                                            \
    X(saxpy, plain)                                                                                \
    X(grid_stride, plain)                                                                          \
    X(copy4, plain)                                                                                \
    X(stencil, plain)                                                                              \
    X(stencil2d, plain)                                                                            \
    X(polynomial, plain)                                                                           \
    X(threshold, plain)                                                                            \
    X(black_scholes, plain)                                                                        \
    X(gather, plain)                                                                               \
    X(transpose, plain)                                                                            \
    X(mandelbrot, plain)                                                                           \
    X(struct_by_value, plain)                                                                      \
    X(shared_stencil, barriers)                                                                    \
    X(tiled_transpose, barriers)                                                                   \
    X(block_scan, barriers)                                                                        \
    X(shared_histogram, barriers)                                                                  \
    X(tiled_matmul, matmul)                                                                        \
    X(tree_sum, tree)                                                                              \
    X(tree_max, tree)                                                                              \
    X(shuffle_sum, shuffle)                                                                        \
    X(butterfly_max, shuffle)                                                                      \
    X(shuffle_scan, shuffle)                                                                       \
    X(row_product, rows)                                                                           \
    X(column_product, rows)                                                                        \
    X(atax, rows)                                                                                  \
    X(bicg, rows)                                                                                  \
    X(plain_matmul, rows)                                                                          \
    X(all_pairs, rows)

#define CUDA_FIGURES_DECLARE(name, shape)                                                          \
    void kernel_##name(const arrays& data);                                                        \
    void loop_##name(const arrays& data);
CUDA_FIGURES(CUDA_FIGURES_DECLARE)
#undef CUDA_FIGURES_DECLARE

/// A block of 256 threads for each of @blocks, with @barriers barriers.
void kernel_barriers(float* out, int blocks, int barriers);

/// A parameter that is copied as bytes.
struct weights {
    float factor[12];
    float sum;
};

} // namespace cuda_figures
