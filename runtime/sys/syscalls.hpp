// SPDX-License-Identifier: MIT
/*
 * The seam: every system call that the runtime makes for itself goes through here,
 * and unit tests put another implementation behind it at link time.
 *
 * All functions return a value >= 0, or -errno; no descriptor is a standard file's, 0 to
 * 2, also where the program has closed those. EINTR is handled here and in
 * ioctl.hpp, and nowhere else. Calls that parked threads execute for device code are
 * no part of this.
 */
#pragma once

#include "agent/control.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace hmmrt::sys {

int open_file(const char* path);
int close_file(int fd);
int control_file(int fd, unsigned long request, void* argument);
/// For calls that say how far they got: EINTR is the caller's.
int control_file_once(int fd, unsigned long request, void* argument);
int read_whole_file(const char* path, std::string& content);

/// A memfd that can be executed but not read, with content that cannot change any more.
int create_program_file(const char* name, const void* data, std::size_t bytes);
/// A memfd of zeros that keeps its size. Its mode lets only a privileged process open it.
int create_shared_memory(const char* name, std::size_t bytes);
/// Call it when both processes have mapped such a memfd: no process can write to it or map it for
/// writing from now on. -EBUSY if another open file of it can write.
int seal_shared_memory(int fd);

std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd);
int unmap(std::uint64_t address, std::size_t bytes);
int advise(std::uint64_t address, std::size_t bytes, int advice);
/// Whole pages; as mlock().
int lock_memory(std::uint64_t address, std::size_t bytes);
/// The same, but what is not in system memory is left where it is.
int lock_on_fault(std::uint64_t address, std::size_t bytes);
int unlock_memory(std::uint64_t address, std::size_t bytes);
/// Whether one of the pages is locked, in memory or not.
bool has_locked(std::uint64_t address, std::size_t bytes);
/// RLIMIT_MEMLOCK, in bytes.
std::uint64_t locked_memory_limit();
/// Whether there is a mapping at each address.
bool is_mapped(std::uint64_t address, std::size_t bytes);

/// Waits until @word is not @expected, or woken; false if @milliseconds passed first.
bool wait_for_change(futex_word& word, std::uint32_t expected, int milliseconds);
void wake(futex_word& word);
void sleep_milliseconds(int milliseconds);
std::uint64_t monotonic_milliseconds();

/// True if the process behind @pidfd has ended, or @gpu_fd says that its agent has.
bool agent_ended(int pidfd, int gpu_fd);
/// For the case that it became our child after all: we are process 1 of a container.
void reap_process(int pidfd);
/// Sends @signal to a thread of this process.
int signal_thread(int tid, int signal);

/// NULL if not set, or if the program is privileged over who set it.
const char* environment(const char* name);
int usable_cpus();
/// The NUMA node of the processor that the calling thread runs on.
int current_node();
int process_id();
/// 0: none, as PR_GET_SECCOMP.
int seccomp_mode();
/// Permissions for large register state, by xfeature bit.
std::uint64_t xfeature_permissions();

/// A pipe that kills: see kill_agent().
int create_kill_pipe(int& reader, int& writer);

struct agent_files {
    int image;
    int control;
    int gpu;
    int kill_reader;
};
/// Starts the agent as nobody's child; returns a pidfd.
int start_agent(const agent_files& files);
/// Kills the agent; also when we may not send it a signal any more, because we have given
/// up root, by the other end of the pipe that it was started with.
int kill_agent(int pidfd, int kill_writer);

} // namespace hmmrt::sys
