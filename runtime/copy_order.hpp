// SPDX-License-Identifier: MIT
/*
 * What a copy owes its caller when the call returns.
 *
 * Pageable memory is memory that the library does not know: of malloc(), the
 * stack, files, variables of the host. A program may use it again when the call
 * returns. So a copy to pageable memory of the host is complete by then, as is
 * one between two memories of the host, and the source of a copy from pageable
 * memory has been taken. All other memory is used in the order of the stream.
 *
 * The kind says which side is the host. hmmMemcpyDefault does not: then
 * pageable and pinned memory are the host's, and the call waits, because
 * earlier work of the stream may write a pageable source. With
 * hmmMemcpyHostToDevice the program says that the source is ready, so it is
 * staged.
 */
#pragma once

#include "copy.hpp"
#include "interface.hpp"

#include <cstddef>
#include <cstdint>

namespace hmmrt {

/// The memory of one side of a copy, with what is between its rows.
struct copy_side {
    const void* begin;
    std::size_t bytes;
};

/// How a copy starts.
struct copy_start {
    staged_bytes staged; ///< a buffer that the caller fills with the source; or empty
    bool wait = false;   ///< the call returns when the copy is complete
};

/// @bytes: the length of the copy without what is between rows.
copy_start start_of(hmmMemcpyKind kind, const copy_side& to, const copy_side& from,
                    std::size_t bytes);

/// Queues @run with a closure of copy_closure or box_closure. If @wait, returns
/// when this one is complete, and throws failure if it is not.
void launch_copy(stream_user& where, std::uint64_t items, hmmRangeFunction_t run,
                 copy_closure::pointer closure, bool wait);

} // namespace hmmrt
