// SPDX-License-Identifier: MIT
// Patterns of linear algebra.
#include "data.hpp"

namespace bench {
namespace {

/// A square matrix, and two arrays with @columns numbers for each of its rows.
struct matrix_data {
    matrix_data(std::byte* at, std::size_t bytes, std::size_t columns) {
        const auto needs = [=](std::size_t n) {
            return whole_pages(n * n * sizeof(float)) +
                   2 * whole_pages(n * columns * sizeof(float));
        };
        while (needs(side + 1) <= bytes)
            side++;
        arrays data(at);
        to = data.next<float>(side * columns);
        from = data.next<float>(side * columns);
        matrix = data.next<float>(side * side);
    }
    std::size_t side = 1;
    float *to, *from, *matrix;
};

void fill_matrix(std::byte* at, std::size_t bytes, std::size_t columns) {
    const matrix_data data(at, bytes, columns);
    for (std::size_t i = 0; i < data.side * columns; i++) {
        data.to[i] = 0;
        data.from[i] = static_cast<float>(i % 13);
    }
    for (std::size_t i = 0; i < data.side * data.side; i++)
        data.matrix[i] = static_cast<float>(i % 17) / 16;
}

part result_of_matrix(std::size_t bytes, std::size_t columns) {
    return {0, matrix_data(nullptr, bytes, columns).side * columns * sizeof(float)};
}

/// The other factor has a fixed width, so that the work only grows linearly with the memory.
constexpr std::size_t gemm_columns = 32;

void run_gemm(std::byte* at, std::size_t bytes) {
    const matrix_data data(at, bytes, gemm_columns);
    for (std::size_t row = 0; row < data.side; row++)
        for (std::size_t k = 0; k < data.side; k++) {
            const float factor = data.matrix[row * data.side + k];
            for (std::size_t column = 0; column < gemm_columns; column++)
                data.to[row * gemm_columns + column] +=
                    factor * data.from[k * gemm_columns + column];
        }
}

/// y = Aᵀ(Ax): reads the matrix twice. The intermediate vector Ax follows y.
struct atax_data : matrix_data {
    atax_data(std::byte* at, std::size_t bytes) : matrix_data(at, bytes, 2) { between = to + side; }
    float* between;
};

void run_atax(std::byte* at, std::size_t bytes) {
    const atax_data data(at, bytes);
    for (std::size_t row = 0; row < data.side; row++) {
        float sum = 0;
        for (std::size_t k = 0; k < data.side; k++)
            sum += data.matrix[row * data.side + k] * data.from[k];
        data.between[row] = sum;
    }
    for (std::size_t row = 0; row < data.side; row++)
        for (std::size_t k = 0; k < data.side; k++)
            data.to[k] += data.matrix[row * data.side + k] * data.between[row];
}

// ---- a sparse matrix

constexpr std::size_t row_values = 16;

struct spmv_data {
    spmv_data(std::byte* at, std::size_t bytes)
        : rows(fitting(bytes, (2 * row_values + 3) * sizeof(float), 5)) {
        arrays data(at);
        to = data.next<float>(rows);
        from = data.next<float>(rows);
        starts = data.next<std::uint32_t>(rows + 1);
        columns = data.next<std::uint32_t>(rows * row_values);
        values = data.next<float>(rows * row_values);
    }
    std::size_t rows;
    float *to, *from;
    std::uint32_t *starts, *columns;
    float* values;
};

void fill_spmv(std::byte* at, std::size_t bytes) {
    const spmv_data data(at, bytes);
    numbers random;
    for (std::size_t row = 0; row < data.rows; row++) {
        data.to[row] = 0;
        data.from[row] = random.fraction();
        data.starts[row] = static_cast<std::uint32_t>(row * row_values);
    }
    data.starts[data.rows] = static_cast<std::uint32_t>(data.rows * row_values);
    for (std::size_t i = 0; i < data.rows * row_values; i++) {
        data.columns[i] = random.below(static_cast<std::uint32_t>(data.rows));
        data.values[i] = random.fraction();
    }
}

void run_spmv(std::byte* at, std::size_t bytes) {
    const spmv_data data(at, bytes);
    for (std::size_t row = 0; row < data.rows; row++) {
        float sum = 0;
        for (std::uint32_t i = data.starts[row]; i < data.starts[row + 1]; i++)
            sum += data.values[i] * data.from[data.columns[i]];
        data.to[row] = sum;
    }
}

part result_of_spmv(std::size_t bytes) {
    return {0, spmv_data(nullptr, bytes).rows * sizeof(float)};
}

} // namespace

const pattern gemm = {
    "gemm", [](std::byte* at, std::size_t bytes) { fill_matrix(at, bytes, gemm_columns); },
    run_gemm, [](std::size_t bytes) { return result_of_matrix(bytes, gemm_columns); }, nullptr};
const pattern atax = {"atax", [](std::byte* at, std::size_t bytes) { fill_matrix(at, bytes, 2); },
                      run_atax, [](std::size_t bytes) { return result_of_matrix(bytes, 2); },
                      nullptr};
const pattern spmv = {"spmv", fill_spmv, run_spmv, result_of_spmv, nullptr};

} // namespace bench
