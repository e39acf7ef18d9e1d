// SPDX-License-Identifier: MIT
// A summary as a self-contained HTML page.
#pragma once

#include "json.hpp"
#include "summary_text.hpp"
#include "timeline.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace hmmctl {

/// Maximum number of blocks in the heat map; we choose those with the most activity.
constexpr std::size_t heat_rows = 200;

/// Returns the data for the page's script. Its fields are internal to the page, so
/// hmmctl.schema.json doesn't describe them.
json page_data(const summary_of& what, const timeline& when);

std::string html_of(const summary_of& what, const timeline& when);

/// The page's sources in page/, which the build embeds (cmake/EmbedPage.cmake).
extern const std::string_view page_html, page_css, page_js;

/// Escapes text for HTML.
std::string html_escaped(std::string_view text);

/// Returns JSON that is safe inside a script element: it can't end the element or change how it is
/// parsed.
std::string json_for_script(const json& value);

/// Returns the template with each `{{name}}` replaced by its value. Values aren't expanded again.
std::string filled(std::string_view page, const std::map<std::string, std::string>& values);

} // namespace hmmctl
