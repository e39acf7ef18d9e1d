// SPDX-License-Identifier: MIT
// What `--json` prints. hmmctl.schema.json lists the fields, and docs/hmmctl.md explains them.
#pragma once

#include "devices.hpp"
#include "doctor.hpp"
#include "processes.hpp"

#include <nlohmann/json.hpp>

namespace hmmctl {

using json = nlohmann::ordered_json;

/// Goes up when a field goes away or changes its meaning. New fields do not change it.
constexpr int json_schema = 1;

json to_json(const hmmrt_device_info& device);
json to_json(const hmmrt_knob& knob);
json to_json(const process& of);
json to_json(const diagnosis& result);

/// Returns a whole answer: the schema and one field.
std::string json_text(const char* field, json value);
std::string json_text(const json& answer);
/// Returns a whole answer as one line, for answers that follow each other.
std::string json_line(const char* field, json value);
/// Returns the object only, for files with an object a line. Bytes that are no UTF-8 are replaced.
std::string one_line(const json& object);

} // namespace hmmctl
