// SPDX-License-Identifier: MIT
#include "event_ring.hpp"

#include "devices.hpp"
#include "failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <sys/ioctl.h>
#include <sys/mman.h>

namespace hmmctl {
namespace {

/// Owns a mapping and unmaps it.
class shared_mapping {
  public:
    shared_mapping(int fd, std::size_t bytes)
        : at_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)), bytes_(bytes) {
        if (at_ == MAP_FAILED)
            throw failure(fmt::format("cannot map the event ring: {}", std::strerror(errno)));
    }
    shared_mapping(const shared_mapping&) = delete;
    shared_mapping& operator=(const shared_mapping&) = delete;
    ~shared_mapping() { munmap(at_, bytes_); }

    void* at() const { return at_; }
    std::size_t bytes() const { return bytes_; }

  private:
    void* at_;
    std::size_t bytes_;
};

class kernel_ring : public event_source {
  public:
    kernel_ring(tools::descriptor file, std::size_t bytes)
        : file_(std::move(file)),
          mapping_(file_.get(), bytes),
          reader_(mapping_.at(), mapping_.bytes()) {}

    int poll_descriptor() const override { return file_.get(); }
    std::size_t read(std::vector<hmmrt_event>& into) override { return reader_.read(into); }
    event_drops dropped() const override { return reader_.dropped(); }

  private:
    tools::descriptor file_;
    shared_mapping mapping_;
    ring_reader reader_;
};

std::string why_no_ring(int error, hmmrt_event_scope scope) {
    if (error == ENOTTY) return "the loaded hmmrt module does not support events";
    if ((error == EPERM || error == EACCES) && scope == HMMRT_EVENTS_OF_MACHINE)
        return "no permission to record the whole machine: this needs CAP_PERFMON or "
               "CAP_SYS_ADMIN, "
               "and for the event ring enough RLIMIT_MEMLOCK (ulimit -l) or CAP_IPC_LOCK";
    if (error == EPERM)
        return "the event ring is locked memory and exceeds RLIMIT_MEMLOCK (ulimit -l): use a "
               "smaller "
               "ring (--events), a higher limit or CAP_IPC_LOCK";
    if (error == EINVAL && scope == HMMRT_EVENTS_OF_SPACE)
        return "the address space no longer exists";
    return fmt::format("cannot open an event ring: {}", std::strerror(error));
}

std::unique_ptr<event_source> open_ring(int file, hmmrt_event_scope scope, std::uint32_t events,
                                        std::uint64_t types = HMMRT_EVENTS_EXCEPT_ACCESS) {
    hmmrt_events_open wanted = {};
    wanted.size = sizeof(wanted);
    wanted.scope = scope;
    wanted.events = events;
    wanted.types = types;
    wanted.wake_events = 1;
    if (ioctl(file, HMMRT_IOC_EVENTS_OPEN, &wanted) < 0) throw failure(why_no_ring(errno, scope));
    return std::make_unique<kernel_ring>(tools::descriptor(wanted.out_fd), wanted.out_map_bytes);
}

} // namespace

std::unique_ptr<event_source> open_ring_of_space(const space_file& of, std::uint32_t events) {
    const tools::descriptor file = open_file(of, "record");
    return open_ring(file.get(), HMMRT_EVENTS_OF_SPACE, events);
}

std::unique_ptr<event_source> open_ring_of_children(std::uint32_t events, bool accesses) {
    const tools::descriptor file = open_manager();
    return open_ring(file.get(), HMMRT_EVENTS_OF_CHILDREN, events,
                     accesses ? HMMRT_EVENTS_EVERY_TYPE : HMMRT_EVENTS_EXCEPT_ACCESS);
}

std::unique_ptr<event_source> open_ring_of_machine(std::uint32_t events) {
    const tools::descriptor file = open_manager();
    return open_ring(file.get(), HMMRT_EVENTS_OF_MACHINE, events);
}

} // namespace hmmctl
