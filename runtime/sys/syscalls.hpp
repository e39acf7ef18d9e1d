// SPDX-License-Identifier: MIT
/*
 * The runtime makes all of its own system calls through these functions. Unit
 * tests link a different implementation.
 *
 * All functions return a value >= 0, or -errno. They never return a descriptor
 * from 0 to 2, even if the program closed its standard files. Only this file
 * and ioctl.hpp handle EINTR. Parked threads don't use these functions for the
 * calls of device code.
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
/// For calls that report partial progress: can return -EINTR.
int control_file_once(int fd, unsigned long request, void* argument);
int read_whole_file(const char* path, std::string& content);
/// Maps the content of a file for reading, without the heap. Copies files
/// without a size (/proc). Returns the address; use unmap() to release it.
std::int64_t map_content(const char* path, std::size_t& bytes);
/// Writes to standard error, with one call if possible.
void write_error(const char* text, std::size_t bytes);

/// Creates a sealed memfd that can be executed but not read.
int create_program_file(const char* name, const void* data, std::size_t bytes);
/// Creates a zero-filled memfd of fixed size. Because of its mode, only
/// privileged processes can open it.
int create_shared_memory(const char* name, std::size_t bytes);
/// Call this once both processes have mapped the memfd: from then on no process
/// can write to it or map it for writing. Returns -EBUSY if the memfd was also
/// opened for writing elsewhere.
int seal_shared_memory(int fd);

/// Gets name and size of a memfd. Returns -EINVAL for other files.
int describe_shared_memory(int fd, std::string& name, std::size_t& bytes);
/// Duplicates a descriptor. exec closes the duplicate.
int duplicate_file(int fd);

std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd,
                 std::uint64_t offset = 0);
int unmap(std::uint64_t address, std::size_t bytes);
int protect(std::uint64_t address, std::size_t bytes, int protection);
int advise(std::uint64_t address, std::size_t bytes, int advice);
/// Locks whole pages, as mlock() does.
int lock_memory(std::uint64_t address, std::size_t bytes);
/// As lock_memory(), but doesn't populate or migrate pages.
int lock_on_fault(std::uint64_t address, std::size_t bytes);
int unlock_memory(std::uint64_t address, std::size_t bytes);
/// True if at least one of the pages is in a locked mapping, populated or not.
bool has_locked(std::uint64_t address, std::size_t bytes);
/// RLIMIT_MEMLOCK, in bytes.
std::uint64_t locked_memory_limit();
/// True if the whole range is mapped.
bool is_mapped(std::uint64_t address, std::size_t bytes);
/// True if this process can read the whole range. Safe to call in signal
/// handlers. If the kernel refuses to tell, returns true for mapped ranges.
bool is_readable(std::uint64_t address, std::size_t bytes);

/// Waits until @word differs from @expected or a wakeup. Returns false if
/// @milliseconds passed first.
bool wait_for_change(futex_word& word, std::uint32_t expected, int milliseconds);
void wake(futex_word& word);
void sleep_milliseconds(int milliseconds);
std::uint64_t monotonic_milliseconds();

/// On a lane: ends the launch because of the exception that the lane stored,
/// see kernel_exception.hpp. Returns false if the caller isn't a lane.
bool end_by_exception();

/// True if the process of @pidfd has ended, or if @gpu_fd reports the end of
/// its agent.
bool agent_ended(int pidfd, int gpu_fd);
/// Reaps the agent if it became a child of this process, which happens if this
/// process is PID 1 of a container.
void reap_process(int pidfd);
/// Sends @signal to a thread of this process.
int signal_thread(int tid, int signal);

/// Ends this process without the cleanup of exit().
void end_process(int status);

/// Reads an environment variable; NULL if it isn't set, or if the program runs
/// with elevated privileges.
const char* environment(const char* name);
int usable_cpus();
/// True if valgrind runs the program.
bool under_valgrind();
/// Size of the memory of this machine, in bytes.
std::uint64_t physical_memory();
/// The NUMA node of the calling thread's CPU.
int current_node();
int process_id();
/// The seccomp mode as returned by PR_GET_SECCOMP; 0 for none.
int seccomp_mode();
/// Permissions for large register state, indexed by xfeature bit.
std::uint64_t xfeature_permissions();

/// Creates the pipe that kill_agent() uses.
int create_kill_pipe(int& reader, int& writer);

struct agent_files {
    int image;
    int control;
    int gpu;
    int kill_reader;
};
/// Starts the agent such that it isn't a child of this process. Returns a
/// pidfd.
int start_agent(const agent_files& files);
/// Kills the agent. If this process may no longer signal it because it gave up
/// root, uses the pipe that the agent was started with.
int kill_agent(int pidfd, int kill_writer);

} // namespace hmmrt::sys
