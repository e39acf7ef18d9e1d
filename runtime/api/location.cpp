// SPDX-License-Identifier: MIT
#include "api/location.hpp"

#include "api/interface.hpp"

namespace hmmrt {
namespace {

std::uint32_t node_id(int node) {
    require(node >= 0 && static_cast<std::uint32_t>(node) <= HMMRT_LOCATION_MAX_NODE,
            "invalid NUMA node number");
    return HMMRT_LOCATION_HOST_NODE(static_cast<std::uint32_t>(node));
}

std::uint32_t device_id(int number, const device* started) {
    device& target = process::get().device_at(number);
    if (&target != started) target.start();
    return target.id();
}

bool is_node(std::uint32_t id) {
    return id >= HMMRT_LOCATION_HOST_NODE(0u) &&
           id <= HMMRT_LOCATION_HOST_NODE(HMMRT_LOCATION_MAX_NODE);
}

} // namespace

std::uint32_t location_id(const hmmMemLocation& location, const device* started) {
    switch (location.type) {
    case hmmMemLocationTypeDevice:
        return device_id(location.id, started);
    case hmmMemLocationTypeHost:
        return HMMRT_LOCATION_HOST;
    case hmmMemLocationTypeHostNuma:
        return node_id(location.id);
    case hmmMemLocationTypeHostNumaCurrent:
        return node_id(sys::current_node());
    case hmmMemLocationTypeInvalid:
        break;
    }
    throw failure(hmmErrorInvalidValue, "unknown location type");
}

device_numbers::device_numbers() {
    number_.fill(hmmInvalidDeviceId);
    for (const auto& each : process::get().devices())
        number_[each->id()] = each->number();
}

hmmMemLocation device_numbers::location(std::uint32_t id) const {
    if (id == HMMRT_LOCATION_HOST) return {hmmMemLocationTypeHost, hmmCpuDeviceId};
    if (is_node(id))
        return {hmmMemLocationTypeHostNuma, static_cast<int>(id & HMMRT_LOCATION_MAX_NODE)};
    const int number = id < number_.size() ? number_[id] : hmmInvalidDeviceId;
    return {number >= 0 ? hmmMemLocationTypeDevice : hmmMemLocationTypeInvalid, number};
}

int device_numbers::number_of(std::uint32_t id) const {
    const hmmMemLocation where = location(id);
    return where.type == hmmMemLocationTypeHostNuma ? hmmCpuDeviceId : where.id;
}

std::uint32_t device_numbers::mask(std::uint32_t ids) const {
    static_assert(hmmByCpu == HMMRT_BY_CPU);
    std::uint32_t result = ids & HMMRT_BY_CPU;
    for (std::uint32_t left = ids & ~HMMRT_BY_CPU; left != 0; left &= left - 1) {
        const int number = number_of(static_cast<std::uint32_t>(__builtin_ctz(left)));
        if (number >= 0) result |= 1u << number;
    }
    return result;
}

} // namespace hmmrt
