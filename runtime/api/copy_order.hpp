// SPDX-License-Identifier: MIT
/*
 * The guarantees that a copy gives its caller when the call returns.
 *
 * Pageable memory is memory that the library doesn't know: malloc(), the stack,
 * files, host variables. A program may reuse it as soon as the call returns. So
 * a copy to pageable host memory, or between two host memories, is complete by
 * then, and a copy from pageable memory has read its source. All other memory
 * is accessed in stream order.
 *
 * The kind tells which side is the host, except for hmmMemcpyDefault. There, we
 * treat pageable and pinned memory as host memory and wait, because earlier
 * work of the stream may write a pageable source. With hmmMemcpyHostToDevice
 * the program promises that the source is ready, so we stage it.
 */
#pragma once

#include "api/interface.hpp"
#include "session/copy.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// The memory of one side of a copy, including the gaps between its rows.
struct copy_side {
    const void* begin;
    std::size_t bytes;
};

/// How a copy starts.
struct copy_start {
    staged_bytes staged; ///< for the caller to fill with the source; may be empty
    bool wait = false;   ///< the call returns when the copy is complete
};

/// @bytes: the length of the copy without the gaps between rows.
copy_start start_of(hmmMemcpyKind kind, const copy_side& to, const copy_side& from,
                    std::size_t bytes);

/// Queues @run with a closure of copy_closure or box_closure. If @wait, waits
/// until it is complete, and throws failure if it failed.
void launch_copy(stream_user& where, std::uint64_t items, hmmRangeFunction_t run,
                 copy_closure::pointer closure, bool wait);

} // namespace hmmrt
