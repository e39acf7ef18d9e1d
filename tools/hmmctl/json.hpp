// SPDX-License-Identifier: MIT
// The output of `--json`. hmmctl.schema.json describes the fields.
#pragma once

#include "devices.hpp"
#include "doctor.hpp"
#include "processes.hpp"

#include <nlohmann/json.hpp>

namespace hmmctl {

using json = nlohmann::ordered_json;

/// Incremented when a field is removed or changes its meaning, but not for new fields.
constexpr int json_schema = 1;

json to_json(const hmmrt_device_info& device);
json to_json(const hmmrt_knob& knob);
json to_json(const process& of);
json to_json(const diagnosis& result);

/// Returns a complete answer: the schema and one field.
std::string json_text(const char* field, json value);
std::string json_text(const json& answer);
/// Returns a complete answer as one line, for a sequence of answers.
std::string json_line(const char* field, json value);
/// Returns only the object, for files with one object per line. Replaces invalid UTF-8.
std::string one_line(const json& object);

} // namespace hmmctl
