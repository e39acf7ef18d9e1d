// SPDX-License-Identifier: MIT
// Errors of the C++ interface.
#pragma once

#if __cplusplus < 202002L
#error "the C++ interface of hmmrt needs C++20: compile with -std=c++20 or later"
#endif

#include <hmm/hmm_runtime.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

namespace hmm {

/// An error: the operation that failed, the error code, and, if a failed kernel
/// was the cause, its fault record. The kernel may have run on any device. If an
/// exception left the kernel, it is nested: std::rethrow_if_nested() throws it.
class error : public std::runtime_error {
  public:
    error(hmmError_t code, const char* operation, const std::string& detail,
          const hmmFaultRecord& record)
        : std::runtime_error(std::string(hmmGetErrorName(code)) + ": " + detail),
          code_(code),
          operation_(operation),
          record_(record) {}

    [[nodiscard]] hmmError_t code() const noexcept { return code_; }
    [[nodiscard]] const char* operation() const noexcept { return operation_; }
    /// The `error` member of the record is hmmSuccess if no kernel failed.
    [[nodiscard]] const hmmFaultRecord& record() const noexcept { return record_; }

  private:
    hmmError_t code_;
    const char* operation_; // a string literal
    hmmFaultRecord record_;
};

namespace detail {

/// Throws an error that also is a std::nested_exception with the original.
[[noreturn]] inline void throw_nested(error&& outer, const std::exception_ptr& original) {
    try {
        std::rethrow_exception(original);
    } catch (...) {
        std::throw_with_nested(std::move(outer));
    }
}

} // namespace detail

/// Throws hmm::error unless @code is hmmSuccess. @code must be the result of
/// the last library call of this thread.
inline void check(hmmError_t code, const char* operation) {
    if (code == hmmSuccess) return;
    const std::string detail = hmmGetLastErrorDetail();
    hmmFaultRecord record = {};
    hmmGetLastErrorRecord(&record);
    std::exception_ptr original;
    hmmGetLastErrorException(&original);
    error result(code, operation, detail, record);
    if (original) detail::throw_nested(std::move(result), original);
    throw result;
}

} // namespace hmm
