// SPDX-License-Identifier: MIT
#include "allocation_file.hpp"

#include "failure.hpp"
#include "helpers.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace hmmctl {
namespace {

[[noreturn]] void fail(int error) {
    throw failure(fmt::format("cannot create the allocation file: {}", std::strerror(error)));
}

/// Allocates the file's blocks first, because programs write through mappings and would get SIGBUS
/// on a full file system.
void* mapped_file(const std::string& path, int file, std::size_t bytes) {
    int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
    void* const at =
        error != 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at != MAP_FAILED) return at;
    if (error == 0) error = errno;
    unlink(path.c_str());
    fail(error);
}

} // namespace

allocation_file::allocation_file(std::uint64_t least_bytes, std::uint64_t slots,
                                 std::chrono::nanoseconds patience)
    : path_(std::filesystem::temp_directory_path() / "hmmctl-allocations-XXXXXX"),
      slots_(slots),
      patience_(patience) {
    const tools::descriptor file(mkostemp(path_.data(), O_CLOEXEC));
    if (file.get() < 0) fail(errno);
    ring_ = new (mapped_file(path_, file.get(), allocation_ring_bytes(slots))) allocation_ring{};
    ring_->slots = slots;
    ring_->least_bytes = least_bytes;
    ring_->format = allocation_ring_format;
}

allocation_file::~allocation_file() {
    munmap(ring_, allocation_ring_bytes(slots_));
    unlink(path_.c_str());
}

bool allocation_file::is_given_up() {
    const auto now = std::chrono::steady_clock::now();
    if (awaited_ != tail_) {
        awaited_ = tail_;
        since_ = now;
    }
    return now - since_ >= patience_;
}

std::size_t allocation_file::read(std::vector<allocation_record>& into) {
    const std::size_t before = into.size();
    const std::uint64_t head = ring_->head.load(std::memory_order_acquire);
    if (head - tail_ > slots_) throw failure("the allocation file is corrupted");
    for (; tail_ != head; tail_++) {
        allocation_slot& slot = slot_of(*ring_, slots_, tail_);
        if (slot.written.load(std::memory_order_acquire) == tail_ + 1)
            into.push_back(slot.record);
        else if (is_given_up())
            given_up_++;
        else
            break;
    }
    ring_->tail.store(tail_, std::memory_order_release);
    return into.size() - before;
}

std::uint64_t allocation_file::dropped() const {
    return ring_->dropped.load(std::memory_order_relaxed) + given_up_;
}

std::vector<std::string> allocation_file::environment() const {
    std::string preloaded = helper_file("libhmmrt-allocations.so");
    // ld.so(8) treats both as separators
    if (preloaded.find_first_of(" :") != std::string::npos)
        throw failure(
            fmt::format("cannot preload {}: its path contains a space or a colon", preloaded));
    if (const char* const more = std::getenv("LD_PRELOAD"); more && *more)
        preloaded += fmt::format(":{}", more);
    return {fmt::format("LD_PRELOAD={}", preloaded),
            fmt::format("{}={}", allocations_variable, path_)};
}

} // namespace hmmctl
