// SPDX-License-Identifier: MIT
#include "space_memory.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <sys/ioctl.h>
#include <unistd.h>

namespace hmmctl {
namespace {

/// Makes a query. Returns false if a part of the range isn't mapped.
template <class Query>
bool is_answered(int file, unsigned long request, Query& query, pid_t pid) {
    int result = 0;
    do
        result = ioctl(file, request, &query);
    while (result < 0 && errno == EINTR);
    if (result >= 0) return true;
    switch (errno) {
    case EFAULT:
        return false;
    case ESRCH:
        throw failure(fmt::format("process {} has exited", pid));
    case EPERM:
        throw failure("the loaded hmmrt module does not answer queries about other processes");
    default:
        throw failure(
            fmt::format("cannot query the memory of process {}: {}", pid, std::strerror(errno)));
    }
}

} // namespace

std::optional<hmmrt_range_attributes> space_memory::attributes(std::uint64_t start,
                                                               std::uint64_t bytes) {
    hmmrt_range_attributes wanted = {};
    wanted.size = sizeof(wanted);
    wanted.addr = start;
    wanted.len = bytes;
    if (!is_answered(file_.get(), HMMRT_IOC_RANGE_ATTRIBUTES, wanted, pid_)) return std::nullopt;
    return wanted;
}

bool space_memory::pages(std::uint64_t start, std::span<hmmrt_page> into) {
    hmmrt_pages wanted = {};
    wanted.size = sizeof(wanted);
    wanted.addr = start;
    wanted.len = into.size() * page_bytes;
    wanted.pages = reinterpret_cast<std::uintptr_t>(into.data());
    wanted.page_bytes = sizeof(hmmrt_page);
    return is_answered(file_.get(), HMMRT_IOC_PAGES, wanted, pid_);
}

page_place place_of(const hmmrt_page& page) {
    if (page.location < HMMRT_MAX_DEVICES) return static_cast<page_place>(page.location);
    if (page.duplicates != 0) return duplicated;
    if (page.location == HMMRT_LOCATION_NONE) return page.mapped_by != 0 ? exclusive : untouched;
    // the module doesn't look at pages that the process may not read
    const bool is_known = page.mapped_by != 0 || (page.flags & HMMRT_PAGE_FILE) != 0;
    return is_known ? in_system_memory : untouched;
}

void page_counts::add(const hmmrt_page& page) {
    at[place_of(page)]++;
    for (std::size_t id = 0; id < HMMRT_MAX_DEVICES; id++) {
        duplicates[id] += page.duplicates >> id & 1;
        mapped[id] += page.mapped_by >> id & 1;
    }
}

void page_counts::add(const page_counts& other) {
    const auto sum = [](auto& to, const auto& from) {
        std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus());
    };
    sum(at, other.at);
    sum(duplicates, other.duplicates);
    sum(mapped, other.mapped);
}

bool page_counts::has_device() const {
    const auto is_set = [](std::uint64_t count) { return count != 0; };
    return std::any_of(at.begin(), at.begin() + HMMRT_MAX_DEVICES, is_set) || at[exclusive] != 0 ||
           std::any_of(duplicates.begin(), duplicates.end(), is_set) ||
           std::any_of(mapped.begin(), mapped.end(), is_set);
}

} // namespace hmmctl
