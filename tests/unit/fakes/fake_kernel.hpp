// SPDX-License-Identifier: MIT
/*
 * Replaces the kernel and the agent underneath runtime/sys/syscalls.hpp.
 *
 * The fake agent is a few threads of this process that run launches directly:
 * these tests cover the runtime, not the confinement of device code.
 */
#pragma once

#include "agent/control.h"
#include "fakes/fake_modules.hpp"

#include <linux/hmmrt.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace fakes {

struct fake_device {
    std::uint32_t id;
    std::string name;
    std::uint64_t memory;
    std::uint64_t used;
    std::uint64_t properties;
    std::int32_t numa_node = -1;
};

enum class agent_behaviour { runs, fails_to_attach, dies_while_starting };

/// One for each control block that was started.
struct fake_agent {
    hmmrt::control* ctl;
    int kill_reader;
    std::atomic<bool> gone{false};
    std::vector<std::thread> lanes;
};

class fake_kernel {
  public:
    ~fake_kernel();

    // Set by tests.
    int manager_open_error = 0;
    int gpu_open_error = 0;
    std::uint32_t uapi_version = HMMRT_UAPI_VERSION;
    std::vector<fake_device> devices = {
        {0, "hmmrt-gpu0", 256 << 20, 64 << 20, HMMRT_PROPERTY_NATIVE_ATOMICS},
        {2, "hmmrt-gpu2", 512 << 20, 0, HMMRT_PROPERTY_COHERENT, 1}};
    std::map<std::uint32_t, int> device_info_errors; ///< errno by device id
    std::uint32_t busy_milliseconds = 0; ///< BIND fails with EBUSY unless it can wait this long
    int map_error = 0;
    std::atomic<int> maps_before_error{0}; ///< mappings that succeed although map_error is set
    int unmap_error = 0;
    agent_behaviour agent = agent_behaviour::runs;
    std::map<std::string, std::string> environment;
    int cpus = 2;
    bool valgrind = false;
    int seccomp_mode = 0;

    // Read by tests.
    std::atomic<int> open_files{0};
    std::atomic<int> agents_started{0};
    std::atomic<int> agent_checks{0}; ///< checks that they are alive
    fake_memory memory;
    fake_objects objects;
    fake_policy policy;
    std::atomic<std::uint64_t> next_stamp{1}; ///< milliseconds, increases by one

    /// The messages of the runtime on standard error since the last call.
    std::string take_errors();
    void add_error(const char* text, std::size_t bytes);

    // Called by device code of tests. They apply to the agent that runs it.

    /// Acts as if the current instruction had faulted.
    static void fault(const hmmrt::fault_record& record);
    /// Acts as if it had raised this signal.
    static void raise(int signal);
    /// Acts as if the agent had died.
    static void lose_agent();
    static bool agent_is_gone();
    /// True if the caller is a lane.
    static bool is_lane();
    static std::uint32_t lane();

    // Called by the functions that replace system calls. A descriptor is never
    // reused.
    int open_fd();
    int open(const std::string& path);
    int ioctl(int fd, unsigned long request, void* argument);
    void control_mapped_at(std::uint64_t address, int control_file);
    void create_kill_pipe(int& reader, int& writer);
    int start_agent(int control_file, int kill_reader);
    void kill_agent(int kill_writer);
    bool agent_ended(int pidfd);
    // These two concern the agent that was started last.
    bool agent_is_strict();
    hmmrt::control& last_control();

  private:
    fake_agent& agent_of(int pidfd);
    void end(fake_agent& which);

    std::atomic<int> next_fd_{1000}; ///< numbers that never reach the real kernel
    /// Held while lanes are joined: several threads may kill the same agent.
    std::mutex end_lock_;
    std::mutex lock_;
    std::map<int, hmmrt::control*> controls_; ///< by descriptor
    std::map<int, int> kill_readers_;         ///< by writer
    std::map<int, fake_agent> agents_;        ///< by pidfd; never removed
    std::string errors_;
};

extern fake_kernel kernel;

} // namespace fakes
