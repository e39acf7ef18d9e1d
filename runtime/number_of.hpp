// SPDX-License-Identifier: MIT
// Reads enumerations of the C interface.
#pragma once

#include <cstring>

namespace hmmrt {

/// Returns the value of an enumeration. C programs can pass any number, but
/// loading one that the type doesn't have is undefined in C++.
template <class Enumeration>
unsigned number_of(const Enumeration& value) {
    unsigned number = 0;
    static_assert(sizeof(number) == sizeof(value));
    std::memcpy(&number, &value, sizeof(number));
    return number;
}

} // namespace hmmrt
