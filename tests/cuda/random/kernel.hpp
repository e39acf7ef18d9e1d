// SPDX-License-Identifier: MIT
/*
 * Random kernels, as trees. The same tree is printed as CUDA source and is run by
 * an interpreter, which takes one thread after the other between the statements
 * at which threads meet. The two have to agree on all values.
 *
 * All values are unsigned and wrap, no thread reads what another one writes
 * without a barrier between, and warp operations name lanes that take part. So
 * the result does not depend on the order of threads.
 */
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace random_kernel {

constexpr unsigned lanes_per_warp = 32;
constexpr unsigned variable_count = 5;
constexpr unsigned input_count = 64;
constexpr unsigned table_count = 16;
constexpr unsigned sum_count = 4;

enum class op {
    constant,   ///< value
    variable,   ///< number value
    loop,       ///< the counter of loop value, counted from the outermost one
    thread,     ///< position in the block
    block,      ///< position in the grid
    rounds,     ///< the kernel's parameter
    input,      ///< an element of global memory
    table,      ///< an element of __constant__ memory
    own_shared, ///< this thread's element of shared memory
    neighbour,  ///< any element, between two barriers only
    add,
    subtract,
    multiply,
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    signed_shift,
    remainder, ///< by the constant value
    less,
    equal,
    select,
    minimum,
    maximum,
    set_bits,
    leading_zeros,
    reversed,
    high_half, ///< of the product
    byte,
    mixed,  ///< a device function that is not inlined
    turned, ///< one that calls itself, or is called through a pointer, and knows its thread
};

struct expression {
    op what = op::constant;
    unsigned value = 0;
    std::vector<expression> of;
};

/// Where a statement can be: all threads of the block that have not left are
/// there, whole warps of them are, or any threads.
enum class scope { block, warp, thread };

enum class action {
    assign,
    store_shared, ///< own element
    branch,
    loop,
    divergent_loop, ///< each thread has its count, of at most 7
    add_to_sum,     ///< one of the atomic operations that can be exchanged
    leave,
    next_turn,     ///< of a divergent loop, under a condition
    end_loop,      ///< likewise
    exchange,      ///< barrier, read of any element, barrier
    barrier_count, ///< these three assign a result of all threads
    barrier_and,
    barrier_or,
    branch_on_count, ///< a condition that is the same in all threads
    shuffle,         ///< value is read from lane `second`, mask lanes take part
    shuffle_up,
    shuffle_down,
    shuffle_xor,
    ballot,
    match, ///< the lanes with the same value
    any,
    all,
    sync_warp,
    half_warp, ///< the lanes of mask run the body
};

struct statement {
    action what = action::assign;
    unsigned target = 0; ///< variable or sum
    /// Of a loop, 0: `rounds`; distance of a shuffle; 1: a device function exchanges
    unsigned count = 0;
    unsigned width = lanes_per_warp;
    unsigned mask = ~0U;
    expression value;
    expression second;
    std::vector<statement> body;
    std::vector<statement> other;
};

struct kernel {
    std::uint64_t seed = 0;
    unsigned blocks = 1;
    unsigned width = 1;  ///< of a block
    unsigned height = 1; ///< of a block
    unsigned rounds = 1;
    bool dynamic = false;     ///< shared memory is that of the launch
    bool cooperative = false; ///< barriers around a read of any element are of the grid
    bool separate = false;    ///< it calls functions that cannot be a part of it
    std::vector<statement> body;

    unsigned threads() const { return width * height; }
};

struct result {
    std::vector<unsigned> out; ///< two of each thread: 0, and 1 or the mix of its variables
    std::array<unsigned, sum_count> sums = {};
    bool operator==(const result&) const = default;
};

/// Elements of global and constant memory, and what a device function computes.
/// The printed source has the same text.
constexpr unsigned input_at(unsigned i) {
    return (i + 1) * 2654435761U;
}
constexpr unsigned table_at(unsigned i) {
    return (i * i + 3) * 40503U;
}
constexpr unsigned mixed(unsigned a, unsigned b, unsigned thread) {
    return (a ^ (a >> 15)) * 739U + b * (thread | 1U);
}
constexpr unsigned turned(unsigned a, unsigned block, unsigned thread) {
    for (unsigned turn = a & 3; turn-- > 0;)
        a = a * 5 + thread + 1;
    return (a & 1) != 0 ? a ^ (block + 7) * thread : a - thread;
}

kernel make_kernel(std::uint64_t seed);
result run_kernel(const kernel& of);
std::string print_kernel(const kernel& of);

} // namespace random_kernel
