// SPDX-License-Identifier: MIT
// Errors of the C++ interface.
#pragma once

#include <hmm/hmm_runtime.h>

#include <new>
#include <stdexcept>
#include <string>

namespace hmm {

/// An error: the operation that failed, the error code, and, if a failed kernel
/// was the cause, its fault record. The kernel may have run on any device.
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

/// Throws hmm::error unless @code is hmmSuccess. @code must be the result of
/// the last library call of this thread.
inline void check(hmmError_t code, const char* operation) {
    if (code == hmmSuccess) return;
    const std::string detail = hmmGetLastErrorDetail();
    hmmFaultRecord record = {};
    hmmGetLastErrorRecord(&record);
    throw error(code, operation, detail, record);
}

} // namespace hmm
