// SPDX-License-Identifier: MIT
#include "bench_plan.hpp"

namespace hmmctl {

const std::vector<named>& bench_patterns() {
    static const std::vector<named> list = {
        {"sequential", "touch each page once, in order"},
        {"random", "touch each page once, in random order"},
        {"strided", "touch each page once, in steps of 64 KiB"},
        {"zipf", "touch pages at random, the n-th most popular one n times less often"},
        {"gups", "update words at random, four for each page"},
        {"triad", "a = b + s * c for arrays"},
        {"stencil", "mean of five neighbours in a 2D grid"},
        {"gemm", "square matrix times a matrix of 32 columns"},
        {"atax", "transposed matrix times the matrix times a vector"},
        {"spmv", "sparse matrix times a vector"},
        {"bfs", "breadth-first search in a random graph"},
        {"chase", "follow indexes from page to page"},
        {"list", "follow the pointers of a linked list"},
    };
    return list;
}

const std::vector<named>& bench_transfers() {
    static const std::vector<named> list = {
        {"copy", "copy data to device memory, and the result back"},
        {"prefetch", "prefetch data to the device, and the result back"},
        {"density", "device faults, with prefetch by density"},
        {"faults", "device faults only"},
        {"remote", "the device accesses system memory in place"},
    };
    return list;
}

const std::vector<named>& bench_peers() {
    static const std::vector<named> list = {
        {"storm", "pages to the device by faults, with prefetch by density"},
        {"fault", "pages to the device by faults, one fault per page"},
        {"prefetch", "pages to the device by a prefetch"},
        {"prefetch-back", "pages to system memory by a prefetch"},
        {"cpu-fault", "pages to system memory by CPU faults"},
        {"launch", "empty launches, each of which is waited for"},
        {"memcpy", "memcpy() of the same number of pages"},
        {"uffd-copy", "pages by userfaultfd and UFFDIO_COPY"},
        {"uffd-move", "pages by userfaultfd and UFFDIO_MOVE"},
        {"move-pages", "pages to another NUMA node by move_pages()"},
        {"test-hmm", "pages to a device of the kernel's test_hmm module"},
        {"test-hmm-back", "pages from test_hmm to system memory"},
    };
    return list;
}

const std::vector<named>& bench_pages() {
    static const std::vector<named> list = {
        {"single", "data in pages of 4 KiB"},
        {"huge", "data in huge pages, requested with madvise()"},
        {"system", "data in the system's default pages"},
    };
    return list;
}

const std::vector<named>& bench_scalings() {
    static const std::vector<named> list = {
        {"lanes", "storms and prefetches by 1, 2, 4, ... lanes of a device"},
        {"devices", "storms and prefetches on 1, 2, 4, ... devices with one lane each"},
        {"processes", "storms and prefetches on a device by 1, 2 and 4 processes"},
    };
    return list;
}

std::vector<std::string> names_of(const std::vector<named>& list) {
    std::vector<std::string> names;
    for (const named& one : list)
        names.emplace_back(one.name);
    return names;
}

json to_json(const bench_plan& plan) {
    return {{"patterns", plan.patterns}, {"transfers", plan.transfers},
            {"peers", plan.peers},       {"footprints", plan.footprints},
            {"pages", plan.pages},       {"repeats", plan.repeats},
            {"quick", plan.quick},       {"scaling", plan.scaling}};
}

bench_plan plan_from(const json& plan) {
    bench_plan result;
    plan.at("patterns").get_to(result.patterns);
    plan.at("transfers").get_to(result.transfers);
    plan.at("peers").get_to(result.peers);
    plan.at("footprints").get_to(result.footprints);
    plan.at("pages").get_to(result.pages);
    plan.at("repeats").get_to(result.repeats);
    plan.at("quick").get_to(result.quick);
    plan.at("scaling").get_to(result.scaling);
    return result;
}

} // namespace hmmctl
