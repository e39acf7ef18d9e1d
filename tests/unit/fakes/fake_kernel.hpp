// SPDX-License-Identifier: MIT
/*
 * Stands in for the kernel and for the agent behind runtime/sys/syscalls.hpp.
 *
 * The fake agent is a few threads of this process that run launches directly: what
 * is tested is the runtime's side, not how device code is confined.
 */
#pragma once

#include "agent/ring.h"
#include "fakes/fake_memory.hpp"

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

class fake_kernel {
  public:
    ~fake_kernel() { end_agent(); }

    // Set by tests.
    int manager_open_error = 0;
    int gpu_open_error = 0;
    std::uint32_t uapi_version = HMMRT_UAPI_VERSION;
    std::vector<fake_device> devices = {
        {0, "hmmrt-gpu0", 256 << 20, 64 << 20, HMMRT_PROPERTY_NATIVE_ATOMICS},
        {2, "hmmrt-gpu2", 512 << 20, 0, HMMRT_PROPERTY_COHERENT, 1}};
    int busy_binds = 0; ///< so many times EBUSY first
    agent_behaviour agent = agent_behaviour::runs;
    std::map<std::string, std::string> environment;
    int cpus = 2;
    int seccomp_mode = 0;

    // Looked at by tests.
    std::atomic<int> open_files{0};
    std::atomic<int> agents_started{0};
    fake_memory memory;
    std::atomic<std::uint64_t> next_stamp{1}; ///< milliseconds, one more each time

    // From device code of tests: as if this instruction had faulted.
    void fault(const hmmrt::fault_block& block);
    /// The agent goes away by itself.
    void lose_agent();

    // For the functions behind the seam.
    int open(const std::string& path);
    int ioctl(unsigned long request, void* argument);
    void control_mapped_at(std::uint64_t address);
    int start_agent();
    void end_agent();
    bool agent_is_gone() const { return agent_gone_.load(); }
    bool agent_is_strict() const { return ctl_->strict.load() != 0; }

  private:
    void run_lane(std::uint32_t index);
    int run_prefetch(const hmmrt::prefetch_work& work);
    int run_advice(const hmmrt::advice_work& work);
    /// As the agent does with a call that fails.
    void note(hmmrt::entry_kind kind, int result);
    void run_entry(const hmmrt::piece& mine);

    hmmrt::control* ctl_ = nullptr;
    std::atomic<bool> agent_gone_{true};
    std::vector<std::thread> lanes_;
    std::mutex lock_;
};

extern fake_kernel kernel;

} // namespace fakes
