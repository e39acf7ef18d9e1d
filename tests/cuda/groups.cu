// SPDX-License-Identifier: MIT
// Cooperative groups: blocks, tiles, coalesced groups and grids, and the functions that reduce the
// values of a group.
#include "check.h"
#include "cooperative_groups.h"
#include "cooperative_groups/memcpy_async.h"
#include "cooperative_groups/reduce.h"
#include "cooperative_groups/scan.h"

namespace {

namespace cg = cooperative_groups;

constexpr unsigned int all_lanes = 0xffffffffU;

// ---- blocks and grids ----------------------------------------------------------

__global__ void places_in_block(unsigned int* out) {
    const cg::thread_block block = cg::this_thread_block();
    const dim3 at = block.thread_index(), size = block.dim_threads();
    const bool good = block.thread_rank() == (at.z * size.y + at.y) * size.x + at.x &&
                      block.size() == 48 && block.num_threads() == 48 && block.group_dim().z == 4 &&
                      block.group_index().y == blockIdx.y && cg::group_size(block) == 48 &&
                      cg::thread_rank(block) == block.thread_rank();
    __shared__ unsigned int slot[48];
    slot[block.thread_rank()] = block.thread_rank();
    block.sync();
    const unsigned int other = slot[47 - block.thread_rank()];
    cg::sync(block);
    const cg::grid_group grid = cg::this_grid();
    const bool counts = grid.num_blocks() == 6 && grid.size() == 288 && !grid.is_valid() &&
                        grid.thread_rank() == grid.block_rank() * 48 + block.thread_rank() &&
                        grid.dim_blocks().x == 3 && grid.block_index().x == blockIdx.x;
    out[grid.thread_rank()] = other + (good ? 1000 : 0) + (counts ? 2000 : 0);
}

void check_places() {
    unsigned int* const out = managed<unsigned int>(288);
    std::vector<unsigned int> wanted(288);
    for (int i = 0; i < 288; i++)
        wanted[i] = 47 - i % 48 + 3000;
    places_in_block<<<dim3(3, 2), dim3(4, 3, 4)>>>(out);
    check(device_is_well() && same(out, wanted.data(), 288), "blocks_and_grids_have_places");
    cudaFree(out);
}

// ---- tiles ---------------------------------------------------------------------

template <unsigned int Size>
__global__ void places_in_tile(unsigned int* out) {
    const cg::thread_block_tile<Size> tile = cg::tiled_partition<Size>(cg::this_thread_block());
    out[threadIdx.x] = tile.thread_rank() + 100 * tile.meta_group_rank() +
                       10000 * tile.meta_group_size() + 1000000 * tile.size();
}

template <unsigned int Size>
__global__ void shuffle_tile(unsigned int* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const unsigned int mine = threadIdx.x;
    const unsigned int from = tile.shfl(mine, 5), up = tile.shfl_up(mine, 3);
    const unsigned int down = tile.shfl_down(mine, 3), other = tile.shfl_xor(mine, 4);
    out[threadIdx.x] = from | up << 8 | down << 16 | other << 24;
}

template <unsigned int Size>
unsigned int shuffled(int t) {
    const unsigned int first = t / Size * Size, rank = t % Size;
    const unsigned int from = first + 5 % Size, up = rank >= 3 ? t - 3 : t;
    const unsigned int down = rank + 3 < Size ? t + 3 : t, other = Size > 4 ? t ^ 4 : t;
    return from | up << 8 | down << 16 | other << 24;
}

template <unsigned int Size>
__global__ void vote_in_tile(unsigned int* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const unsigned int some = tile.ballot(threadIdx.x % 3 == 0);
    const int any = tile.any(threadIdx.x == 20), all = tile.all(threadIdx.x != 20);
    const unsigned int like = tile.match_any(threadIdx.x % 3);
    int same = 2;
    const unsigned int equal = tile.match_all(threadIdx.x < 32, same);
    int differ = 2;
    const unsigned int none = tile.match_all(threadIdx.x, differ);
    tile.sync();
    const bool agree = same == 1 && equal == (all_lanes >> (32 - Size));
    const bool apart = Size == 1 ? differ == 1 && none == 1 : differ == 0 && none == 0;
    out[threadIdx.x] =
        (some ^ like << 1) + (any << 4) + (all << 5) + (agree ? 64 : 0) + (apart ? 128 : 0);
}

template <unsigned int Size>
unsigned int voted(int t) {
    const int first = t / Size * Size;
    unsigned int some = 0, like = 0;
    for (unsigned int i = 0; i < Size; i++) {
        if ((first + i) % 3 == 0) some |= 1U << i;
        if ((first + i) % 3 == t % 3U) like |= 1U << i;
    }
    const bool has = first <= 20 && 20 < first + int(Size);
    return (some ^ like << 1) + (has ? 16 : 32) + 64 + 128;
}

template <unsigned int Size>
__global__ void reduce_tile(unsigned int* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const unsigned int mine = threadIdx.x * 2654435761U;
    out[threadIdx.x] = cg::reduce(tile, mine, cg::plus<unsigned int>()) ^
                       cg::reduce(tile, mine, cg::less<unsigned int>()) * 3 ^
                       cg::reduce(tile, mine, cg::greater<unsigned int>()) * 5 ^
                       cg::reduce(tile, mine, cg::bit_and<unsigned int>()) * 7 ^
                       cg::reduce(tile, mine, cg::bit_or<unsigned int>()) * 11 ^
                       cg::reduce(tile, mine, cg::bit_xor<unsigned int>()) * 13;
}

/// The expected result of reduce_tile for threads in [@first, @last) for which @in holds.
template <class In>
unsigned int reduced(int first, int last, In in) {
    unsigned int sum = 0, least = all_lanes, most = 0, both = all_lanes, either = 0, odd = 0;
    for (int i = first; i < last; i++) {
        if (!in(i)) continue;
        const unsigned int value = i * 2654435761U;
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
        both &= value;
        either |= value;
        odd ^= value;
    }
    return sum ^ least * 3 ^ most * 5 ^ both * 7 ^ either * 11 ^ odd * 13;
}

template <unsigned int Size>
unsigned int reduced_tile(int t, int threads) {
    const int first = t / Size * Size, end = first + int(Size);
    return reduced(first, end < threads ? end : threads, [](int) { return true; });
}

template <unsigned int Size>
void check_tiles(const char* places, const char* shuffles, const char* votes, const char* sums) {
    compare(
        places_in_tile<Size>, 64,
        [](int t) { return t % Size + 100 * (t / Size) + 10000 * (64 / Size) + 1000000 * Size; },
        places);
    compare(shuffle_tile<Size>, 64, shuffled<Size>, shuffles);
    compare(vote_in_tile<Size>, 64, voted<Size>, votes);
    compare(
        reduce_tile<Size>, 96, [](int t) { return reduced_tile<Size>(t, 96); }, sums);
}

__global__ void tiles_of_tiles(unsigned int* out) {
    const auto large = cg::tiled_partition<16>(cg::this_thread_block());
    const auto small = cg::tiled_partition<4>(large);
    const cg::thread_block_tile<4> plain = small;
    out[threadIdx.x] = small.thread_rank() + 10 * plain.meta_group_rank() +
                       100 * plain.meta_group_size() + 1000 * small.ballot(threadIdx.x % 16 == 6);
}

struct large_value {
    double number;
    unsigned int rank[3];
};

__global__ void shuffle_objects(unsigned int* out) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const large_value mine = {threadIdx.x / 4.0, {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2}};
    const large_value other = tile.shfl_xor(mine, 1);
    const short number = tile.shfl(short(-threadIdx.x), 2);
    out[threadIdx.x] = unsigned(other.number * 4) + 100 * other.rank[0] + 10000 * other.rank[2] +
                       1000000 * -number;
}

struct matrix {
    unsigned int at[4];
};

/// An operation for which the order of values matters.
__global__ void multiply_matrices(unsigned int* out) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const matrix mine = {{threadIdx.x, 1, threadIdx.x % 5, 2}};
    const matrix product = cg::reduce(tile, mine, [](matrix a, matrix b) {
        return matrix{{a.at[0] * b.at[0] + a.at[1] * b.at[2], a.at[0] * b.at[1] + a.at[1] * b.at[3],
                       a.at[2] * b.at[0] + a.at[3] * b.at[2],
                       a.at[2] * b.at[1] + a.at[3] * b.at[3]}};
    });
    out[threadIdx.x] = product.at[0] ^ product.at[1] * 3 ^ product.at[2] * 5 ^ product.at[3] * 7;
}

unsigned int product_of(int t) {
    unsigned int a = 1, b = 0, c = 0, d = 1;
    for (unsigned int i = t / 16 * 16; i < t / 16 * 16 + 16U; i++) {
        const unsigned int row[2] = {a * i + b * (i % 5), c * i + d * (i % 5)};
        b = a + b * 2;
        d = c + d * 2;
        a = row[0];
        c = row[1];
    }
    return a ^ b * 3 ^ c * 5 ^ d * 7;
}

/// Half of each tile's threads have ended.
__global__ void half_tiles(unsigned int* out) {
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    if (tile.thread_rank() >= 8) return;
    tile.sync();
    unsigned int found = tile.ballot(1) + (tile.all(threadIdx.x < 200) << 8);
    found += tile.any(threadIdx.x % 16 >= 8) << 9;
    int same = 0;
    found += tile.match_all(7, same) << 10;
    found += tile.shfl_down(threadIdx.x % 16, 8 - tile.thread_rank() - 1) << 20;
    found += same << 24;
    out[threadIdx.x] = found + (cg::reduce(tile, threadIdx.x, cg::plus<unsigned int>()) << 25);
}

unsigned int half_tile(int t) {
    if (t % 16 >= 8) return 0;
    const int first = t / 16 * 16;
    return 0xffU + (1U << 8) + (0xffU << 10) + (7U << 20) + (1U << 24) +
           (unsigned(8 * first + 28) << 25);
}

/// Tiles of a warp diverge.
__global__ void tiles_apart(unsigned int* out) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    unsigned int value = threadIdx.x;
    for (unsigned int round = 0; round < tile.meta_group_rank(); round++)
        value = tile.shfl(value, tile.thread_rank() + 1);
    if (tile.meta_group_rank() % 2 == 0)
        value += 100 * cg::reduce(tile, 1U, cg::plus<unsigned int>());
    else
        value += 100 * tile.ballot(tile.thread_rank() % 2);
    out[threadIdx.x] = value;
}

template <class Group>
__device__ unsigned int sum_of(const Group& group, unsigned int value) {
    for (unsigned int delta = group.size() / 2; delta > 0; delta /= 2)
        value += group.shfl_down(value, delta);
    return value;
}

__device__ unsigned int sum_of(const cg::thread_block& block, const cg::thread_block_tile<32>& warp,
                               unsigned int value) {
    __shared__ unsigned int part[32];
    value = sum_of(warp, value);
    if (warp.thread_rank() == 0) part[warp.meta_group_rank()] = value;
    cg::sync(block);
    if (warp.meta_group_rank() > 0) return 0;
    return sum_of(warp, warp.thread_rank() < warp.meta_group_size() ? part[warp.thread_rank()] : 0);
}

__global__ void sum_block(unsigned int* out) {
    const cg::thread_block block = cg::this_thread_block();
    const unsigned int sum = sum_of(block, cg::tiled_partition<32>(block), threadIdx.x);
    if (block.thread_rank() == 0) out[0] = sum;
}

// ---- coalesced groups ----------------------------------------------------------

__global__ void coalesced_thirds(unsigned int* out) {
    if (threadIdx.x % 3 != 1) return;
    const cg::coalesced_group group = cg::coalesced_threads();
    const unsigned int rank = group.thread_rank();
    unsigned int found = rank + (group.size() << 4);
    found += group.shfl(threadIdx.x, 2) << 8;
    found += group.shfl_up(rank, 2) << 16;
    found += group.shfl_down(rank, 2) << 20;
    group.sync();
    out[threadIdx.x] = found + (group.meta_group_rank() << 24) + (group.meta_group_size() << 25);
}

unsigned int third(int t, int threads) {
    if (t % 3 != 1) return 0;
    const int first = t / 32 * 32;
    unsigned int rank = 0, size = 0, second = 0;
    for (int i = first; i < first + 32 && i < threads; i++) {
        if (i % 3 != 1) continue;
        if (i < t) rank++;
        if (size % 16 == 2) second = i;
        size++;
    }
    // in a group of one thread, it gets its own value
    if (size == 1) second = t;
    const unsigned int up = rank >= 2 ? rank - 2 : rank, down = rank + 2 < size ? rank + 2 : rank;
    return rank + (size << 4) + (second << 8) + (up << 16) + (down << 20) + (1U << 25);
}

__global__ void coalesced_votes(unsigned int* out) {
    const unsigned int lane = threadIdx.x % 32;
    if (lane % 5 != 2) return;
    const cg::coalesced_group group = cg::coalesced_threads(); // lanes 2, 7, 12, 17, 22 and 27
    unsigned int found = group.ballot(lane == 7 || lane == 22);
    found += group.any(lane == 27) << 6;
    found += group.any(lane == 28) << 7;
    found += group.all(lane < 28) << 8;
    found += group.all(lane < 27) << 9;
    found += group.match_any(lane < 10) << 10;
    int same = 0, differ = 1;
    found += group.match_all(threadIdx.x / 32, same) << 16;
    found += group.match_all(lane, differ) << 22;
    out[threadIdx.x] = found + (same << 28) + (differ << 29);
}

unsigned int coalesced_vote(int t) {
    const int lane = t % 32;
    if (lane % 5 != 2) return 0;
    return 0x12U + (1U << 6) + (1U << 8) + ((lane < 10 ? 0x3U : 0x3cU) << 10) + (0x3fU << 16) +
           (1U << 28);
}

/// Both branches have the same operations.
__global__ void both_ways(unsigned int* out) {
    unsigned int found;
    if (threadIdx.x % 4 == 0) {
        const cg::coalesced_group group = cg::coalesced_threads();
        found = group.size() * 100 + group.thread_rank();
    } else {
        const cg::coalesced_group group = cg::coalesced_threads();
        found = group.size() * 100 + group.thread_rank();
    }
    out[threadIdx.x] = found;
}

__global__ void reduce_coalesced(unsigned int* out) {
    if (threadIdx.x % 7 < 3) return;
    const cg::coalesced_group group = cg::coalesced_threads();
    const unsigned int mine = threadIdx.x * 2654435761U;
    out[threadIdx.x] = cg::reduce(group, mine, cg::plus<unsigned int>()) ^
                       cg::reduce(group, mine, cg::less<unsigned int>()) * 3 ^
                       cg::reduce(group, mine, cg::greater<unsigned int>()) * 5 ^
                       cg::reduce(group, mine, cg::bit_and<unsigned int>()) * 7 ^
                       cg::reduce(group, mine, cg::bit_or<unsigned int>()) * 11 ^
                       cg::reduce(group, mine, cg::bit_xor<unsigned int>()) * 13;
}

/// One thread reserves elements for the whole group.
__global__ void reserve_places(unsigned int* out) {
    __shared__ unsigned int next;
    const cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) next = 0;
    block.sync();
    const unsigned int rounds = threadIdx.x % 8 == 0 ? 2 : threadIdx.x % 8 == 3 ? 3 : 0;
    for (unsigned int round = 0; round < rounds; round++) {
        const cg::coalesced_group group = cg::coalesced_threads();
        unsigned int place = 0;
        if (group.thread_rank() == 0) place = atomicAdd(&next, group.size());
        place = group.shfl(place, 0) + group.thread_rank();
        out[place] = 1;
    }
}

// ---- groups whose kind is only known at run time ----------------------------------

/// The number of threads must be a power of two.
__device__ unsigned int sum_in(const cg::thread_group& group, unsigned int* memory,
                               unsigned int value) {
    const unsigned int rank = group.thread_rank();
    for (unsigned int half = group.size() / 2; half > 0; half /= 2) {
        memory[rank] = value;
        group.sync();
        if (rank < half) value += memory[rank + half];
        group.sync();
    }
    return value;
}

__global__ void sum_block_as_group(unsigned int* out) {
    __shared__ unsigned int memory[128];
    const cg::thread_block block = cg::this_thread_block();
    const unsigned int sum = sum_in(block, memory, threadIdx.x);
    out[threadIdx.x] = threadIdx.x == 0 ? sum : cg::group_size(cg::thread_group(block));
}

__global__ void sum_parts_of_block(unsigned int* out) {
    __shared__ unsigned int memory[128];
    const cg::thread_group part = cg::tiled_partition(cg::this_thread_block(), 16);
    const unsigned int sum = sum_in(part, memory + threadIdx.x / 16 * 16, threadIdx.x);
    out[threadIdx.x] = part.thread_rank() == 0 ? sum : part.size();
}

/// Partitions a group of every third lane into groups of four.
__global__ void parts_of_lanes(unsigned int* out) {
    out[threadIdx.x] = 0;
    if (threadIdx.x % 3 != 0) return;
    const cg::thread_group all = cg::coalesced_threads();
    const cg::thread_group part = cg::tiled_partition(all, 4);
    out[threadIdx.x] = 1 + part.thread_rank() + 10 * part.size() + 100 * all.size();
    part.sync();
}

unsigned int part_of_lanes(int t, int threads) {
    if (t % 3 != 0) return 0;
    const int end = t / 32 * 32 + 32 < threads ? t / 32 * 32 + 32 : threads;
    const int first = (t / 32 * 32 + 2) / 3 * 3; // of the warp
    const int rank = (t - first) / 3, count = (end - 1 - first) / 3 + 1;
    const int part = rank / 4 * 4;
    return 1 + rank % 4 + 10 * (count - part < 4 ? count - part : 4) + 100 * count;
}

/// The group is the block or a tile, chosen at run time.
__global__ void chosen_group(unsigned int* out) {
    __shared__ unsigned int memory[64];
    const cg::thread_block block = cg::this_thread_block();
    const cg::thread_group group =
        blockIdx.x == 0 ? cg::thread_group(block) : cg::thread_group(cg::tiled_partition<8>(block));
    memory[threadIdx.x] = threadIdx.x;
    group.sync();
    const unsigned int first = threadIdx.x - group.thread_rank();
    out[blockIdx.x * 64 + threadIdx.x] =
        memory[first + (group.thread_rank() + 1) % group.size()] + 100 * group.is_valid();
}

__global__ void partitions(unsigned int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const cg::coalesced_group same = cg::labeled_partition(warp, threadIdx.x % 5);
    const cg::coalesced_group low = cg::binary_partition(same, threadIdx.x % 32 < 11);
    out[threadIdx.x] = same.size() + 100 * same.thread_rank() + 10000 * low.size() +
                       1000000 * low.shfl(threadIdx.x, 0);
}

unsigned int partition(int t) {
    const int warp = t / 32 * 32;
    unsigned int same = 0, rank = 0, low = 0, first = 64;
    for (int i = warp; i < warp + 32; i++) {
        if (i % 5 != t % 5) continue;
        same++;
        rank += i < t;
        if ((i % 32 < 11) != (t % 32 < 11)) continue;
        low++;
        first = unsigned(i) < first ? i : first;
    }
    return same + 100 * rank + 10000 * low + 1000000 * first;
}

void check_kinds_of_groups() {
    compare(
        sum_block_as_group, 128, [](int t) { return t == 0 ? 127U * 64 : 128; },
        "a_block_is_a_group");
    compare(
        sum_parts_of_block, 128, [](int t) { return t % 16 == 0 ? 16U * t + 120 : 16; },
        "a_part_of_a_block_is_a_group");
    compare(
        parts_of_lanes, 77, [](int t) { return part_of_lanes(t, 77); },
        "a_part_of_a_coalesced_group_is_a_group");
    compare(partitions, 64, partition, "threads_with_one_value_are_a_group");
    unsigned int* const out = managed<unsigned int>(128);
    std::vector<unsigned int> wanted;
    for (int i = 0; i < 128; i++)
        wanted.push_back(100 + (i < 64 ? (i + 1) % 64 : i % 64 / 8 * 8 + (i + 1) % 8));
    chosen_group<<<2, 64>>>(out);
    check(device_is_well() && same(out, wanted.data(), 128), "blocks_choose_their_groups");
    cudaFree(out);
}

// ---- scans and copies ----------------------------------------------------------

template <unsigned int Size>
__global__ void scan_tile(unsigned int* out) {
    const auto tile = cg::tiled_partition<Size>(cg::this_thread_block());
    const unsigned int mine = threadIdx.x * 2654435761U >> 20;
    out[threadIdx.x] = cg::inclusive_scan(tile, mine) ^ cg::exclusive_scan(tile, mine) * 3 ^
                       cg::inclusive_scan(tile, mine, cg::greater<unsigned int>()) * 5 ^
                       cg::exclusive_scan(tile, mine, cg::bit_xor<unsigned int>()) * 7;
}

/// The expected result of scans for threads up to @t for which @in holds.
template <class In>
unsigned int scanned(int first, int t, In in) {
    unsigned int sum = 0, most = 0, odd = 0, mine = 0;
    for (int i = first; i <= t; i++) {
        if (!in(i)) continue;
        mine = i * 2654435761U >> 20;
        sum += mine;
        most = mine > most ? mine : most;
        odd ^= mine;
    }
    return sum ^ (sum - mine) * 3 ^ most * 5 ^ (odd ^ mine) * 7;
}

__global__ void scan_coalesced(unsigned int* out) {
    out[threadIdx.x] = 0;
    if (threadIdx.x % 7 < 3) return;
    const cg::coalesced_group group = cg::coalesced_threads();
    const unsigned int mine = threadIdx.x * 2654435761U >> 20;
    out[threadIdx.x] = cg::inclusive_scan(group, mine) ^ cg::exclusive_scan(group, mine) * 3 ^
                       cg::inclusive_scan(group, mine, cg::greater<unsigned int>()) * 5 ^
                       cg::exclusive_scan(group, mine, cg::bit_xor<unsigned int>()) * 7;
}

/// The order of values matters: the last one that isn't 0 counts.
__global__ void scan_last(unsigned int* out) {
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    out[threadIdx.x] =
        cg::inclusive_scan(tile, threadIdx.x % 3 == 1 ? threadIdx.x : 0,
                           [](unsigned int a, unsigned int b) { return b != 0 ? b : a; });
}

struct triple {
    unsigned char byte[3];
};

__global__ void copy_together(unsigned int* out) {
    __shared__ unsigned int words[150], tail[40];
    __shared__ triple triples[20];
    __shared__ unsigned int given[150];
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<16>(block);
    for (unsigned int i = threadIdx.x; i < 150; i += blockDim.x)
        given[i] = i * 7 + 1;
    block.sync();
    cg::memcpy_async(block, words, given, sizeof(given));
    cg::memcpy_async(block, triples, reinterpret_cast<const triple*>(given), 59);
    cg::wait(block);
    if (tile.meta_group_rank() == 0) {
        cg::memcpy_async(tile, tail, 40, words + 100, 33);
        cg::wait_prior<1>(tile);
        cg::memcpy_async(tile, static_cast<void*>(tail + 33), static_cast<void*>(words), 28);
        cg::wait(tile);
    }
    block.sync();
    const unsigned int i = threadIdx.x;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
    const bool same_bytes = i >= 59 || triples[i / 3].byte[i % 3] == bytes[i];
    out[i] = words[i] + words[i + 50] + (i < 40 ? 10000 * tail[i] : 0) + (same_bytes ? 0 : 5000);
}

void check_scans_and_copies() {
    const auto all = [](int) { return true; };
    compare(
        scan_tile<32>, 96, [=](int t) { return scanned(t / 32 * 32, t, all); }, "scans_of_warps");
    compare(
        scan_tile<8>, 64, [=](int t) { return scanned(t / 8 * 8, t, all); }, "scans_of_tiles");
    compare(
        scan_coalesced, 77,
        [](int t) {
            return t % 7 < 3 ? 0 : scanned(t / 32 * 32, t, [](int i) { return i % 7 >= 3; });
        },
        "scans_of_coalesced_groups");
    compare(
        scan_last, 64,
        [](int t) {
            unsigned int found = 0;
            for (int i = t / 8 * 8; i <= t; i++)
                found = i % 3 == 1 ? i : found;
            return found;
        },
        "scans_combine_values_in_their_order");
    compare(
        copy_together, 96,
        [](unsigned int t) {
            const auto word = [](unsigned int i) { return i * 7 + 1; };
            const unsigned int copied = t < 33 ? word(100 + t) : word(t - 33);
            return word(t) + word(t + 50) + (t < 40 ? 10000 * copied : 0);
        },
        "groups_copy_together");
}

// ---- __reduce_*_sync -----------------------------------------------------------

__global__ void reduce_masks(unsigned int* out) {
    const unsigned int lane = threadIdx.x % 32, mine = threadIdx.x * 2654435761U;
    const bool low = lane < 11;
    const unsigned int mask = low ? 0x7ffU : ~0x7ffU;
    const int low_value = int(lane) - 20;
    const unsigned int found =
        __reduce_add_sync(mask, mine) ^ __reduce_min_sync(mask, mine) * 3 ^
        __reduce_max_sync(mask, mine) * 5 ^ __reduce_and_sync(mask, mine) * 7 ^
        __reduce_or_sync(mask, mine) * 11 ^ __reduce_xor_sync(mask, mine) * 13;
    const int least = __reduce_min_sync(mask, low_value), most = __reduce_max_sync(mask, low_value);
    const int sum = __reduce_add_sync(mask, low_value);
    out[threadIdx.x] = found + unsigned(least + 100 * most + 10000 * sum);
}

unsigned int reduced_mask(int t, int threads) {
    const int warp = t / 32 * 32, end = warp + 32 < threads ? warp + 32 : threads;
    const int first = t % 32 < 11 ? warp : warp + 11;
    const int last = t % 32 < 11 && warp + 11 < end ? warp + 11 : end;
    int sum = 0;
    for (int i = first; i < last; i++)
        sum += i % 32 - 20;
    return reduced(first, last, [](int) { return true; }) +
           unsigned(first % 32 - 20 + 100 * ((last - 1) % 32 - 20) + 10000 * sum);
}

void check_uneven_tiles() {
    compare(
        tiles_of_tiles, 64,
        [](int t) { return t % 4 + 10 * (t % 16 / 4) + 400 + (t % 16 / 4 == 1 ? 4000 : 0U); },
        "a_tile_has_tiles");
    compare(
        shuffle_objects, 64,
        [](int t) { return (t ^ 1) * 101 + 10000 * ((t ^ 1) + 2) + 1000000 * (t / 8 * 8 + 2U); },
        "shuffles_take_objects");
    compare(multiply_matrices, 64, product_of, "values_are_combined_in_their_order");
    compare(half_tiles, 64, half_tile, "threads_of_a_tile_that_have_ended_are_left_out");
    compare(
        sum_block, 256, [](int t) { return t == 0 ? 255U * 256 / 2 : 0; }, "functions_take_groups");
    compare(
        tiles_apart, 64,
        [](int t) {
            const int tile = t / 8;
            return tile * 8 + (t + tile) % 8 + (tile % 2 == 0 ? 800 : 100 * 0xaaU);
        },
        "tiles_of_a_warp_do_different_things");
    compare(
        places_in_tile<16>, 41, [](int t) { return t % 16 + 100 * (t / 16) + 16030000U; },
        "the_last_tile_counts");
    compare(
        reduce_tile<32>, 33, [](int t) { return reduced_tile<32>(t, 33); },
        "a_tile_with_one_thread_is_summed");
    compare(
        reduce_tile<16>, 41, [](int t) { return reduced_tile<16>(t, 41); },
        "a_tile_with_some_threads_is_summed");
}

void check_coalesced_groups() {
    compare(
        coalesced_thirds, 96, [](int t) { return third(t, 96); }, "a_coalesced_group_shuffles");
    compare(
        coalesced_thirds, 35, [](int t) { return third(t, 35); }, "a_coalesced_group_of_one");
    compare(coalesced_votes, 64, coalesced_vote, "coalesced_groups_vote_by_rank");
    compare(
        both_ways, 64,
        [](int t) {
            const unsigned int lane = t % 32;
            return lane % 4 == 0 ? 800 + lane / 4 : 2400 + lane - lane / 4 - 1;
        },
        "each_way_is_a_group");
    compare(
        reduce_coalesced, 77,
        [](int t) {
            const int first = t / 32 * 32, end = first + 32 < 77 ? first + 32 : 77;
            return t % 7 < 3 ? 0 : reduced(first, end, [](int i) { return i % 7 >= 3; });
        },
        "coalesced_groups_are_summed");
    compare(
        reserve_places, 100, [](int t) { return t < 65 ? 1U : 0U; }, "groups_reserve_places");
}

} // namespace

int main() {
    check_places();
    check_tiles<1>("places_in_tiles_of_1", "shuffles_in_tiles_of_1", "votes_in_tiles_of_1",
                   "sums_of_tiles_of_1");
    check_tiles<2>("places_in_tiles_of_2", "shuffles_in_tiles_of_2", "votes_in_tiles_of_2",
                   "sums_of_tiles_of_2");
    check_tiles<4>("places_in_tiles_of_4", "shuffles_in_tiles_of_4", "votes_in_tiles_of_4",
                   "sums_of_tiles_of_4");
    check_tiles<8>("places_in_tiles_of_8", "shuffles_in_tiles_of_8", "votes_in_tiles_of_8",
                   "sums_of_tiles_of_8");
    check_tiles<16>("places_in_tiles_of_16", "shuffles_in_tiles_of_16", "votes_in_tiles_of_16",
                    "sums_of_tiles_of_16");
    check_tiles<32>("places_in_tiles_of_32", "shuffles_in_tiles_of_32", "votes_in_tiles_of_32",
                    "sums_of_tiles_of_32");
    check_uneven_tiles();
    check_coalesced_groups();
    check_kinds_of_groups();
    check_scans_and_copies();
    compare(
        reduce_masks, 64, [](int t) { return reduced_mask(t, 64); }, "masks_are_reduced");
    compare(
        reduce_masks, 33, [](int t) { return reduced_mask(t, 33); },
        "masks_of_one_thread_are_reduced");
    return end_checks();
}
