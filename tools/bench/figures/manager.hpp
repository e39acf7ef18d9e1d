// SPDX-License-Identifier: MIT
// The manager's calls for benchmarks. The program exits if a call fails.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/hmmrt.h>
#include <memory>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace bench {

[[noreturn]] inline void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

/// The process's space, which it shares with the runtime.
class manager {
  public:
    manager() : fd_(open("/dev/hmmrt", O_RDWR | O_CLOEXEC)) {
        hmmrt_space_create create = {};
        if (fd_ < 0) fail("/dev/hmmrt");
        call(HMMRT_IOC_SPACE_CREATE, create, "HMMRT_IOC_SPACE_CREATE");
    }
    manager(const manager&) = delete;
    manager& operator=(const manager&) = delete;
    ~manager() { close(fd_); }

    hmmrt_stats statistics() const {
        hmmrt_stats stats = {};
        call(HMMRT_IOC_STATS, stats, "HMMRT_IOC_STATS");
        return stats;
    }

    /// Turns prefetch by density on or off for this process.
    void set_prefetch(bool on) const {
        hmmrt_knob knob = {};
        knob.knob = HMMRT_KNOB_PREFETCH_ENABLE;
        knob.operation = HMMRT_KNOB_SET;
        knob.scope = HMMRT_SCOPE_SPACE;
        knob.value = on;
        call(HMMRT_IOC_KNOB, knob, "HMMRT_IOC_KNOB");
    }

    template <class Argument>
    void call(unsigned long number, Argument& argument, const char* name) const {
        argument.size = sizeof(argument);
        if (ioctl(fd_, number, &argument) != 0) fail(name);
    }

  private:
    int fd_;
};

/// New memory for each measurement. @p flags of mmap(): MAP_PRIVATE or
/// MAP_SHARED.
class mapping {
  public:
    mapping(std::size_t size, int flags)
        : data_(mmap(nullptr, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0)),
          size_(size) {
        if (data_ == MAP_FAILED) fail("mmap");
    }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;
    ~mapping() { munmap(data_, size_); }

    char* data() const { return static_cast<char*>(data_); }
    std::size_t size() const { return size_; }

  private:
    void* data_;
    std::size_t size_;
};

/// Memory that the CPU has written, in single pages.
inline std::unique_ptr<mapping> filled(std::size_t bytes) {
    auto memory = std::make_unique<mapping>(bytes, MAP_PRIVATE);
    madvise(memory->data(), bytes, MADV_NOHUGEPAGE);
    std::memset(memory->data(), 1, bytes);
    return memory;
}

} // namespace bench
