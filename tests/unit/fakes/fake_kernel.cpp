// SPDX-License-Identifier: MIT
#include "fake_kernel.hpp"

#include "agent/lane_fault.h"
#include "agent/lane_loop.h"
#include "sys/syscalls.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace fakes {

fake_kernel kernel;

namespace {

thread_local fake_agent* running_agent = nullptr; // of a lane
thread_local std::uint32_t running_lane = 0;

/// See agent/lane_loop.h.
class fake_port {
  public:
    fake_port(const fake_agent& agent, std::uint32_t lane)
        : ctl(*agent.ctl), shared(ctl.lanes[lane]), agent_(agent) {}

    hmmrt::control& ctl;
    hmmrt::lane_control& shared;

    bool ended() const { return agent_.gone.load(); }
    void begin(const hmmrt::piece&) {}
    void end(const hmmrt::piece&) {}

    void run(const hmmrt::range_work& work, std::uint64_t begin, std::uint64_t end) {
        using function = void (*)(void*, std::uint64_t, std::uint64_t);
        shared.running.store(1);
        reinterpret_cast<function>(work.function)(reinterpret_cast<void*>(work.closure), begin,
                                                  end);
        shared.running.store(0);
    }

    int prefetch(hmmrt_prefetch& request) { return kernel.ioctl(-1, HMMRT_IOC_PREFETCH, &request); }
    int advise(hmmrt_advise& request) { return kernel.ioctl(-1, HMMRT_IOC_ADVISE, &request); }
    int discard(const hmmrt::discard_work& work) {
        return kernel.memory.discard(work.addr, work.len);
    }
    std::uint64_t now() { return kernel.next_stamp++ * 1000000; }

  private:
    const fake_agent& agent_;
};

void run_lane(fake_agent& self, std::uint32_t index) {
    running_agent = &self;
    running_lane = index;
    self.ctl->lanes[index].fs_base = static_cast<std::uint64_t>(pthread_self());
    hmmrt::lane_loop(fake_port(self, index)).run();
}

} // namespace

fake_kernel::~fake_kernel() {
    for (auto& [pidfd, each] : agents_)
        end(each);
}

int fake_kernel::open_fd() {
    open_files++;
    return next_fd_++;
}

int fake_kernel::open(const std::string& path) {
    const int error = path == "/dev/hmmrt" ? manager_open_error : gpu_open_error;
    return error != 0 ? -error : open_fd();
}

int fake_kernel::ioctl(int fd, unsigned long request, void* argument) {
    switch (request) {
    case HMMRT_IOC_INFO: {
        auto& info = *static_cast<hmmrt_info*>(argument);
        info.out_uapi_version = uapi_version;
        info.out_devices = static_cast<std::uint32_t>(devices.size());
        info.out_page_size = 4096;
        info.out_block_size = 2 << 20;
        return 0;
    }
    case HMMRT_IOC_DEVICE_INFO: {
        auto& info = *static_cast<hmmrt_device_info*>(argument);
        const auto error = device_info_errors.find(info.device_id);
        if (error != device_info_errors.end()) return -error->second;
        for (const fake_device& device : devices) {
            if (device.id != info.device_id) continue;
            info.out_memory_bytes = device.memory;
            info.out_used_bytes = device.used;
            info.out_numa_node = device.numa_node;
            info.out_properties = device.properties;
            std::strncpy(reinterpret_cast<char*>(info.out_name), device.name.c_str(),
                         HMMRT_DEVICE_NAME_LEN - 1);
            return 0;
        }
        return -ENODEV;
    }
    case HMMRT_IOC_SPACE_CREATE:
        return 0;
    case HMMRT_GPU_IOC_BIND:
        if (busy_milliseconds > static_cast<hmmrt_gpu_bind*>(argument)->wait_msec) return -EBUSY;
        return 0;
    case HMMRT_IOC_KNOB:
        return policy.knob(*static_cast<hmmrt_knob*>(argument));
    case HMMRT_IOC_QUOTA:
        return policy.quota(*static_cast<hmmrt_quota*>(argument));
    case HMMRT_IOC_STATS:
        return policy.stats(*static_cast<hmmrt_stats*>(argument));
    case HMMRT_IOC_ANNOTATE:
        return policy.annotate(*static_cast<hmmrt_annotate*>(argument));
    case HMMRT_IOC_OBJECT_CREATE: {
        const int fresh = open_fd();
        const int error = objects.create(*static_cast<hmmrt_object_create*>(argument), fresh);
        if (error < 0) open_files--;
        return error;
    }
    case HMMRT_OBJECT_IOC_INFO:
        return objects.info(fd, *static_cast<hmmrt_object_info*>(argument));
    case HMMRT_IOC_ACCESS:
        return objects.access(*static_cast<hmmrt_access*>(argument));
    default:
        return memory.ioctl(request, argument);
    }
}

std::string fake_kernel::take_errors() {
    const std::lock_guard lock(lock_);
    return std::exchange(errors_, "");
}

void fake_kernel::add_error(const char* text, std::size_t bytes) {
    const std::lock_guard lock(lock_);
    errors_.append(text, bytes);
}

void fake_kernel::control_mapped_at(std::uint64_t address, int control_file) {
    const std::lock_guard lock(lock_);
    controls_[control_file] = reinterpret_cast<hmmrt::control*>(address);
}

void fake_kernel::create_kill_pipe(int& reader, int& writer) {
    reader = open_fd();
    writer = open_fd();
    const std::lock_guard lock(lock_);
    kill_readers_[writer] = reader;
}

int fake_kernel::start_agent(int control_file, int kill_reader) {
    using hmmrt::agent_state;
    const int pidfd = open_fd();
    const std::lock_guard lock(lock_);
    fake_agent& fresh = agents_[pidfd];
    hmmrt::control& ctl = *controls_.at(control_file);
    fresh.ctl = &ctl;
    fresh.kill_reader = kill_reader;
    fresh.gone.store(agent == agent_behaviour::dies_while_starting);
    if (agent == agent_behaviour::fails_to_attach) {
        ctl.boot_failed_step.store(static_cast<std::uint32_t>(hmmrt::boot_step::attach));
        ctl.boot_errno.store(EACCES);
        ctl.state.store(static_cast<std::uint32_t>(agent_state::failed));
    }
    if (agent == agent_behaviour::runs) {
        for (std::uint32_t i = 0; i < ctl.lane_count; i++)
            fresh.lanes.emplace_back(run_lane, std::ref(fresh), i);
        ctl.state.store(static_cast<std::uint32_t>(agent_state::ready));
    }
    agents_started++;
    return pidfd;
}

fake_agent& fake_kernel::agent_of(int pidfd) {
    const std::lock_guard lock(lock_);
    return agents_.at(pidfd);
}

void fake_kernel::fault(const hmmrt::fault_record& record) {
    hmmrt::record_fault(*running_agent->ctl, record, [] {});
}

void fake_kernel::raise(int signal) {
    hmmrt::fault_record record = {};
    record.cause = hmmrt::fault_cause::signal;
    record.signal = signal;
    fault(record);
}

void fake_kernel::lose_agent() {
    running_agent->gone.store(true);
}

bool fake_kernel::is_lane() {
    return running_agent != nullptr;
}

std::uint32_t fake_kernel::lane() {
    return running_lane;
}

bool fake_kernel::agent_is_gone() {
    return running_agent->gone.load();
}

bool fake_kernel::agent_ended(int pidfd) {
    return agent_of(pidfd).gone.load();
}

bool fake_kernel::agent_is_strict() {
    return last_control().strict.load() != 0;
}

hmmrt::control& fake_kernel::last_control() {
    const std::lock_guard lock(lock_);
    return *agents_.rbegin()->second.ctl;
}

void fake_kernel::kill_agent(int kill_writer) {
    fake_agent* killed = nullptr;
    {
        const std::lock_guard lock(lock_);
        const int reader = kill_readers_.at(kill_writer);
        for (auto& [pidfd, each] : agents_)
            if (each.kill_reader == reader) killed = &each;
    }
    if (killed != nullptr) end(*killed);
}

void fake_kernel::end(fake_agent& which) {
    which.gone.store(true);
    const std::lock_guard lock(end_lock_);
    if (!which.lanes.empty()) hmmrt::ring_wake_lanes(*which.ctl, hmmrt::max_lanes);
    for (std::thread& lane : which.lanes)
        lane.join();
    which.lanes.clear();
}

} // namespace fakes

// ---- system calls: time, memory and futexes are real

namespace hmmrt::sys {

using fakes::kernel;

// If the C library's function is a cancellation point, the fake is one, too.

int open_file(const char* path) {
    pthread_testcancel();
    return kernel.open(path);
}

int close_file(int fd) {
    pthread_testcancel();
    kernel.open_files--;
    kernel.objects.close(fd);
    return 0;
}

int control_file(int fd, unsigned long request, void* argument) {
    return kernel.ioctl(fd, request, argument);
}

int control_file_once(int fd, unsigned long request, void* argument) {
    return kernel.ioctl(fd, request, argument);
}

int read_whole_file(const char*, std::string& content) {
    pthread_testcancel();
    content = "1000-2000 r-xp 00000000 00:00 0 [vdso]\n" + kernel.memory.maps();
    return 0;
}

void write_error(const char* text, std::size_t bytes) {
    kernel.add_error(text, bytes);
}

int create_program_file(const char*, const void*, std::size_t) {
    pthread_testcancel();
    return kernel.open_fd();
}

int create_shared_memory(const char* name, std::size_t bytes) {
    const int fd = kernel.open_fd();
    const bool control = std::strcmp(name, "hmmrt-control") == 0;
    return control ? fd : kernel.objects.create_shared_memory(name, bytes, fd);
}

int describe_shared_memory(int fd, std::string& name, std::size_t& bytes) {
    return kernel.objects.describe_shared_memory(fd, name, bytes);
}

int duplicate_file(int fd) {
    const int fresh = kernel.objects.duplicate(fd, kernel.open_fd());
    if (fresh < 0) kernel.open_files--;
    return fresh;
}

int seal_shared_memory(int) {
    return 0;
}

std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd,
                 std::uint64_t offset) {
    if (kernel.map_error != 0 && kernel.maps_before_error-- <= 0) return -kernel.map_error;
    if (kernel.objects.has(fd))
        return kernel.objects.map(address, bytes, protection, flags, fd, offset);
    if (fd >= 0) {
        flags |= MAP_ANONYMOUS;
        kernel.control_mapped_at(address, fd);
    }
    void* const got = ::mmap(reinterpret_cast<void*>(address), bytes, protection, flags, -1, 0);
    return got == MAP_FAILED ? -errno : static_cast<std::int64_t>(address_of(got));
}

int unmap(std::uint64_t address, std::size_t bytes) {
    if (kernel.unmap_error != 0) return -kernel.unmap_error;
    return ::munmap(reinterpret_cast<void*>(address), bytes) < 0 ? -errno : 0;
}

int protect(std::uint64_t address, std::size_t bytes, int protection) {
    return kernel.objects.protect(address, bytes, protection);
}

int advise(std::uint64_t address, std::size_t bytes, int advice) {
    return ::madvise(reinterpret_cast<void*>(address), bytes, advice) < 0 ? -errno : 0;
}

int lock_memory(std::uint64_t address, std::size_t bytes) {
    return kernel.memory.lock(address, bytes);
}

int lock_on_fault(std::uint64_t address, std::size_t bytes) {
    return kernel.memory.lock_on_fault(address, bytes);
}

bool has_locked(std::uint64_t address, std::size_t bytes) {
    return kernel.memory.has_locked(address, bytes);
}

int unlock_memory(std::uint64_t address, std::size_t bytes) {
    return kernel.memory.unlock(address, bytes);
}

std::uint64_t locked_memory_limit() {
    return fakes::fake_memory::lock_limit;
}

bool is_mapped(std::uint64_t address, std::size_t bytes) {
    return kernel.memory.is_mapped(address, bytes);
}

bool is_readable(std::uint64_t address, std::size_t bytes) {
    return is_mapped(address & ~(page_size - 1), bytes + address % page_size);
}

bool wait_for_change(futex_word& word, std::uint32_t expected, int milliseconds) {
    const timespec limit = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    return raw_syscall(SYS_futex, address_of(&word), FUTEX_WAIT, expected, address_of(&limit)) !=
           -ETIMEDOUT;
}

void wake(futex_word& word) {
    futex_wake(word, INT32_MAX);
}

void sleep_milliseconds(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

std::uint64_t monotonic_milliseconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

bool end_by_exception() {
    if (!kernel.is_lane()) return false;
    fault_record record = {};
    record.cause = fault_cause::exception;
    record.signal = SIGABRT;
    record.system_call = -1;
    record.lane = kernel.lane();
    fakes::fake_kernel::fault(record);
    return true;
}

bool agent_ended(int pidfd, int) {
    kernel.agent_checks++;
    pthread_testcancel();
    return kernel.agent_ended(pidfd);
}

void reap_process(int) {
    pthread_testcancel();
}

int signal_thread(int tid, int signal) {
    return static_cast<int>(raw_syscall(SYS_tgkill, static_cast<std::uint64_t>(::getpid()),
                                        static_cast<std::uint64_t>(tid),
                                        static_cast<std::uint64_t>(signal)));
}

const char* environment(const char* name) {
    const auto found = kernel.environment.find(name);
    // By default, programs use the devices of this fake kernel.
    if (found == kernel.environment.end() && std::strcmp(name, "HMMRT_DEVICE") == 0)
        return "simulated";
    return found == kernel.environment.end() ? nullptr : found->second.c_str();
}

int usable_cpus() {
    return kernel.cpus;
}

bool under_valgrind() {
    return kernel.valgrind;
}

void end_process(int status) {
    std::_Exit(status);
}

std::uint64_t physical_memory() {
    return 1 << 30;
}

int current_node() {
    return 3;
}

int process_id() {
    return ::getpid();
}

int seccomp_mode() {
    return kernel.seccomp_mode;
}

std::uint64_t xfeature_permissions() {
    return 0;
}

int create_kill_pipe(int& reader, int& writer) {
    kernel.create_kill_pipe(reader, writer);
    return 0;
}

int start_agent(const agent_files& files) {
    return kernel.start_agent(files.control, files.kill_reader);
}

int kill_agent(int, int kill_writer) {
    kernel.kill_agent(kill_writer);
    return 1;
}

} // namespace hmmrt::sys
