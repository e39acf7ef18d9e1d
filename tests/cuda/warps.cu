// SPDX-License-Identifier: MIT
// Warp operations: shuffles, votes, matches and barriers, with masks and in branches.
#include "check.h"

namespace {

constexpr unsigned int all_lanes = 0xffffffffU;

__global__ void sum_down(unsigned int* out) {
    unsigned int sum = threadIdx.x * threadIdx.x;
    for (int delta = warpSize / 2; delta > 0; delta /= 2)
        sum += __shfl_down_sync(all_lanes, sum, delta);
    out[threadIdx.x] = threadIdx.x % 32 == 0 ? sum : 0;
}

__global__ void butterfly(unsigned int* out) {
    float sum = float(threadIdx.x);
    for (int bit = 1; bit < 32; bit *= 2)
        sum += __shfl_xor_sync(all_lanes, sum, bit);
    out[threadIdx.x] = (unsigned int)sum;
}

__global__ void scan_up(unsigned int* out) {
    unsigned long long sum = threadIdx.x + (1ULL << 40);
    for (int delta = 1; delta < 32; delta *= 2) {
        const unsigned long long before = __shfl_up_sync(all_lanes, sum, delta);
        if (threadIdx.x % 32 >= delta) sum += before;
    }
    out[threadIdx.x] = (unsigned int)(sum - ((threadIdx.x % 32 + 1ULL) << 40));
}

__global__ void shuffle_in_parts(unsigned int* out) {
    const unsigned int from = __shfl_sync(all_lanes, threadIdx.x, threadIdx.x + 3, 8);
    const unsigned int down = __shfl_down_sync(all_lanes, threadIdx.x, 5, 8);
    const unsigned int up = __shfl_up_sync(all_lanes, threadIdx.x, 5, 8);
    out[threadIdx.x] = from + 100 * down + 10000 * up;
}

/// Half of a warp shuffles 64-bit numbers while the other half shuffles 32-bit numbers.
__global__ void shuffle_both_widths(unsigned int* out) {
    const unsigned int lane = threadIdx.x;
    if (lane < 16) {
        unsigned long long sum = (1ULL << 40) + lane;
        for (int bit = 1; bit < 16; bit *= 2)
            sum += __shfl_xor_sync(0xffffU, sum, bit);
        out[lane] = (unsigned int)(sum - (16ULL << 40));
    } else {
        unsigned int sum = lane;
        for (int bit = 1; bit < 16; bit *= 2)
            sum += __shfl_xor_sync(0xffff0000U, sum, bit);
        out[lane] = sum;
    }
}

__global__ void votes(unsigned int* out) {
    const unsigned int odd = __ballot_sync(all_lanes, threadIdx.x & 1);
    const unsigned int all = __all_sync(all_lanes, threadIdx.x < 40);
    const unsigned int any = __any_sync(all_lanes, threadIdx.x == 40);
    out[threadIdx.x] = (odd & 0xffffU) + (all << 16) + (any << 17);
}

__global__ void matches(unsigned int* out) {
    const unsigned int same = __match_any_sync(all_lanes, threadIdx.x % 4);
    int agree = 0;
    const unsigned int equal = __match_all_sync(all_lanes, threadIdx.x / 32, &agree);
    out[threadIdx.x] = agree && equal == all_lanes ? same : 0;
}

/// Ended threads and lanes beyond the end of a warp have no value.
__global__ void matches_of_some(unsigned int* out) {
    out[threadIdx.x] = 0;
    if (threadIdx.x % 4 == 3) return;
    int agree = 0, differ = 1;
    const unsigned int equal = __match_all_sync(all_lanes, threadIdx.x / 32, &agree);
    const unsigned int none = __match_all_sync(all_lanes, threadIdx.x, &differ);
    out[threadIdx.x] = agree == 1 && differ == 0 && none == 0 ? equal : 1;
}

__global__ void halves(unsigned int* out) {
    unsigned int value = threadIdx.x;
    if (threadIdx.x % 32 < 16) {
        for (int delta = 8; delta > 0; delta /= 2)
            value += __shfl_down_sync(0x0000ffffU, value, delta, 16);
    } else {
        value = __shfl_xor_sync(0xffff0000U, value, 1);
    }
    __syncthreads();
    out[threadIdx.x] = threadIdx.x % 32 == 0 || threadIdx.x % 32 >= 16 ? value : 0;
}

__global__ void masked_votes(unsigned int* out) {
    unsigned int found = 0;
    if (threadIdx.x % 2 == 0)
        found = __ballot_sync(0x55555555U, threadIdx.x % 32 >= 16);
    else
        found = __ballot_sync(0xaaaaaaaaU, threadIdx.x % 32 < 8);
    __syncwarp();
    out[threadIdx.x] = found;
}

__global__ void active_lanes(unsigned int* out) {
    unsigned int found = 0;
    if (threadIdx.x % 3 == 0) found = __activemask();
    __syncwarp();
    out[threadIdx.x] = found + (__activemask() == all_lanes ? 1U << 31 : 0);
}

__global__ void vote_behind_branches(unsigned int* out) {
    unsigned int value = 0;
    __syncthreads();
    const unsigned int number = threadIdx.x % 32 + out[threadIdx.x];
    __syncthreads();
    if (number < 8) {
        if (threadIdx.x % 2 == 0)
            out[threadIdx.x] = threadIdx.x;
        else
            value = 1;
        value += __shfl_sync(0xffU, threadIdx.x, 2);
    }
    out[threadIdx.x] += value + 100 * __ballot_sync(all_lanes, threadIdx.x % 32 < 14);
}

__global__ void vote_in_loop(unsigned int* out) {
    __shared__ unsigned int rounds[64];
    rounds[threadIdx.x] = 0;
    for (unsigned int round = 0;; round++) {
        const unsigned int busy = __ballot_sync(all_lanes, round < threadIdx.x % 4);
        if (busy == 0) break;
        rounds[threadIdx.x] += __popc(busy);
    }
    __syncwarp();
    out[threadIdx.x] = rounds[threadIdx.x ^ 1];
}

__global__ void leave_and_vote(unsigned int* out) {
    if (threadIdx.x % 4 == 3) return;
    unsigned int lanes = __ballot_sync(0x77777777U, 1);
    __syncthreads();
    lanes += __shfl_sync(0x77777777U, threadIdx.x, 4);
    out[threadIdx.x] = lanes;
}

__device__ unsigned int sum_of_warp(unsigned int value) {
    for (int delta = 16; delta > 0; delta /= 2)
        value += __shfl_down_sync(all_lanes, value, delta);
    return value;
}

__global__ void sum_of_block(unsigned int* out) {
    __shared__ unsigned int part[32];
    const unsigned int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned int value = sum_of_warp(threadIdx.x);
    if (lane == 0) part[warp] = value;
    __syncthreads();
    value = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
    if (warp == 0) value = sum_of_warp(value);
    if (threadIdx.x == 0) out[0] = value;
}

__global__ void pass_through_memory(unsigned int* out) {
    __shared__ unsigned int slot[64];
    for (unsigned int round = 0; round < 5; round++) {
        slot[threadIdx.x] = threadIdx.x + round;
        __syncwarp();
        out[threadIdx.x] += slot[threadIdx.x ^ 7];
        __syncwarp();
    }
}

__global__ void few_threads(unsigned int* out) {
    // the last warp has eight threads
    const unsigned int mask = threadIdx.x < 32 ? all_lanes : 0xffU;
    out[threadIdx.x] = __shfl_sync(mask, threadIdx.x, 5) + 1000 * __popc(__ballot_sync(mask, 1));
}

unsigned int square_sum(int first, int count) {
    unsigned int sum = 0;
    for (int i = first; i < first + count; i++)
        sum += i * i;
    return sum;
}

unsigned int half_sum(int t) {
    const int lane = t % 32;
    if (lane == 0) return 16 * t + 120;
    return lane >= 16 ? unsigned(t ^ 1) : 0;
}

void test_shuffles() {
    compare(
        sum_down, 64, [](int t) { return t % 32 == 0 ? square_sum(t, 32) : 0; },
        "shfl_down_sums_a_warp");
    compare(
        butterfly, 64, [](int t) { return unsigned(t / 32 * 32 * 32 + 496); },
        "shfl_xor_sums_floats");
    compare(
        scan_up, 64,
        [](int t) {
            unsigned int sum = 0;
            for (int i = t / 32 * 32; i <= t; i++)
                sum += i;
            return sum;
        },
        "shfl_up_scans_numbers_of_64_bits");
    compare(
        shuffle_both_widths, 32, [](int t) { return t < 16 ? 120U : 376U; },
        "halves_of_a_warp_shuffle_numbers_of_different_widths");
    compare(
        shuffle_in_parts, 32,
        [](int t) {
            const unsigned int first = t / 8 * 8, in = t % 8;
            return first + (t + 3) % 8 + 100 * (in + 5 < 8 ? t + 5 : t) +
                   10000 * (in >= 5 ? t - 5 : t);
        },
        "shuffles_stay_within_their_width");
}

} // namespace

int main() {
    test_shuffles();
    compare(
        votes, 64,
        [](int t) { return 0xaaaaU + (t < 32 ? 1U << 16 : 0) + (t < 32 ? 0 : 1U << 17); },
        "votes_see_their_warp");
    compare(
        matches, 64, [](int t) { return 0x11111111U << t % 4; }, "matches_find_same_values");
    compare(
        matches_of_some, 40, [](int t) { return t % 4 == 3 ? 0
                                                : t < 32   ? 0x77777777U
                                                           : 0x77U; },
        "threads_that_have_ended_match_nothing");
    compare(halves, 64, half_sum, "halves_of_a_warp_do_different_things");
    compare(
        masked_votes, 64, [](int t) { return t % 2 == 0 ? 0x55550000U : 0x000000aaU; },
        "votes_have_the_lanes_of_their_mask");
    compare(
        active_lanes, 32, [](int t) { return (t % 3 == 0 ? 0x49249249U : 0) + (1U << 31); },
        "activemask_has_the_lanes_of_its_branch");
    compare(
        vote_in_loop, 32, [](int) { return 24U + 16U + 8U; }, "lanes_vote_in_a_loop");
    compare(
        vote_behind_branches, 64,
        [](int t) {
            const unsigned int own = t % 2 == 0 ? t : 1, shuffled = t / 32 * 32 + 2;
            return 100 * 0x3fffU + (t % 32 < 8 ? own + shuffled : 0);
        },
        "a_vote_waits_for_lanes_behind_branches");
    compare(
        leave_and_vote, 64, [](int t) { return t % 4 == 3 ? 0 : 0x77777777U + t / 32 * 32 + 4; },
        "lanes_that_have_ended_do_not_vote");
    compare(
        sum_of_block, 256, [](int t) { return t == 0 ? 255 * 256 / 2 : 0; },
        "the_first_warp_sums_the_block");
    compare(
        pass_through_memory, 64, [](int t) { return unsigned(5 * (t ^ 7) + 10); },
        "syncwarp_orders_memory");
    compare(
        few_threads, 40, [](int t) { return t < 32 ? 5U + 32000U : 37U + 8000U; },
        "the_last_warp_is_shorter");
    return end_checks();
}
