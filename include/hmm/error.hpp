// SPDX-License-Identifier: MIT
// Errors of the C++ interface.
#pragma once

#include <hmm/hmm_runtime.h>

#include <new>
#include <stdexcept>
#include <string>

namespace hmm {

/// What failed (operation), how (code), and, if a kernel was the cause, its record, of
/// whichever device it ran on.
class error : public std::runtime_error {
  public:
    error(hmmError_t code, const char* operation, const std::string& detail,
          const hmmFaultRecord& record)
        : std::runtime_error(std::string(hmmGetErrorName(code)) + ": " + detail),
          code_(code),
          operation_(operation),
          record_(record) {}

    hmmError_t code() const noexcept { return code_; }
    const char* operation() const noexcept { return operation_; }
    /// Its `error` member is hmmSuccess if no kernel failed.
    const hmmFaultRecord& record() const noexcept { return record_; }

  private:
    hmmError_t code_;
    const char* operation_; // a literal
    hmmFaultRecord record_;
};

/// Throws hmm::error unless @code is hmmSuccess. For the call that just returned @code.
inline void check(hmmError_t code, const char* operation) {
    if (code == hmmSuccess) return;
    const std::string detail = hmmGetLastErrorDetail();
    hmmFaultRecord record = {};
    hmmGetLastErrorRecord(&record);
    throw error(code, operation, detail, record);
}

} // namespace hmm
