// SPDX-License-Identifier: MIT
// The C interface: annotations. A section is recorded when it ends, so each thread remembers where
// its open sections began.
#include "api/interface.hpp"
#include "base/failure.hpp"
#include "base/memory_range.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include <linux/hmmrt_event.h>

namespace hmmrt {
namespace {

constexpr std::size_t sections_max = 64;

struct open_section {
    char text[HMMRT_EVENT_TEXT_BYTES];
    std::uint64_t began; ///< in nanoseconds of CLOCK_MONOTONIC
};

struct open_sections : public in_own_memory {
    std::size_t depth = 0; ///< including sections beyond sections_max
    std::array<open_section, sections_max> sections = {};
};

// Only a pointer, because the library may be loaded late, when little static TLS is left. We free
// the sections when the last one ends. The pointer is trivially destructible, so we can use it
// until the thread ends.
constinit thread_local open_sections* sections_of_thread = nullptr;

std::uint64_t now() {
    timespec time = {};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(time.tv_nsec);
}

/// Returns the length of the first character of @text; 0 if it isn't valid UTF-8 or not allowed in
/// an annotation.
std::size_t letter_bytes(std::string_view text) {
    static constexpr std::array<std::uint32_t, 5> least = {0, 0x20, 0xa0, 0x800, 0x10000};
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if ((first >= 0x80 && first < 0xc0) || first >= 0xf8 || bytes > text.size()) return 0;
    std::uint32_t code = bytes == 1 ? first : first & (0x7fu >> bytes);
    for (std::size_t i = 1; i < bytes; i++) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) return 0;
        code = code << 6 | (next & 0x3fu);
    }
    const bool refused = code < least[bytes] || code == 0x7f || code > 0x10ffff ||
                         code >> 11 == 0x1b || code == 0x2028 || code == 0x2029;
    return refused ? 0 : bytes;
}

/// Copies as many whole characters as fit. A byte that an annotation may not contain becomes '?'.
void copy_text(char (&to)[HMMRT_EVENT_TEXT_BYTES], const char* text) {
    // Read more than fits, to see whether the last character is cut.
    std::string_view rest(text, strnlen(text, sizeof(to) + 3));
    std::size_t used = 0;
    while (!rest.empty()) {
        const std::size_t bytes = letter_bytes(rest);
        if (used + std::max<std::size_t>(bytes, 1) > sizeof(to) - 1) break;
        if (bytes == 0)
            to[used++] = '?';
        else
            used += rest.copy(to + used, bytes);
        rest.remove_prefix(std::max<std::size_t>(bytes, 1));
    }
    to[used] = '\0';
}

void require_text(const char* text) {
    require(text != nullptr && *text != '\0', "the text is NULL or empty");
}

void annotate(const char* operation, hmmrt_annotate& request) {
    check_memory_call(operation, process::get().where().annotate(request));
}

void mark(const char* text) {
    require_text(text);
    hmmrt_annotate request = {};
    request.kind = HMMRT_ANNOTATE_MARK;
    copy_text(request.text, text);
    annotate("mark", request);
}

void begin_section(const char* text) {
    require_text(text);
    if (sections_of_thread == nullptr) sections_of_thread = new open_sections;
    open_sections& open = *sections_of_thread;
    if (open.depth++ >= sections_max)
        throw failure(hmmErrorInvalidConfiguration,
                      "more than " + std::to_string(sections_max) + " nested sections");
    open_section& added = open.sections[open.depth - 1];
    copy_text(added.text, text);
    added.began = now();
}

void end_section() {
    require(sections_of_thread != nullptr, "no section is open");
    open_sections& open = *sections_of_thread;
    if (open.depth-- > sections_max) return;
    const open_section& ended = open.sections[open.depth];
    hmmrt_annotate request = {};
    request.kind = HMMRT_ANNOTATE_SECTION;
    request.since = ended.began;
    copy_text(request.text, ended.text);
    if (open.depth == 0) {
        delete sections_of_thread;
        sections_of_thread = nullptr;
    }
    annotate("section", request);
}

void name_memory(const void* ptr, std::size_t bytes, const char* name) {
    if (bytes == 0) return;
    pages_around(ptr, bytes);
    hmmrt_annotate request = {};
    request.kind = HMMRT_ANNOTATE_NAME;
    request.addr = reinterpret_cast<std::uint64_t>(ptr);
    request.len = bytes;
    if (name != nullptr) copy_text(request.text, name);
    annotate("name", request);
}

} // namespace
} // namespace hmmrt

using namespace hmmrt;

hmmError_t hmmMark(const char* text) {
    return guarded("hmmMark", [&] { mark(text); });
}

hmmError_t hmmRangePush(const char* text) {
    return guarded("hmmRangePush", [&] { begin_section(text); });
}

hmmError_t hmmRangePop(void) {
    return guarded("hmmRangePop", [] { end_section(); });
}

hmmError_t hmmMemSetName(const void* ptr, size_t bytes, const char* name) {
    return guarded("hmmMemSetName", [&] { name_memory(ptr, bytes, name); });
}
