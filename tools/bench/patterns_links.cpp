// SPDX-License-Identifier: MIT
// Patterns in which data determines where the next data is.
#include "data.hpp"

namespace bench {
namespace {

// ---- a graph

constexpr std::size_t degree = 8;
constexpr std::uint32_t not_reached = ~0u;

struct graph_data {
    graph_data(std::byte* at, std::size_t bytes)
        : vertices(fitting(bytes, (degree + 3) * sizeof(std::uint32_t), 4)) {
        arrays data(at);
        levels = data.next<std::uint32_t>(vertices);
        queue = data.next<std::uint32_t>(vertices);
        starts = data.next<std::uint32_t>(vertices + 1);
        edges = data.next<std::uint32_t>(vertices * degree);
    }
    std::size_t vertices;
    std::uint32_t *levels, *queue, *starts, *edges;
};

void fill_bfs(std::byte* at, std::size_t bytes) {
    const graph_data graph(at, bytes);
    numbers random;
    for (std::size_t i = 0; i < graph.vertices; i++) {
        graph.levels[i] = not_reached;
        graph.queue[i] = 0;
        graph.starts[i] = static_cast<std::uint32_t>(i * degree);
    }
    graph.starts[graph.vertices] = static_cast<std::uint32_t>(graph.vertices * degree);
    for (std::size_t i = 0; i < graph.vertices * degree; i++)
        graph.edges[i] = random.below(static_cast<std::uint32_t>(graph.vertices));
}

void run_bfs(std::byte* at, std::size_t bytes) {
    const graph_data graph(at, bytes);
    std::size_t end = 1;
    graph.queue[0] = 0;
    graph.levels[0] = 0;
    for (std::size_t next = 0; next < end; next++) {
        const std::uint32_t vertex = graph.queue[next];
        for (std::uint32_t i = graph.starts[vertex]; i < graph.starts[vertex + 1]; i++) {
            const std::uint32_t to = graph.edges[i];
            if (graph.levels[to] != not_reached) continue;
            graph.levels[to] = graph.levels[vertex] + 1;
            graph.queue[end++] = to;
        }
    }
}

part result_of_bfs(std::size_t bytes) {
    return {0, graph_data(nullptr, bytes).vertices * sizeof(std::uint32_t)};
}

// ---- chains: the first page has the result

struct chain_result {
    std::uint64_t steps, sum;
};

part first_page(std::size_t) {
    return {0, page_bytes};
}

void set_result(std::byte* at, std::uint64_t steps, std::uint64_t sum) {
    *reinterpret_cast<chain_result*>(at) = {steps, sum};
}

/// Each page has the index of the next one, in a different cache line than its neighbours.
std::uint64_t& next_of(std::byte* at, std::size_t page) {
    constexpr std::size_t line = 64;
    return *reinterpret_cast<std::uint64_t*>(at + page * page_bytes +
                                             page % (page_bytes / line) * line);
}

std::uint32_t pages_of(std::size_t bytes) {
    return static_cast<std::uint32_t>(bytes / page_bytes);
}

void fill_chase(std::byte* at, std::size_t bytes) {
    set_result(at, 0, 0);
    const std::vector<std::uint32_t> order = shuffled(2, pages_of(bytes));
    std::size_t page = 1; // the chain begins here
    for (const std::uint32_t next : order) {
        next_of(at, page) = next;
        page = next;
    }
    next_of(at, page) = 0;
}

void run_chase(std::byte* at, std::size_t) {
    std::uint64_t steps = 0, sum = 0;
    for (std::uint64_t page = 1; page != 0; page = next_of(at, page)) {
        steps++;
        sum = sum * 31 + page;
    }
    set_result(at, steps, sum);
}

struct node {
    node* next;
    std::uint64_t value, others[6];
};
constexpr std::size_t page_nodes = page_bytes / sizeof(node);

/// Places nodes as an allocator would: consecutively within a page, with pages in random order.
void fill_list(std::byte* at, std::size_t bytes) {
    set_result(at, 0, 0);
    node* last = nullptr;
    std::vector<std::uint32_t> order = shuffled(2, pages_of(bytes));
    order.insert(order.begin(), 1);
    for (const std::uint32_t page : order) {
        node* const nodes = reinterpret_cast<node*>(at + page * page_bytes);
        for (std::size_t i = 0; i < page_nodes; i++) {
            nodes[i] = {nullptr, page + i, {}};
            if (last != nullptr) last->next = &nodes[i];
            last = &nodes[i];
        }
    }
}

void run_list(std::byte* at, std::size_t) {
    std::uint64_t steps = 0, sum = 0;
    for (const node* one = reinterpret_cast<node*>(at + page_bytes); one != nullptr;
         one = one->next) {
        steps++;
        sum = sum * 31 + one->value;
    }
    set_result(at, steps, sum);
}

void readdress_list(std::byte* at, std::size_t bytes, const std::byte* from, const std::byte* to) {
    const auto first = reinterpret_cast<std::uintptr_t>(from),
               new_first = reinterpret_cast<std::uintptr_t>(to);
    auto* const nodes = reinterpret_cast<node*>(at + page_bytes);
    for (std::size_t i = 0; i < bytes / sizeof(node) - page_nodes; i++)
        if (nodes[i].next != nullptr)
            nodes[i].next = reinterpret_cast<node*>(
                reinterpret_cast<std::uintptr_t>(nodes[i].next) - first + new_first);
}

} // namespace

const pattern bfs = {"bfs", fill_bfs, run_bfs, result_of_bfs, nullptr};
const pattern pointer_chase = {"chase", fill_chase, run_chase, first_page, nullptr};
const pattern linked_list = {"list", fill_list, run_list, first_page, readdress_list};

} // namespace bench
