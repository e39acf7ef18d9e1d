// SPDX-License-Identifier: MIT
#include "plot.hpp"

#include "failure.hpp"
#include "helpers.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hmmctl {
namespace {

plot_format format_of(const std::string& path) {
    if (path.ends_with(".svg")) return plot_format::svg;
    if (path.ends_with(".png")) return plot_format::png;
    throw failure(fmt::format("{}: unsupported plot format, use .svg or .png", path));
}

} // namespace

std::string in_quotes(std::string_view text) {
    std::string result = "'";
    for (const char one : printable(text))
        result += one == '\'' ? "''" : std::string(1, one);
    return result + "'";
}

std::string cell_of(std::string_view name) {
    std::string result = printable(name);
    std::replace(result.begin(), result.end(), '"', '?');
    return '"' + result + '"';
}

std::string terminal_for(plot_format format, unsigned width, std::size_t height) {
    return fmt::format("set terminal {} size {},{} noenhanced\n",
                       format == plot_format::svg ? "svg dynamic background 'white'" : "pngcairo",
                       width, height);
}

void draw(const std::string& to, const std::function<std::string(plot_format)>& script) {
    const plot_format format = format_of(to);
    write_file(to, output_of({"gnuplot"}, script(format), "gnuplot failed to draw the plot",
                             "gnuplot is not installed (Debian package gnuplot-nox)"));
}

void write_file(const std::string& path, const std::string& text) {
    std::FILE* const file = std::fopen(path.c_str(), "we");
    const bool written =
        file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int error = errno;
    if (file == nullptr || (std::fclose(file) != 0) || !written)
        throw failure(
            fmt::format("cannot write {}: {}", path, std::strerror(written ? errno : error)));
}

} // namespace hmmctl
