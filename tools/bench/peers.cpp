// SPDX-License-Identifier: MIT
#include "peers.hpp"

#include "measure.hpp"
#include "patterns.hpp"
#include "program_memory.hpp"

#include <hmm/hmm.hpp>

#include <cstring>
#include <functional>

namespace bench {
namespace {

/// A peer without state between measurements.
class plain : public peer {
  public:
    plain(std::size_t operations, std::function<double()> once)
        : operations_(operations), once_(std::move(once)) {}
    double measure() override { return once_(); }
    std::size_t operations() const override { return operations_; }

  private:
    std::size_t operations_;
    std::function<double()> once_;
};

std::unique_ptr<peer> make_plain(std::size_t operations, std::function<double()> once) {
    return std::make_unique<plain>(operations, std::move(once));
}

double touch_on_device(const mapping& memory) {
    return seconds([&] {
        hmm::launch(
            1, [data = memory.span()](std::size_t) { sequential.run(data.data(), data.size()); });
        hmm::synchronize();
    });
}

double prefetch(const mapping& memory, hmm::location where) {
    return seconds([&] {
        hmm::prefetch(memory.span(), where);
        hmm::synchronize();
    });
}

void fill(const mapping& memory) {
    std::memset(memory.data(), 1, memory.span().size());
}

double storm(std::size_t pages) {
    const mapping memory(pages * page_bytes);
    fill(memory);
    return touch_on_device(memory);
}

/// Moves each page by a separate device fault, for comparison with userfaultfd.
double single_faults(std::size_t pages) {
    const mapping memory(pages * page_bytes);
    fill(memory);
    hmm::knob("prefetch_enable").set(0, memory.span());
    hmm::set_granularity(memory.span(), page_bytes);
    return touch_on_device(memory);
}

double move_in(std::size_t pages) {
    const mapping memory(pages * page_bytes);
    fill(memory);
    return prefetch(memory, hmm::device(0));
}

double move_back(std::size_t pages, bool by_faults) {
    const mapping memory(pages * page_bytes);
    fill(memory);
    prefetch(memory, hmm::device(0));
    if (!by_faults) return prefetch(memory, hmm::host);
    return seconds([&] { read_pages(memory.data(), memory.span().size()); });
}

double launches(std::size_t count) {
    return seconds([=] {
        for (std::size_t i = 0; i < count; i++) {
            hmm::launch(1, [](std::size_t) {});
            hmm::synchronize();
        }
    });
}

std::unique_ptr<peer> make_memcpy(std::size_t pages) {
    const auto from = std::make_shared<mapping>(pages * page_bytes),
               to = std::make_shared<mapping>(pages * page_bytes);
    fill(*from);
    fill(*to);
    return make_plain(pages, [from, to] {
        return seconds([&] { std::memcpy(to->data(), from->data(), from->span().size()); });
    });
}

std::unique_ptr<peer> make_launch(std::size_t pages) {
    const std::size_t count = pages / 16 + 1;
    return make_plain(count, [count] { return launches(count); });
}

} // namespace

std::unique_ptr<peer> make_peer(std::string_view name, std::size_t pages) {
    if (name == "storm") return make_plain(pages, [pages] { return storm(pages); });
    if (name == "fault") return make_plain(pages, [pages] { return single_faults(pages); });
    if (name == "prefetch") return make_plain(pages, [pages] { return move_in(pages); });
    if (name == "prefetch-back")
        return make_plain(pages, [pages] { return move_back(pages, false); });
    if (name == "cpu-fault") return make_plain(pages, [pages] { return move_back(pages, true); });
    if (name == "launch") return make_launch(pages);
    if (name == "memcpy") return make_memcpy(pages);
    if (name == "uffd-copy") return make_userfaultfd_copy(pages);
    if (name == "uffd-move") return make_userfaultfd_move(pages);
    if (name == "move-pages") return make_move_pages(pages);
    if (name == "test-hmm" || name == "test-hmm-back") return make_test_hmm(name, pages);
    throw std::invalid_argument("there is no peer " + std::string(name));
}

} // namespace bench
