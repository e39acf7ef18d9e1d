// SPDX-License-Identifier: MIT
// The messages of hmmctl's failures.
#pragma once

#include "failure.hpp"
#include "messages.hpp"

#include <functional>
#include <string>

/// Returns the message of the failure, or "" if nothing failed.
inline std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const hmmctl::failure& why) {
        return why.what();
    }
    return "";
}
