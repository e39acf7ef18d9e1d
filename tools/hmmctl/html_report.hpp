// SPDX-License-Identifier: MIT
// A summary as a page for a browser: one file that loads nothing else.
#pragma once

#include "json.hpp"
#include "summary_text.hpp"
#include "timeline.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace hmmctl {

/// How many blocks the map of blocks over time has. Those with less activity are left out.
constexpr std::size_t heat_rows = 200;

/// Returns what the script of the page draws. docs/hmmctl.md does not list its fields: they belong
/// to the page.
json page_data(const summary_of& what, const timeline& when);

/// Returns the page.
std::string html_of(const summary_of& what, const timeline& when);

/// Returns a text as HTML shows it.
std::string html_escaped(std::string_view text);

/// Returns JSON in which nothing ends or changes the script element that it stands in.
std::string json_for_script(const json& value);

/// Returns the template with each `{{name}}` replaced by its value once; values are not searched.
std::string filled(std::string_view page, const std::map<std::string, std::string>& values);

} // namespace hmmctl
