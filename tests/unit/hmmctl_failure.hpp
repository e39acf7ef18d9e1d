// SPDX-License-Identifier: MIT
// What hmmctl says when something fails.
#pragma once

#include "failure.hpp"

#include <functional>
#include <string>

/// Returns the text of the failure, "" if there is none.
inline std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const hmmctl::failure& why) {
        return why.what();
    }
    return "";
}
