// SPDX-License-Identifier: MIT
// The HTML page's sources in page/, which the build embeds (cmake/EmbedPage.cmake).
#pragma once

#include <string_view>

namespace hmmctl {

extern const std::string_view page_html, page_css, page_js;

} // namespace hmmctl
