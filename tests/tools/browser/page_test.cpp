// SPDX-License-Identifier: MIT
// A browser shows hmmctl's HTML report without errors, with all elements, and in the colours of the
// page. The tests must detect pages that are broken on purpose.
#include "browser.hpp"
#include "page_trace.hpp"

#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// ---- elements

struct element {
    std::string name;
    std::map<std::string, std::string> attributes;
};

/// Returns the text before the first of the characters @ends, and removes it from the text.
std::string taken(std::string_view& text, std::string_view ends) {
    const std::string front(text.substr(0, text.find_first_of(ends)));
    text.remove_prefix(front.size());
    return front;
}

/// Returns the element at the start of the text, which follows a `<`, and removes it up to the `>`.
/// The browser writes attribute values in double quotes.
element taken_tag(std::string_view& text) {
    element found = {taken(text, " \n>"), {}};
    while (!text.empty() && text.front() != '>') {
        const std::string name = taken(text, "= \n>");
        std::string value;
        if (text.starts_with("=\"")) {
            text.remove_prefix(2);
            value = taken(text, "\"");
        }
        if (!name.empty()) found.attributes[name] = value;
        if (!text.empty() && text.front() != '>') text.remove_prefix(1);
    }
    return found;
}

/// Returns a document's start tags, and its end tags including the `/`. The contents of scripts and
/// styles are text.
std::vector<element> tags_of(std::string_view text) {
    std::vector<element> tags;
    const auto skip_to = [&](std::string_view what) {
        text.remove_prefix(std::min(text.find(what), text.size()));
    };
    for (skip_to("<"); !text.empty(); skip_to("<")) {
        if (text.starts_with("<!--")) {
            skip_to("-->");
            continue;
        }
        text.remove_prefix(1);
        tags.push_back(taken_tag(text));
        for (const std::string name : {"script", "style"})
            if (tags.back().name == name) skip_to("</" + name);
    }
    return tags;
}

// ---- contents of a page

const texts kinds = {"ping_pong", "read_by_several", "oversubscription", "sequential_faults"};

/// A section, the name of an element, and how often the section must at least contain it.
struct required {
    std::string section, name;
    std::size_t least;
};
const std::vector<required> elements = {
    {"summary", "table", 2},   {"summary", "td", 14}, {"suggestions", "pre", kinds.size()},
    {"timeline", "svg", 6}, // three for each device
    {"timeline", "rect", 100}, {"heat", "canvas", 1}, {"heat", "input", 5},
    {"blocks", "td", 60},      {"code", "td", 5},     {"allocations", "td", 8},
    {"text", "pre", 1},
};

using colour = std::array<std::uint8_t, 3>;

/// Colours that charts must have: device faults, CPU faults, memory moved to devices, and evictions
/// in the timeline, and pages on devices in the map of blocks.
const std::vector<colour> colours = {{0xd9, 0x73, 0x0d},
                                     {0x1f, 0x6f, 0xb5},
                                     {0x2e, 0x8b, 0x57},
                                     {0xb8, 0x32, 0x4a},
                                     {0xdf, 0xe6, 0xee}};
constexpr std::size_t least_pixels = 500;

texts errors_in(const std::string& log) {
    texts errors;
    for (std::string_view rest = log; !rest.empty();) {
        std::string line = taken(rest, "\n");
        rest.remove_prefix(std::min<std::size_t>(1, rest.size()));
        for (const char* const sign : {"CONSOLE:", "CONSOLE(", "Uncaught"})
            if (line.find(sign) != std::string::npos) {
                errors.push_back(std::move(line));
                break;
            }
    }
    return errors;
}

/// Returns the problems in the document and the log of a page that the browser has shown.
texts problems_of(const std::string& document, const std::string& log) {
    texts problems = errors_in(log);
    std::map<std::pair<std::string, std::string>, std::size_t> counts;
    std::map<std::string, std::size_t> advice;
    std::string section;
    bool drawn = false;
    for (element& tag : tags_of(document)) {
        if (tag.name == "section") section = tag.attributes["id"];
        if (tag.name == "/section") section.clear();
        if (tag.name == "html") drawn = tag.attributes["data-drawn"] == "yes";
        if (tag.attributes.contains("data-kind")) advice[tag.attributes["data-kind"]]++;
        counts[{section, tag.name}]++;
    }
    if (!drawn) problems.emplace_back("the script did not reach its end");
    for (const auto& [where, name, least] : elements)
        if (const std::size_t number = counts[{where, name}]; number < least)
            problems.push_back("section " + where + " has " + std::to_string(number) + " <" + name +
                               ">, not " + std::to_string(least));
    for (const std::string& kind : kinds)
        if (!advice.contains(kind)) problems.push_back("there is no advice about " + kind);
    if (counts[{"", "b"}] + counts[{"text", "b"}] > 0) problems.emplace_back("a name became HTML");
    return problems;
}

/// Returns the colours that a picture lacks.
std::vector<colour> colours_missing(const std::string& picture) {
    png_image image = {};
    image.version = PNG_IMAGE_VERSION;
    png_image_begin_read_from_file(&image, picture.c_str());
    image.format = PNG_FORMAT_RGB;
    std::vector<std::uint8_t> bytes(PNG_IMAGE_SIZE(image));
    if (PNG_IMAGE_FAILED(image) ||
        !png_image_finish_read(&image, nullptr, bytes.data(), 0, nullptr)) {
        png_image_free(&image);
        throw std::runtime_error(picture + ": " + image.message);
    }
    std::map<colour, std::size_t> pixels;
    for (std::size_t i = 0; i + 2 < bytes.size(); i += 3)
        pixels[{bytes[i], bytes[i + 1], bytes[i + 2]}]++;
    std::vector<colour> missing;
    std::copy_if(colours.begin(), colours.end(), std::back_inserter(missing),
                 [&](const colour& one) { return pixels[one] < least_pixels; });
    return missing;
}

// ---- tests

/// For pictures: hides other elements that have the colours of charts.
const std::string only_charts = ".legend, .advice { display: none; }";

class PageInABrowser : public testing::Test {
  public:
    PageInABrowser() {
        const std::string trace = folder / "trace", page = folder / "report.html";
        write_page_trace(trace);
        run({HMMCTL, "trace", "report", "--html", page, trace}, {}, folder);
        report = contents_of(page);
    }

    /// Shows a page with an additional style. Returns its document and log.
    output show(const std::string& page, const std::string& style = only_charts) {
        write(folder / "page.html", changed(page, "</style>", style + "</style>"));
        return browse(folder / "page.html", folder, {"--dump-dom", "--screenshot=" + picture});
    }

    const temporary_folder folder;
    const std::string picture = folder / "picture.png";
    std::string report; ///< the page that hmmctl writes
};

bool has(const texts& problems, std::string_view part) {
    return std::any_of(problems.begin(), problems.end(),
                       [&](const std::string& one) { return one.find(part) != std::string::npos; });
}

TEST_F(PageInABrowser, HasAllElementsAndColoursAndNoError) {
    const output shown = show(report);
    EXPECT_EQ(problems_of(shown.out, shown.err), texts());
    EXPECT_EQ(colours_missing(picture), std::vector<colour>());

    // must detect that an element is missing
    const auto problems_if = [&](std::string_view old, std::string_view by) {
        return problems_of(changed(shown.out, old, by), "");
    };
    EXPECT_EQ(problems_if("data-drawn=\"yes\"", ""), texts{"the script did not reach its end"});
    EXPECT_EQ(problems_if("data-kind=\"oversubscription\"", ""),
              texts{"there is no advice about oversubscription"});
    EXPECT_EQ(problems_if("<h1>", "<h1><b>"), texts{"a name became HTML"});
}

TEST_F(PageInABrowser, IsFoundBrokenByAnErrorOfItsScriptAndByAMissingElement) {
    const std::string less = changed(report, "drawSuggestions, drawTimeline,", "drawSuggestions,");
    const output shown =
        show(changed(less, "'use strict';", "'use strict'; setTimeout(() => missing());"));
    const texts problems = problems_of(shown.out, shown.err);
    EXPECT_TRUE(has(problems, "missing is not defined")) << testing::PrintToString(problems);
    EXPECT_TRUE(has(problems, "section timeline has 0 <svg>")) << testing::PrintToString(problems);
}

TEST_F(PageInABrowser, IsFoundBrokenWithoutCharts) {
    show(report, only_charts + " svg, canvas { visibility: hidden; }");
    EXPECT_EQ(colours_missing(picture), colours);
}

} // namespace
