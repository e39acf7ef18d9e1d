// SPDX-License-Identifier: MIT
#include "bench_plan.hpp"

namespace hmmctl {

const std::vector<named>& bench_patterns() {
    static const std::vector<named> list = {
        {"sequential", "touch each page once, one behind the other"},
        {"random", "touch each page once, in any order"},
        {"strided", "touch each page once, in steps of 64 KiB"},
        {"triad", "a = b + s * c, of arrays"},
        {"stencil", "the mean of five neighbours in a plane"},
        {"gemm", "a square matrix times one of 32 columns"},
        {"atax", "a matrix and its transpose times a vector"},
        {"spmv", "a sparse matrix times a vector"},
        {"bfs", "breadth-first search in a random graph"},
        {"chase", "follow indexes from page to page"},
        {"list", "follow the pointers of a linked list"},
    };
    return list;
}

const std::vector<named>& bench_transfers() {
    static const std::vector<named> list = {
        {"copy", "copy to memory of the device, and the result back"},
        {"prefetch", "prefetch to the device, and the result back"},
        {"density", "device faults, with prefetch by density"},
        {"faults", "device faults only"},
        {"remote", "the device uses system memory in place"},
    };
    return list;
}

const std::vector<named>& bench_peers() {
    static const std::vector<named> list = {
        {"storm", "pages to the device by faults, with prefetch by density"},
        {"fault", "pages to the device, each by a fault of its own"},
        {"prefetch", "pages to the device by a prefetch"},
        {"prefetch-back", "pages to system memory by a prefetch"},
        {"cpu-fault", "pages to system memory by CPU faults"},
        {"launch", "launches that do nothing, and waiting for each"},
        {"memcpy", "memcpy() of as many pages"},
        {"uffd-copy", "pages by userfaultfd and UFFDIO_COPY"},
        {"uffd-move", "pages by userfaultfd and UFFDIO_MOVE"},
        {"move-pages", "pages to another NUMA node by move_pages()"},
        {"test-hmm", "pages to a device of the kernel's test_hmm"},
        {"test-hmm-back", "pages to system memory from there"},
    };
    return list;
}

const std::vector<named>& bench_pages() {
    static const std::vector<named> list = {
        {"single", "data in pages of 4 KiB"},
        {"huge", "data in huge pages, where the system lets a program ask for them"},
        {"system", "data in such pages as a program gets that does not ask"},
    };
    return list;
}

const std::vector<named>& bench_scalings() {
    static const std::vector<named> list = {
        {"lanes", "storms and prefetches by 1, 2, 4 ... lanes of a device"},
        {"devices", "storms and prefetches on 1, 2, 4 ... devices, by a lane of each"},
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
