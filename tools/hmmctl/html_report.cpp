// SPDX-License-Identifier: MIT
#include "html_report.hpp"

#include "event_names.hpp"
#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace hmmctl {
namespace {

using row = std::pair<const block_key, std::map<std::size_t, block_bucket>>;

/// Blocks that are farther apart are in different groups.
constexpr std::uint64_t largest_gap = 64 * block_bytes;

json device_json(const summary_of& what, std::uint32_t id,
                 const std::vector<device_bucket>& buckets, std::size_t number) {
    json device = {{"id", nullptr}, {"name", nullptr}};
    if (is_device(id)) device["id"] = id;
    for (const trace_device& known : what.header.devices)
        if (known.id == id) device["name"] = known.name;
    for (const char* name :
         {"device_faults", "cpu_faults", "bytes_in", "bytes_out", "bytes_evicted", "phases"})
        device[name] = json::array();
    const std::uint64_t page_size = what.header.page_size;
    for (std::size_t i = 0; i < number; i++) {
        const device_bucket one = i < buckets.size() ? buckets[i] : device_bucket();
        device["device_faults"].push_back(one.device_faults);
        device["cpu_faults"].push_back(one.cpu_faults);
        device["bytes_in"].push_back(one.pages_in * page_size);
        device["bytes_out"].push_back(one.pages_out * page_size);
        device["bytes_evicted"].push_back(one.pages_evicted * page_size);
        device["phases"].push_back(one.phases);
    }
    return device;
}

json timeline_json(const summary_of& what, const timeline& when) {
    json names = json::array(), devices = json::array();
    for (std::size_t i = 0; i < HMMRT_EVENT_PHASES; i++)
        names.push_back(phase_name(i));
    for (const auto& [id, buckets] : when.devices())
        devices.push_back(device_json(what, id, buckets, when.buckets()));
    return {{"bucket_nanoseconds", when.bucket_nanoseconds()},
            {"buckets", when.buckets()},
            {"phases", std::move(names)},
            {"devices", std::move(devices)}};
}

std::uint64_t weight_of(const row& block) {
    std::uint64_t sum = 0;
    for (const auto& [bucket, of] : block.second)
        sum += of.device_faults + of.cpu_faults + of.pages_in + of.pages_out;
    return sum;
}

/// Returns the blocks with the most activity, by address.
std::vector<const row*> rows_of(const timeline& when) {
    std::vector<std::pair<std::uint64_t, const row*>> all;
    for (const row& block : when.blocks())
        all.emplace_back(weight_of(block), &block);
    std::stable_sort(all.begin(), all.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    all.resize(std::min(all.size(), heat_rows));
    std::vector<const row*> rows;
    rows.reserve(all.size());
    for (const auto& [weight, block] : all)
        rows.push_back(block);
    std::sort(rows.begin(), rows.end(),
              [](const row* a, const row* b) { return a->first < b->first; });
    return rows;
}

/// Each cell has the bucket, device faults, CPU faults, pages to devices, pages from devices, and
/// the number of pages on devices afterwards, as far as the recording shows.
json cells_json(const row& block) {
    json cells = json::array();
    std::uint64_t resident = 0;
    for (const auto& [bucket, of] : block.second) {
        const std::uint64_t most = resident + of.pages_in;
        resident = std::min<std::uint64_t>(most - std::min(most, of.pages_out), block_pages);
        cells.push_back(
            {bucket, of.device_faults, of.cpu_faults, of.pages_in, of.pages_out, resident});
    }
    return cells;
}

/// Returns the file of code in the block, "" for other memory. We only record mappings of code.
std::string path_of(const observed_process& process, std::uint64_t addr) {
    for (const code_mapping& code : process.code)
        if (code.start < addr + block_bytes && code.end > addr && !code.path.empty())
            return code.path;
    return "";
}

json heat_json(const summary_of& what, const timeline& when) {
    json groups = json::array();
    block_key before;
    std::string path_before;
    const std::vector<const row*> rows = rows_of(when);
    for (const row* block : rows) {
        const block_key& at = block->first;
        const observed_process& process = what.process_of(at.space);
        std::string path = path_of(process, at.addr);
        if (groups.empty() || at.space != before.space || path != path_before ||
            at.addr - before.addr > largest_gap)
            groups.push_back({{"pid", process.pid},
                              {"process", process.name},
                              {"path", path},
                              {"rows", json::array()}});
        groups.back()["rows"].push_back(
            {{"addr", fmt::format("{:#x}", at.addr)}, {"cells", cells_json(*block)}});
        before = at;
        path_before = std::move(path);
    }
    return {{"block_pages", block_pages},
            {"groups", std::move(groups)},
            {"left_out", when.blocks().size() - rows.size()}};
}

std::string title_of(const trace_header& header) {
    std::string title = "hmmctl:";
    for (const std::string& word : header.command)
        title += " " + word;
    return header.command.empty() ? "hmmctl: a recording" : title;
}

} // namespace

json page_data(const summary_of& what, const timeline& when) {
    json data = {{"title", title_of(what.header)},
                 {"start_realtime_ms", what.header.start_realtime / 1'000'000}};
    data["profile"] = to_json(what);
    data["timeline"] = timeline_json(what, when);
    data["heat"] = heat_json(what, when);
    return data;
}

std::string html_escaped(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        switch (c) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        default:
            escaped += c;
        }
    }
    return escaped;
}

/// These characters only occur in JSON strings, where they can be escaped as numbers.
std::string json_for_script(const json& value) {
    std::string text;
    for (const char c : value.dump(-1, ' ', true, json::error_handler_t::replace)) {
        if (c == '<' || c == '>' || c == '&')
            text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            text += c;
    }
    return text;
}

std::string filled(std::string_view page, const std::map<std::string, std::string>& values) {
    std::string result;
    for (std::size_t open = 0; (open = page.find("{{")) != std::string_view::npos;) {
        const std::size_t close = page.find("}}", open);
        if (close == std::string_view::npos) break;
        result += page.substr(0, open);
        result += values.at(std::string(page.substr(open + 2, close - open - 2)));
        page.remove_prefix(close + 2);
    }
    return result.append(page);
}

std::string html_of(const summary_of& what, const timeline& when) {
    return filled(page_html, {{"title", html_escaped(printable(title_of(what.header)))},
                              {"style", std::string(page_css)},
                              {"text", html_escaped(text_of(what))},
                              {"data", json_for_script(page_data(what, when))},
                              {"script", std::string(page_js)}});
}

} // namespace hmmctl
