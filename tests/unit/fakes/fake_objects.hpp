// SPDX-License-Identifier: MIT
/*
 * Replaces the memory objects of the modules, and the system calls that map them. Their memory is
 * real: an object is a memfd, so that a test can map it at several addresses. Descriptors come from
 * the fake kernel.
 */
#pragma once

#include <linux/hmmrt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace fakes {

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

} // namespace fakes
