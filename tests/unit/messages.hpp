// SPDX-License-Identifier: MIT
// Parts of messages, for tests of the runtime and of hmmctl.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

/// Succeeds if a message has all these parts: names, numbers and advice. The rest of the wording
/// may change.
inline testing::AssertionResult mentions(std::string_view message,
                                         std::initializer_list<std::string_view> parts) {
    for (const std::string_view part : parts)
        if (message.find(part) == std::string_view::npos)
            return testing::AssertionFailure() << "`" << part << "` is not in: " << message;
    return testing::AssertionSuccess();
}
