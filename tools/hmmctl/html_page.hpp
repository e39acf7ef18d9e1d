// SPDX-License-Identifier: MIT
// The sources of the page in page/, as the build embeds them (cmake/EmbedPage.cmake).
#pragma once

#include <string_view>

namespace hmmctl {

extern const std::string_view page_html, page_css, page_js;

} // namespace hmmctl
