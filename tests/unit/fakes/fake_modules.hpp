// SPDX-License-Identifier: MIT
/*
 * Replaces the modules' knowledge of a program's memory, their memory objects, and their knobs,
 * quotas, statistics and annotations.
 */
#pragma once

#include <linux/hmmrt.h>
#include <linux/hmmrt_event.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace fakes {

struct prefetch_call {
    std::uint64_t addr;
    std::uint64_t len;
    std::uint32_t location;
    bool operator==(const prefetch_call&) const = default;
};

struct discard_call {
    std::uint64_t addr;
    std::uint64_t len;
    bool operator==(const discard_call&) const = default;
};

inline std::ostream& operator<<(std::ostream& to, const discard_call& one) {
    return to << std::hex << one.addr << " + " << one.len << std::dec;
}

inline std::ostream& operator<<(std::ostream& to, const prefetch_call& one) {
    return to << discard_call{one.addr, one.len} << " to " << one.location;
}

struct fake_page {
    std::uint32_t location = HMMRT_LOCATION_HOST;
    std::uint32_t flags = 0; ///< HMMRT_RANGE_*
    std::uint32_t accessed_by = 0;
    std::uint32_t preferred = HMMRT_LOCATION_NONE;
    std::uint32_t last_prefetch = HMMRT_LOCATION_NONE;
    std::uint64_t granularity = 0;
};

/// Replaces the modules' knowledge of a program's memory: the location, advice and locks of each
/// page. Everything is mapped except for one hole. A page is in system memory until it is
/// prefetched.
class fake_memory {
  public:
    static constexpr std::uint64_t hole = 0x700000000000; ///< the start of a block without mappings
    static constexpr std::uint64_t hole_end = hole + (2 << 20);
    static constexpr std::uint64_t lock_limit = 64 << 10;

    /// Returns 0 or -errno; -ENOTTY for requests that are not about memory.
    int ioctl(unsigned long request, void* argument);
    int discard(std::uint64_t addr, std::uint64_t len);
    int lock(std::uint64_t addr, std::uint64_t len);
    int lock_on_fault(std::uint64_t addr, std::uint64_t len);
    bool has_locked(std::uint64_t addr, std::uint64_t len);
    int unlock(std::uint64_t addr, std::uint64_t len);
    static bool is_mapped(std::uint64_t addr, std::uint64_t len);
    /// In the format of /proc/self/maps.
    std::string maps();
    void clear();

    // Set by tests.
    std::size_t interrupt_after = 0; ///< pages that a prefetch moves before a signal
    int lock_error = 0;              ///< the limit of locked memory is reached
    int populate_error = 0;          ///< not enough memory
    int prefetch_error = 0;          ///< the device is gone
    bool peers_possible = true;
    std::function<void()> while_prefetching;
    std::function<void()> while_locking;            ///< while pages to lock are populated
    std::map<std::uint64_t, enum hmmrt_stay> stays; ///< pages that do not move

    // Read by tests.
    std::vector<prefetch_call> prefetches;
    std::vector<discard_call> discards;
    std::string order;              ///< a letter for each call: p or d
    std::set<std::uint64_t> locked; ///< pages
    int lock_questions = 0;

  private:
    int prefetch(hmmrt_prefetch& request);
    int residency(hmmrt_residency& request);
    int advise(const hmmrt_advise& request);
    int range_attributes(hmmrt_range_attributes& request);
    int pages(hmmrt_pages& request);
    int peer(hmmrt_peer& request);
    std::uint8_t move(std::uint64_t addr, std::uint32_t location);

    std::mutex lock_;
    std::map<std::uint64_t, fake_page> pages_;
    std::set<std::pair<std::uint32_t, std::uint32_t>> peers_;
};

/// Replaces the memory objects of the modules, and the system calls that map them. Their memory is
/// real: an object is a memfd, so that a test can map it at several addresses. Descriptors come
/// from the fake kernel.
class fake_objects {
  public:
    // Of the modules. They return 0 or -errno.
    int create(hmmrt_object_create& request, int fresh_fd);
    int info(int fd, hmmrt_object_info& request);
    int access(const hmmrt_access& request);

    // Of the system. -EBADF for a descriptor that is not of a memory object.
    int create_shared_memory(const char* name, std::size_t bytes, int fresh_fd);
    int describe_shared_memory(int fd, std::string& name, std::size_t& bytes);
    int duplicate(int fd, int fresh_fd);
    std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd,
                     std::uint64_t offset);
    int protect(std::uint64_t address, std::size_t bytes, int protection);
    void close(int fd);

    bool has(int fd);
    /// Descriptors of memory objects that are open.
    std::size_t open();
    void clear();

    // Set by tests; errors are positive.
    int create_error = 0;
    int duplicate_error = 0;
    int map_error = 0;
    /// the call after this many others fails
    int protect_error = 0, protects_before_error = 0;
    int access_error = 0, accesses_before_error = 0;

    // Read by tests.
    std::vector<hmmrt_object_create> creations;
    std::vector<hmmrt_access> accesses; ///< those that succeeded

  private:
    struct object {
        explicit object(std::size_t size);
        object(const object&) = delete;
        object& operator=(const object&) = delete;
        ~object();

        int file; ///< a real descriptor
        std::size_t bytes;
        std::uint64_t id = 0;
        std::uint32_t location = 0, flags = 0;
        std::string name; ///< of shared memory
    };

    std::shared_ptr<object> find(int fd);

    std::mutex lock_;
    std::map<int, std::shared_ptr<object>> files_;
    std::uint64_t next_id_ = 1;
};

struct fake_knob {
    std::string name;
    std::uint32_t min;
    std::uint32_t max;
    std::uint32_t by_default;
    std::uint32_t scopes;
    std::map<std::uint64_t, std::uint32_t> set; ///< by scope, and by id for devices
};

/// Replaces the knobs, quotas, statistics and annotations of the modules: stores which value was
/// set where, with one value for all ranges, and fails on request.
class fake_policy {
  public:
    int knob(hmmrt_knob& request);
    int quota(hmmrt_quota& request);
    /// The members have the values 1, 2, 3, ... in their order.
    int stats(hmmrt_stats& request);
    int annotate(const hmmrt_annotate& request);
    void clear();

    // Set by tests.
    int knob_change_error = 0; ///< positive; queries still succeed
    int quota_error = 0;
    int stats_error = 0;
    int annotation_error = 0;
    std::vector<fake_knob> knobs;

    // Read by tests.
    std::vector<hmmrt_knob> knob_changes;
    std::vector<hmmrt_quota> quotas;  ///< every call
    std::vector<hmmrt_stats> queries; ///< every call for statistics
    std::vector<hmmrt_annotate> annotations;

  private:
    std::mutex lock_;
    hmmrt_quota held_ = {};
};

} // namespace fakes
