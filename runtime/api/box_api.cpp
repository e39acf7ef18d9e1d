// SPDX-License-Identifier: MIT
// The C interface: copies and fills of rows and boxes, and their allocation.
#include "api/copy_order.hpp"
#include "base/memory_range.hpp"
#include "session/copy.hpp"

namespace hmmrt {
namespace {

constexpr std::size_t row_alignment = 512;

/// Throws failure if the product exceeds the address space.
std::size_t product(std::size_t a, std::size_t b) {
    std::size_t result = 0;
    if (__builtin_mul_overflow(a, b, &result))
        throw failure(hmmErrorInvalidValue, "the rows exceed the address space");
    return result;
}

std::size_t sum(std::size_t a, std::size_t b) {
    std::size_t result = 0;
    if (__builtin_add_overflow(a, b, &result))
        throw failure(hmmErrorInvalidValue, "the rows exceed the address space");
    return result;
}

void check_kind(hmmMemcpyKind kind) {
    if (kind < hmmMemcpyHostToHost || kind > hmmMemcpyDefault)
        throw failure(hmmErrorInvalidMemcpyDirection,
                      hmmGetErrorString(hmmErrorInvalidMemcpyDirection));
}

/// Checks the location of a nonempty box, and returns it.
copy_side check_box(const box_memory& memory, const box_size& size) {
    require(memory.begin != nullptr, "memory is NULL");
    const std::size_t layers = product(size.depth - 1, memory.layer);
    const std::size_t rows = product(size.height - 1, memory.pitch);
    const std::size_t bytes = sum(sum(layers, rows), size.width);
    pages_around(memory.begin, bytes);
    return {memory.begin, bytes};
}

bool is_row(const box_size& size) {
    return size.height == 1 && size.depth == 1;
}

/// A single row needs no pitch.
void check_pitch(std::size_t pitch, const box_size& size) {
    if (pitch >= size.width || (is_row(size) && pitch == 0)) return;
    require(!is_row(size), "the row is longer than the pitch");
    throw failure(hmmErrorInvalidPitchValue, hmmGetErrorString(hmmErrorInvalidPitchValue));
}

box_memory rows_at(const void* memory, std::size_t pitch) {
    return {static_cast<char*>(const_cast<void*>(memory)), pitch, 0};
}

std::size_t bytes_of(const box_size& size) {
    return product(product(size.width, size.height), size.depth);
}

/// Copies in the order that the kind and the memory require. If @waits, the
/// caller waits for the stream itself.
void copy_box(const box_memory& to, const box_memory& from, const box_size& size,
              hmmMemcpyKind kind, stream_user& where, bool waits) {
    if (size.empty()) return;
    check_pitch(to.pitch, size);
    check_pitch(from.pitch, size);
    const copy_side to_side = check_box(to, size), from_side = check_box(from, size);
    const std::size_t bytes = bytes_of(size);
    copy_start start;
    if (!waits) start = start_of(kind, to_side, from_side, bytes);
    launch_copy(where, copy_closure::items(bytes), box_closure::run,
                box_closure::copy(to, from, size, std::move(start.staged)), start.wait);
}

void fill_box(const box_memory& to, int value, const box_size& size, stream_user& where) {
    if (size.empty()) return;
    if (!is_row(size)) check_pitch(to.pitch, size);
    check_box(to, size);
    launch_copy(where, copy_closure::items(bytes_of(size)), box_closure::run,
                box_closure::fill(to, value, size), false);
}

box_size size_of(const hmmExtent& extent) {
    return {extent.width, extent.height, extent.depth};
}

/// Returns the box at a position in memory that may be larger. Throws failure.
box_memory box_in(const hmmPitchedPtr& memory, const hmmPos& at, const hmmExtent& extent) {
    const bool empty = size_of(extent).empty();
    // check_pitch() reports rows that are longer than the pitch.
    require(empty || extent.width > memory.pitch || at.x <= memory.pitch - extent.width,
            "the box extends beyond the end of a row");
    require(empty || extent.depth <= 1 ||
                (at.y <= memory.ysize && extent.height <= memory.ysize - at.y),
            "the box extends beyond the last row of a layer");
    const std::size_t layer = product(memory.pitch, memory.ysize);
    const std::size_t offset = sum(sum(product(at.z, layer), product(at.y, memory.pitch)), at.x);
    const auto begin = reinterpret_cast<std::uint64_t>(memory.ptr);
    return {reinterpret_cast<char*>(sum(begin, memory.ptr != nullptr ? offset : 0)), memory.pitch,
            layer};
}

void copy_parms(const hmmMemcpy3DParms* params, stream_user& where, bool waits) {
    require(params != nullptr, "params is NULL");
    check_kind(params->kind);
    if (params->srcArray != nullptr || params->dstArray != nullptr)
        throw failure(hmmErrorNotSupported, "arrays are not supported");
    copy_box(box_in(params->dstPtr, params->dstPos, params->extent),
             box_in(params->srcPtr, params->srcPos, params->extent), size_of(params->extent),
             params->kind, where, waits);
}

/// Calls queue(stream) with the default stream of the current device, and waits
/// for that stream.
template <class Queue>
void do_and_wait(Queue queue) {
    stream_user where(hmmStreamLegacy);
    queue(where);
    where.get_device().synchronize(where.get());
}

/// Chooses the distance between rows.
std::size_t pitch_for(std::size_t width) {
    require(width <= greatest_pitch - row_alignment, "the rows are too long");
    return (width + row_alignment - 1) / row_alignment * row_alignment;
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMallocPitch(void** memory, size_t* pitch, size_t width, size_t height) {
    std::size_t bytes = 0;
    const hmmError_t code = guarded("hmmMallocPitch", [&] {
        require(memory != nullptr && pitch != nullptr, "an output pointer is NULL");
        bytes = product(pitch_for(width), height);
        *pitch = bytes != 0 ? pitch_for(width) : 0;
    });
    return code == hmmSuccess ? hmmMalloc(memory, bytes) : code;
}

hmmError_t hmmMalloc3D(hmmPitchedPtr* memory, hmmExtent extent) {
    hmmPitchedPtr made = make_hmmPitchedPtr(nullptr, 0, extent.width, extent.height);
    std::size_t bytes = 0;
    hmmError_t code = guarded("hmmMalloc3D", [&] {
        require(memory != nullptr, "memory is NULL");
        bytes = product(product(pitch_for(extent.width), extent.height), extent.depth);
        made.pitch = bytes != 0 ? pitch_for(extent.width) : 0;
    });
    if (code == hmmSuccess) code = hmmMalloc(&made.ptr, bytes);
    if (code == hmmSuccess) *memory = made;
    return code;
}

hmmError_t hmmMemcpy2DAsync(void* to, size_t toPitch, const void* from, size_t fromPitch,
                            size_t width, size_t height, hmmMemcpyKind kind, hmmStream_t stream) {
    return guarded("hmmMemcpy2DAsync", [&] {
        check_kind(kind);
        stream_user where(stream);
        copy_box(rows_at(to, toPitch), rows_at(from, fromPitch), {width, height, 1}, kind, where,
                 false);
    });
}

hmmError_t hmmMemcpy2D(void* to, size_t toPitch, const void* from, size_t fromPitch, size_t width,
                       size_t height, hmmMemcpyKind kind) {
    return guarded("hmmMemcpy2D", [&] {
        check_kind(kind);
        do_and_wait([&](stream_user& where) {
            copy_box(rows_at(to, toPitch), rows_at(from, fromPitch), {width, height, 1}, kind,
                     where, true);
        });
    });
}

hmmError_t hmmMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                            hmmStream_t stream) {
    return guarded("hmmMemset2DAsync", [&] {
        stream_user where(stream);
        fill_box(rows_at(to, pitch), value, {width, height, 1}, where);
    });
}

hmmError_t hmmMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
    return guarded("hmmMemset2D", [&] {
        do_and_wait([&](stream_user& where) {
            fill_box(rows_at(to, pitch), value, {width, height, 1}, where);
        });
    });
}

hmmError_t hmmMemcpy3DAsync(const hmmMemcpy3DParms* params, hmmStream_t stream) {
    return guarded("hmmMemcpy3DAsync", [&] {
        stream_user where(stream);
        copy_parms(params, where, false);
    });
}

hmmError_t hmmMemcpy3D(const hmmMemcpy3DParms* params) {
    return guarded("hmmMemcpy3D", [&] {
        do_and_wait([&](stream_user& where) { copy_parms(params, where, true); });
    });
}

hmmError_t hmmMemset3DAsync(hmmPitchedPtr to, int value, hmmExtent extent, hmmStream_t stream) {
    return guarded("hmmMemset3DAsync", [&] {
        stream_user where(stream);
        fill_box(box_in(to, {}, extent), value, size_of(extent), where);
    });
}

hmmError_t hmmMemset3D(hmmPitchedPtr to, int value, hmmExtent extent) {
    return guarded("hmmMemset3D", [&] {
        do_and_wait([&](stream_user& where) {
            fill_box(box_in(to, {}, extent), value, size_of(extent), where);
        });
    });
}
