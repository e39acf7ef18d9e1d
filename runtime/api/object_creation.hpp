// SPDX-License-Identifier: MIT
// Creates memory objects with the properties that a program asks for.
#pragma once

#include "memory/memory_object.hpp"

namespace hmmrt {

/// Creates a memory object with checked properties. Throws failure.
memory_object create_object(std::size_t bytes, const hmmMemAllocationProp& properties);
/// Throws failure if @fd isn't a memory object. The caller keeps @fd.
memory_object import_object(int fd);
/// Returns the properties in normal form, with HostNumaCurrent replaced by the
/// node. Throws failure for properties that no memory object can have.
hmmMemAllocationProp checked(const hmmMemAllocationProp* properties);

} // namespace hmmrt
