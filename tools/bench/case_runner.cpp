// SPDX-License-Identifier: MIT
#include "case_runner.hpp"

#include "measure.hpp"

#include <cstring>
#include <memory>

namespace bench {
namespace {

/// Turns density prefetching off for its lifetime.
class faults_only {
  public:
    explicit faults_only(bool wanted) : wanted_(wanted) {
        if (wanted_) knob_.set(0);
    }
    faults_only(const faults_only&) = delete;
    faults_only& operator=(const faults_only&) = delete;
    ~faults_only() {
        if (wanted_) hmmKnobReset(knob_.name().c_str(), hmm::knob_scope(hmm::this_process).get());
    }

  private:
    hmm::knob knob_{"prefetch_enable"};
    bool wanted_;
};

struct freeing {
    void operator()(std::byte* memory) const { hmmFree(memory); }
};

/// Allocates device memory, before the measurement.
std::unique_ptr<std::byte, freeing> device_memory(std::size_t bytes) {
    void* memory = nullptr;
    hmm::check(hmmMalloc(&memory, bytes), "malloc");
    std::unique_ptr<std::byte, freeing> owned(static_cast<std::byte*>(memory));
    hmm::set_bytes(std::span(owned.get(), bytes), std::byte{0});
    hmm::synchronize();
    return owned;
}

std::map<std::string, std::uint64_t> counts_between(const hmmStats& before, const hmmStats& after) {
    return {{"device_faults", after.deviceFaults - before.deviceFaults},
            {"cpu_faults", after.cpuFaults - before.cpuFaults},
            {"pages_to_device", after.pagesToDevice - before.pagesToDevice},
            {"pages_to_host", after.pagesToHost - before.pagesToHost},
            {"evicted_pages", after.pagesEvicted - before.pagesEvicted},
            {"remote_pages", after.pagesRemote - before.pagesRemote},
            {"retries", after.retries - before.retries}};
}

} // namespace

double case_runner::run_kernel(std::byte* at) const {
    return seconds([&] {
        // one lane, for comparison with one CPU
        hmm::launch(1, [run = pattern_.run, at, bytes = bytes_](std::size_t) { run(at, bytes); });
        hmm::synchronize();
    });
}

void case_runner::check(const std::byte* at, std::string_view transfer) const {
    if (is_expected_ && checksum(pattern_, at, bytes_) == expected_) return;
    throw wrong_result(std::string(pattern_.name) + " has another result with " +
                       std::string(transfer) + " than on the CPU");
}

sample case_runner::run_on_cpu() {
    const mapping memory(bytes_, pages_);
    pattern_.fill(memory.data(), bytes_);
    sample result;
    result.kernel = seconds([&] { pattern_.run(memory.data(), bytes_); });
    const part wanted = pattern_.result(bytes_);
    result.read_back = seconds([&] { read_pages(memory.data() + wanted.offset, wanted.bytes); });
    if (!is_expected_) expected_ = checksum(pattern_, memory.data(), bytes_);
    is_expected_ = true;
    check(memory.data(), "the CPU");
    return result;
}

sample case_runner::run_on_device(std::string_view transfer) {
    const hmmStats before = hmm::stats(hmm::device(0));
    if (transfer == "copy") return run_in_copy();
    sample result = run_in_place(transfer);
    result.counts = counts_between(before, hmm::stats(hmm::device(0)));
    return result;
}

sample case_runner::run_in_place(std::string_view transfer) const {
    const mapping memory(bytes_, pages_);
    pattern_.fill(memory.data(), bytes_);
    const part wanted = pattern_.result(bytes_);
    const auto result_span = memory.span().subspan(wanted.offset, wanted.bytes);
    const faults_only knob(transfer == "faults");
    const bool is_prefetch = transfer == "prefetch", is_remote = transfer == "remote";
    sample result;
    result.move_in = seconds([&] {
        if (is_prefetch) hmm::prefetch(memory.span(), hmm::device(0));
        if (is_remote) {
            hmm::advise(memory.span(), hmm::no_migrate);
            hmm::advise(memory.span(), hmm::accessed_by(hmm::device(0)));
        }
        hmm::synchronize();
    });
    result.kernel = run_kernel(memory.data());
    result.read_back = seconds([&] {
        if (is_prefetch) hmm::prefetch(result_span, hmm::host);
        hmm::synchronize();
        read_pages(result_span.data(), result_span.size());
    });
    check(memory.data(), transfer);
    return result;
}

sample case_runner::run_in_copy() const {
    const mapping memory(bytes_, pages_);
    pattern_.fill(memory.data(), bytes_);
    const part wanted = pattern_.result(bytes_);
    const auto on_device = device_memory(bytes_);
    // we adjust addresses in a second copy, as a program would to keep its own data valid
    std::unique_ptr<mapping> staged;
    if (pattern_.readdress != nullptr) {
        staged = std::make_unique<mapping>(bytes_, pages_);
        std::memset(staged->data(), 0, bytes_); // allocates the pages before the measurement
    }
    const hmmStats before = hmm::stats(hmm::device(0));
    sample result;
    result.move_in = seconds([&] {
        std::span<std::byte> from = memory.span();
        if (staged) {
            std::memcpy(staged->data(), memory.data(), bytes_);
            pattern_.readdress(staged->data(), bytes_, memory.data(), on_device.get());
            from = staged->span();
        }
        hmm::copy(std::span(on_device.get(), bytes_), from);
        hmm::synchronize();
    });
    result.kernel = run_kernel(on_device.get());
    const auto back = memory.span().subspan(wanted.offset, wanted.bytes);
    result.read_back = seconds([&] {
        hmm::copy(back, std::span(on_device.get() + wanted.offset, wanted.bytes));
        hmm::synchronize();
        read_pages(back.data(), back.size());
    });
    result.counts = counts_between(before, hmm::stats(hmm::device(0)));
    check(memory.data(), "copy");
    return result;
}

} // namespace bench
