// SPDX-License-Identifier: MIT
// The messages of hmmctl's failures.
#pragma once

#include "failure.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

/// Succeeds if a message has all these parts: names, numbers and advice. The rest of the wording
/// may change.
inline testing::AssertionResult mentions(const std::string& message,
                                         std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        if (message.find(part) == std::string::npos)
            return testing::AssertionFailure() << "`" << part << "` is not in: " << message;
    return testing::AssertionSuccess();
}

/// Returns the message of the failure, or "" if nothing failed.
inline std::string failure_of(const std::function<void()>& body) {
    try {
        body();
    } catch (const hmmctl::failure& why) {
        return why.what();
    }
    return "";
}
