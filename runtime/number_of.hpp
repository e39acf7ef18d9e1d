// SPDX-License-Identifier: MIT
// Enumerations of the C interface.
#pragma once

#include <cstring>

namespace hmmrt {

/// The number in an enumeration. C programs can pass any; C++ must not load
/// one that the type does not have.
template <class Enumeration>
unsigned number_of(const Enumeration& value) {
    unsigned number = 0;
    static_assert(sizeof(number) == sizeof(value));
    std::memcpy(&number, &value, sizeof(number));
    return number;
}

} // namespace hmmrt
