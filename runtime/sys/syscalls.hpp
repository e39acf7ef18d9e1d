// SPDX-License-Identifier: MIT
/*
 * System call interface: the runtime makes all of its own system calls through
 * these functions. Unit tests link another implementation.
 *
 * All functions return a value >= 0, or -errno. They never return a descriptor
 * from 0 to 2, even if the program closed its standard files. EINTR is handled
 * here and in ioctl.hpp, and nowhere else. Calls that parked threads execute
 * for device code do not use these functions.
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
/// For calls that report partial progress: returns -EINTR to the caller.
int control_file_once(int fd, unsigned long request, void* argument);
int read_whole_file(const char* path, std::string& content);
/// Maps the content of a file for reading, without the heap; a file without a
/// size (/proc) is copied. Returns the address; unmap() releases it.
std::int64_t map_content(const char* path, std::size_t& bytes);
/// Writes to standard error, with one call if possible.
void write_error(const char* text, std::size_t bytes);

/// Creates a memfd that can be executed but not read. Its content is sealed.
int create_program_file(const char* name, const void* data, std::size_t bytes);
/// Creates a zero-filled memfd of fixed size. Because of its mode only a
/// privileged process can open it.
int create_shared_memory(const char* name, std::size_t bytes);
/// Call this when both processes have mapped the memfd: from then on no
/// process can write to it or map it for writing. -EBUSY if another open file
/// of it is writable.
int seal_shared_memory(int fd);

/// Name and size of a memfd; -EINVAL for other files.
int describe_shared_memory(int fd, std::string& name, std::size_t& bytes);
/// Returns another descriptor of the same open file, which exec closes.
int duplicate_file(int fd);

std::int64_t map(std::uint64_t address, std::size_t bytes, int protection, int flags, int fd,
                 std::uint64_t offset = 0);
int unmap(std::uint64_t address, std::size_t bytes);
int protect(std::uint64_t address, std::size_t bytes, int protection);
int advise(std::uint64_t address, std::size_t bytes, int advice);
/// Locks whole pages, as mlock() does.
int lock_memory(std::uint64_t address, std::size_t bytes);
/// As lock_memory(), but does not populate or migrate pages.
int lock_on_fault(std::uint64_t address, std::size_t bytes);
int unlock_memory(std::uint64_t address, std::size_t bytes);
/// True if at least one of the pages is in a locked mapping, populated or not.
bool has_locked(std::uint64_t address, std::size_t bytes);
/// RLIMIT_MEMLOCK, in bytes.
std::uint64_t locked_memory_limit();
/// True if the whole range is mapped.
bool is_mapped(std::uint64_t address, std::size_t bytes);
/// True if this process can read the whole range. May be called by a handler of
/// signals. Where the kernel does not tell, a range that is mapped counts.
bool is_readable(std::uint64_t address, std::size_t bytes);

/// Waits until @word differs from @expected, or until woken; false if
/// @milliseconds passed first.
bool wait_for_change(futex_word& word, std::uint32_t expected, int milliseconds);
void wake(futex_word& word);
void sleep_milliseconds(int milliseconds);
std::uint64_t monotonic_milliseconds();

/// On a lane: ends the launch because of the exception that it has kept, see
/// kernel_exception.hpp. False if the caller is not a lane.
bool end_by_exception();

/// True if the process of @pidfd has ended, or @gpu_fd reports that its agent
/// has.
bool agent_ended(int pidfd, int gpu_fd);
/// Reaps the agent if it became a child of this process, which happens if this
/// process is process 1 of a container.
void reap_process(int pidfd);
/// Sends @signal to a thread of this process.
int signal_thread(int tid, int signal);

/// Ends this process, without what exit() does.
void end_process(int status);

/// Reads an environment variable; NULL if it is not set or the program runs
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
/// The seccomp mode as PR_GET_SECCOMP returns it; 0: none.
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
/// Starts the agent so that it is not a child of this process; returns a pidfd.
int start_agent(const agent_files& files);
/// Kills the agent. If this process may no longer signal the agent because it
/// gave up root, uses the pipe with which the agent was started.
int kill_agent(int pidfd, int kill_writer);

} // namespace hmmrt::sys
