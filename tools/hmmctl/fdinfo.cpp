// SPDX-License-Identifier: MIT
#include "fdinfo.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <limits>
#include <system_error>

namespace hmmctl {
namespace {

constexpr std::string_view prefix = "hmmrt-", device_prefix = "device";

/// Reads all of @text as a number.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string with_underscores(std::string_view key) {
    std::string name(key);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

bound_device& device_of(space& found, std::uint32_t id) {
    const auto place = std::lower_bound(
        found.devices.begin(), found.devices.end(), id,
        [](const bound_device& device, std::uint32_t wanted) { return device.id < wanted; });
    if (place != found.devices.end() && place->id == id) return *place;
    bound_device added;
    added.id = id;
    return *found.devices.insert(place, std::move(added));
}

/// Parses `deviceN-KEY`. Returns false if @key doesn't have that form.
bool take_device_key(space& found, std::string_view key, std::uint64_t value) {
    if (!key.starts_with(device_prefix)) return false;
    key.remove_prefix(device_prefix.size());
    const std::size_t hyphen = key.find('-');
    if (hyphen == std::string_view::npos) return false;
    const auto id = number_in<std::uint32_t>(key.substr(0, hyphen));
    if (!id) return false;
    bound_device& device = device_of(found, *id);
    key.remove_prefix(hyphen + 1);
    if (key == "binding")
        device.binding = value;
    else if (key == "used-bytes")
        device.used_bytes = value;
    else
        device.counted.emplace_back(with_underscores(key), value);
    return true;
}

/// Parses a line. Returns true if it has the space's id.
bool take_line(space& found, std::string_view line) {
    const std::size_t colon = line.find(":\t");
    if (!line.starts_with(prefix) || colon == std::string_view::npos) return false;
    const std::string_view key = line.substr(prefix.size(), colon - prefix.size());
    const auto value = number_in<std::uint64_t>(line.substr(colon + 2));
    if (!value) return false;
    if (key == "space") {
        found.id = *value;
        return true;
    }
    if (key == "pid") {
        if (*value <= std::numeric_limits<pid_t>::max()) found.pid = static_cast<pid_t>(*value);
    } else if (!take_device_key(found, key, *value)) {
        found.counted.emplace_back(with_underscores(key), *value);
    }
    return false;
}

/// Current values of spaces and devices, as opposed to counters.
constexpr std::string_view current_values[] = {"used_bytes",     "free_bytes",     "backed_bytes",
                                               "blocks",         "pending_faults", "free_chunks",
                                               "partial_chunks", "full_chunks"};

bool is_current(std::string_view name) {
    return std::find(std::begin(current_values), std::end(current_values), name) !=
           std::end(current_values);
}

/// Returns nullptr if the device wasn't bound then, or was rebound in between.
const bound_device* same_binding(const space& earlier, const bound_device& device) {
    for (const bound_device& before : earlier.devices)
        if (before.id == device.id && before.binding == device.binding) return &before;
    return nullptr;
}

} // namespace

std::uint64_t value_of(const counters& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const auto& counter) { return counter.first == name; });
    return found == all.end() ? 0 : found->second;
}

std::uint64_t space::used_bytes() const {
    std::uint64_t sum = 0;
    for (const bound_device& device : devices)
        sum += device.used_bytes;
    return sum;
}

std::optional<space> parse_fdinfo(std::string_view text) {
    space found;
    bool is_space = false;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        is_space |= take_line(found, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (!is_space) return std::nullopt;
    return found;
}

counters counted_since(counters now, const counters& earlier) {
    for (auto& [name, value] : now) {
        if (is_current(name)) continue;
        // later modules may have other values that can decrease
        value -= std::min(value, value_of(earlier, name));
    }
    return now;
}

space counted_since(space now, const space* earlier) {
    if (earlier == nullptr || now.id != earlier->id) return now;
    now.counted = counted_since(std::move(now.counted), earlier->counted);
    for (bound_device& device : now.devices)
        if (const bound_device* before = same_binding(*earlier, device))
            device.counted = counted_since(std::move(device.counted), before->counted);
    return now;
}

void set_fault_rates(space& now, const space& earlier, double seconds) {
    if (seconds <= 0 || now.id != earlier.id) return;
    const space changed = counted_since(now, &earlier);
    for (std::size_t i = 0; i < now.devices.size(); i++)
        if (same_binding(earlier, now.devices[i]))
            now.devices[i].faults_per_second =
                static_cast<double>(value_of(changed.devices[i].counted, "device_faults")) /
                seconds;
}

} // namespace hmmctl
