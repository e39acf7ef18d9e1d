// SPDX-License-Identifier: MIT
#include "fakes/fake_objects.hpp"

#include <cerrno>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace fakes {
namespace {

/// True for the call that should fail.
bool is_due(int error, int& calls_before) {
    return error != 0 && calls_before-- == 0;
}

} // namespace

fake_objects::object::object(std::size_t size)
    : file(::memfd_create("fake", MFD_CLOEXEC)), bytes(size) {
    if (::ftruncate(file, static_cast<off_t>(size)) < 0) bytes = 0;
}

fake_objects::object::~object() {
    ::close(file);
}

void fake_objects::clear() {
    const std::lock_guard lock(lock_);
    create_error = duplicate_error = map_error = protect_error = access_error = 0;
    protects_before_error = accesses_before_error = 0;
    creations.clear();
    accesses.clear();
}

std::shared_ptr<fake_objects::object> fake_objects::find(int fd) {
    const std::lock_guard lock(lock_);
    const auto found = files_.find(fd);
    return found == files_.end() ? nullptr : found->second;
}

bool fake_objects::has(int fd) {
    return find(fd) != nullptr;
}

std::size_t fake_objects::open() {
    const std::lock_guard lock(lock_);
    return files_.size();
}

void fake_objects::close(int fd) {
    const std::lock_guard lock(lock_);
    files_.erase(fd);
}

int fake_objects::create(hmmrt_object_create& request, int fresh_fd) {
    const std::lock_guard lock(lock_);
    if (create_error != 0) return -create_error;
    creations.push_back(request);
    auto fresh = std::make_shared<object>(request.bytes);
    fresh->id = next_id_++;
    fresh->location = request.location;
    fresh->flags = request.flags;
    files_[fresh_fd] = std::move(fresh);
    request.out_fd = fresh_fd;
    return 0;
}

int fake_objects::info(int fd, hmmrt_object_info& request) {
    const auto found = find(fd);
    if (!found) return -ENOTTY;
    request.out_bytes = found->bytes;
    request.out_id = found->id;
    request.out_location = found->location;
    request.out_flags = found->flags;
    return 0;
}

int fake_objects::access(const hmmrt_access& request) {
    const std::lock_guard lock(lock_);
    if (is_due(access_error, accesses_before_error)) return -access_error;
    accesses.push_back(request);
    return 0;
}

int fake_objects::create_shared_memory(const char* name, std::size_t bytes, int fresh_fd) {
    const std::lock_guard lock(lock_);
    auto fresh = std::make_shared<object>(bytes);
    fresh->name = name;
    files_[fresh_fd] = std::move(fresh);
    return fresh_fd;
}

int fake_objects::describe_shared_memory(int fd, std::string& name, std::size_t& bytes) {
    const auto found = find(fd);
    if (!found || found->name.empty()) return -EINVAL;
    name = found->name;
    bytes = found->bytes;
    return 0;
}

int fake_objects::duplicate(int fd, int fresh_fd) {
    const auto found = find(fd);
    if (duplicate_error != 0) return -duplicate_error;
    if (!found) return -EBADF;
    const std::lock_guard lock(lock_);
    files_[fresh_fd] = found;
    return fresh_fd;
}

std::int64_t fake_objects::map(std::uint64_t address, std::size_t bytes, int protection, int flags,
                               int fd, std::uint64_t offset) {
    const auto found = find(fd);
    if (map_error != 0) return -map_error;
    void* const got = ::mmap(reinterpret_cast<void*>(address), bytes, protection, flags,
                             found->file, static_cast<off_t>(offset));
    return got == MAP_FAILED ? -errno : static_cast<std::int64_t>(reinterpret_cast<intptr_t>(got));
}

int fake_objects::protect(std::uint64_t address, std::size_t bytes, int protection) {
    {
        const std::lock_guard lock(lock_);
        if (is_due(protect_error, protects_before_error)) return -protect_error;
    }
    return ::mprotect(reinterpret_cast<void*>(address), bytes, protection) < 0 ? -errno : 0;
}

} // namespace fakes
