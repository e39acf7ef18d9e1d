// SPDX-License-Identifier: MIT
// The exception that the runtime uses internally, and functions that throw it
// for errors of the kernel. The C interface converts it to an error code.
#pragma once

#include "hmm/hmm_runtime.h"

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace hmmrt {

/// The record of an error that wasn't caused by a kernel. @device is the failed
/// device, if any.
constexpr hmmFaultRecord no_fault(int device = hmmInvalidDeviceId) {
    hmmFaultRecord none = {};
    none.device = device;
    none.system_call = -1;
    return none;
}

class failure : public std::exception {
  public:
    failure(hmmError_t code, std::string detail) : failure(code, std::move(detail), no_fault()) {}
    failure(hmmError_t code, std::string detail, const hmmFaultRecord& record,
            std::exception_ptr original = {})
        : code_(code),
          detail_(std::move(detail)),
          record_(record),
          original_(std::move(original)) {} // NOLINT(bugprone-throw-keyword-missing): stored

    hmmError_t code() const { return code_; }
    const char* what() const noexcept override { return detail_.c_str(); }
    const hmmFaultRecord& record() const { return record_; }
    /// The exception that left a kernel and caused this error, if any.
    const std::exception_ptr& original() const { return original_; }

  private:
    hmmError_t code_;
    std::string detail_;
    hmmFaultRecord record_;
    std::exception_ptr original_;
};

/// Throws failure with hmmErrorInvalidValue if the condition is false.
inline void require(bool condition, const char* what) {
    if (!condition) throw failure(hmmErrorInvalidValue, what);
}

/// "operation: No such file or directory"; @error may be positive or negative.
inline std::string describe_errno(const std::string& operation, int error) {
    char buffer[128];
    return operation + ": " + strerror_r(error < 0 ? -error : error, buffer, sizeof(buffer));
}

/// As above, for a memfd, which is subject to limits on files.
inline std::string describe_file_error(const std::string& operation, int error) {
    std::string text = describe_errno(operation, error);
    if (error == -EFBIG) text += "; see RLIMIT_FSIZE (ulimit -f)";
    if (error == -EMFILE) text += "; see RLIMIT_NOFILE (ulimit -n)";
    return text;
}

// ---- errors of the kernel's memory operations

/// Throws failure. @error may be positive or negative.
[[noreturn]] void throw_memory_error(const char* operation, int error);

/// As above, for madvise(), which has specific errors for unmapped and locked
/// memory. @error is positive.
[[noreturn]] void throw_discard_error(int error);

/// Throws failure if @result is negative.
inline void check_memory_call(const char* operation, int result) {
    if (result < 0) throw_memory_error(operation, result);
}

/// Checks the result of a knob or quota call, which may need administrator
/// privileges.
void check_policy_call(const char* operation, int result);

} // namespace hmmrt
