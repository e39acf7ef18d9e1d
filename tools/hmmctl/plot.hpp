// SPDX-License-Identifier: MIT
// Plots, which gnuplot draws from a script.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace hmmctl {

enum class plot_format { svg, png };

/// Quotes text so that gnuplot takes it literally.
std::string in_quotes(std::string_view text);
/// Returns a name for a data block, which it must not terminate.
std::string cell_of(std::string_view name);
/// Returns the command that makes gnuplot write this format, of @width by @height pixels.
std::string terminal_for(plot_format format, unsigned width, std::size_t height);

/// Draws what the script says into @to, whose name ends with .svg or .png. Throws failure.
void draw(const std::string& to, const std::function<std::string(plot_format)>& script);

/// Throws failure.
void write_file(const std::string& path, const std::string& text);

} // namespace hmmctl
