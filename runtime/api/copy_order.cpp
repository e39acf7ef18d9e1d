// SPDX-License-Identifier: MIT
#include "api/copy_order.hpp"

#include <algorithm>

namespace hmmrt {
namespace {

enum class copy_memory : std::uint8_t { pageable, pinned, of_device };

struct known_part {
    copy_memory kind;
    std::uint64_t end;
};

/// Returns what the library knows about an address. It doesn't know where other
/// memory ends.
known_part find_part(std::uint64_t address) {
    process& program = process::get();
    const void* const ptr = reinterpret_cast<const void*>(address);
    if (const auto ends = program.registered().ends_of(ptr))
        return {copy_memory::pinned, ends->second};
    if (const auto given = program.managed().find(ptr))
        return {given->kind == memory_kind::host ? copy_memory::pinned : copy_memory::of_device,
                given->begin + given->bytes};
    if (const auto variable = program.variables().find(ptr))
        return {copy_memory::of_device, variable->end()};
    if (const auto mapped = program.reserved().find(address))
        return {mapped->location.type == hmmMemLocationTypeDevice ||
                        mapped->type == hmmMemAllocationTypeManaged
                    ? copy_memory::of_device
                    : copy_memory::pinned,
                mapped->mapping.end()};
    return {copy_memory::pageable, ~std::uint64_t{0}};
}

/// Memory counts as pageable if any part of it is.
copy_memory memory_of(const copy_side& side) {
    const auto begin = reinterpret_cast<std::uint64_t>(side.begin);
    copy_memory found = copy_memory::of_device;
    for (std::uint64_t at = begin; at < begin + side.bytes;) {
        const known_part part = find_part(at);
        found = std::min(found, part.kind);
        at = part.end;
    }
    return found;
}

/// Completed copies only release their buffers when their closures are
/// destroyed, which calls in other streams may not do. So if there is no
/// buffer, destroys closures in all streams and tries again.
staged_bytes take_buffer(std::size_t bytes) {
    if (staged_bytes taken = staged_bytes::take(bytes)) return taken;
    for (const auto& each : process::get().devices())
        if (const auto running = each->running()) running->reap_all(all_queues);
    return staged_bytes::take(bytes);
}

/// Returns a buffer if the calling thread can read the source. If it can't, leave the failure to
/// the device: this thread must not fault.
staged_bytes buffer_for(const copy_side& from, std::size_t bytes) {
    if (bytes > staged_bytes::most_of_a_copy ||
        !sys::is_readable(reinterpret_cast<std::uint64_t>(from.begin), from.bytes))
        return {};
    return take_buffer(bytes);
}

} // namespace

copy_start start_of(hmmMemcpyKind kind, const copy_side& to, const copy_side& from,
                    std::size_t bytes) {
    const bool to_device = kind == hmmMemcpyHostToDevice || kind == hmmMemcpyDeviceToDevice;
    const bool from_device = kind == hmmMemcpyDeviceToHost || kind == hmmMemcpyDeviceToDevice;
    const copy_memory target = to_device ? copy_memory::of_device : memory_of(to);
    const copy_memory source = from_device ? copy_memory::of_device : memory_of(from);
    const bool between_hosts = target != copy_memory::of_device && source != copy_memory::of_device;
    copy_start start;
    if (between_hosts || target == copy_memory::pageable) {
        start.wait = true;
    } else if (source == copy_memory::pageable) {
        if (to_device) start.staged = buffer_for(from, bytes);
        start.wait = !start.staged;
    }
    return start;
}

void launch_copy(stream_user& where, std::uint64_t items, hmmRangeFunction_t run,
                 copy_closure::pointer closure, bool wait) {
    work_request request;
    request.kind = entry_kind::serial;
    request.items = items;
    request.function = run;
    request.destroy = copy_closure::destroy;
    request.closure = closure.get();
    if (wait) request.records = make_own_shared<event_point>();
    where.launch(request);
    static_cast<void>(closure.release()); // the launch now owns the closure
    if (wait) where.get_device().synchronize(*request.records);
}

} // namespace hmmrt
