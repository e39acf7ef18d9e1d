// SPDX-License-Identifier: MIT
// How the runtime reports errors to itself; the C interface turns it into codes.
#pragma once

#include "hmm/hmm_runtime.h"

#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace hmmrt {

class failure : public std::exception {
  public:
    failure(hmmError_t code, std::string detail) : code_(code), detail_(std::move(detail)) {}

    hmmError_t code() const { return code_; }
    const char* what() const noexcept override { return detail_.c_str(); }

  private:
    hmmError_t code_;
    std::string detail_;
};

/// "operation: No such file or directory"; @error is positive or negative.
inline std::string describe_errno(const std::string& operation, int error) {
    char buffer[128];
    return operation + ": " + strerror_r(error < 0 ? -error : error, buffer, sizeof(buffer));
}

} // namespace hmmrt
