// SPDX-License-Identifier: MIT
#include "fault/code_place.hpp"

#include "messages.hpp"

#include <cstring>
#include <string>
#include <vector>

using namespace hmmrt;

namespace {

constexpr unsigned line_of_function = __LINE__ + 1;
[[gnu::noinline]] int has_a_name(int value) {
    asm volatile("" : "+r"(value));
    return value + 1;
}

std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

TEST(CodePlace, AFunctionOfTheProgramHasNameFileAndLine) {
    const auto* const begin = reinterpret_cast<const void*>(&has_a_name);
    const code_place place = find_code(address(begin));
    EXPECT_TRUE(mentions(place.function, {"has_a_name"}));
    EXPECT_EQ(place.offset, 0u);
    EXPECT_TRUE(mentions(place.object, {"hmmrt-unit-tests"}));
    EXPECT_TRUE(mentions(place.source.file, {"code_place_test.cpp"}));
    // Optimised code starts with any line of the function.
    EXPECT_GE(place.source.line, line_of_function);
    EXPECT_LE(place.source.line, line_of_function + 3);
    EXPECT_FALSE(is_system_object(place.object));
}

TEST(CodePlace, OffsetsCountFromTheFunction) {
    const code_place place = find_code(address(reinterpret_cast<const void*>(&has_a_name)) + 1);
    EXPECT_EQ(place.offset, 1u);
}

TEST(CodePlace, AFunctionOfALibraryHasAName) {
    const code_place place = find_code(address(reinterpret_cast<const void*>(&std::strtoull)));
    EXPECT_TRUE(mentions(place.function, {"strtoull"}));
    EXPECT_TRUE(is_system_object(place.object)) << place.object;
}

TEST(CodePlace, AddressesWithoutCodeHaveNoName) {
    int local = 0;
    for (const std::uint64_t where : {std::uint64_t{0}, std::uint64_t{0x1000}, address(&local)}) {
        const code_place place = find_code(where);
        EXPECT_STREQ(place.function, "") << where;
        EXPECT_EQ(place.source.line, 0u) << where;
    }
}

TEST(CodePlace, SystemObjectsAreKnownByTheirFileName) {
    EXPECT_TRUE(is_system_object("/lib/x86_64-linux-gnu/libc.so.6"));
    EXPECT_TRUE(is_system_object("/lib64/ld-linux-x86-64.so.2"));
    EXPECT_FALSE(is_system_object("/home/user/libcurl.so"));
    EXPECT_FALSE(is_system_object("/opt/libc.so/program"));
}

/// A unit of DWARF 4 with one file and these instructions.
std::vector<unsigned char> unit_of(const std::vector<unsigned char>& instructions) {
    std::vector<unsigned char> tables = {1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    for (const char* text : {"dir", "", "main.cpp"})
        tables.insert(tables.end(), text, text + std::strlen(text) + 1);
    tables.insert(tables.end(), {1, 0, 0, 0});
    std::vector<unsigned char> unit = {4, 0, static_cast<unsigned char>(tables.size()), 0, 0, 0};
    unit.insert(unit.end(), tables.begin(), tables.end());
    unit.insert(unit.end(), instructions.begin(), instructions.end());
    std::vector<unsigned char> all = {static_cast<unsigned char>(unit.size()), 0, 0, 0};
    all.insert(all.end(), unit.begin(), unit.end());
    return all;
}

source_line line_at(const std::vector<unsigned char>& bytes, std::uint64_t where) {
    return find_line({{bytes.data(), bytes.size()}, {}, {}}, where);
}

// set address 0x1000; line 10; copy; address +4; line +1; copy; address +4; end
const std::vector<unsigned char> two_lines = {0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 3,
                                              9, 1, 2, 4, 3,    1, 1, 2, 4, 0, 1, 1};

TEST(LineTable, ARowCoversTheAddressesUpToTheNext) {
    const auto bytes = unit_of(two_lines);
    EXPECT_EQ(line_at(bytes, 0xfff).line, 0u);
    EXPECT_EQ(line_at(bytes, 0x1000).line, 10u);
    EXPECT_EQ(line_at(bytes, 0x1003).line, 10u);
    EXPECT_EQ(line_at(bytes, 0x1004).line, 11u);
    EXPECT_EQ(line_at(bytes, 0x1007).line, 11u);
    EXPECT_EQ(line_at(bytes, 0x1008).line, 0u);
    EXPECT_STREQ(line_at(bytes, 0x1000).file, "dir/main.cpp");
}

TEST(LineTable, TablesThatAreCutOrDamagedAreReadSafely) {
    const auto whole = unit_of(two_lines);
    for (std::size_t size = 0; size < whole.size(); size++) {
        const std::vector<unsigned char> cut(whole.begin(),
                                             whole.begin() + static_cast<std::ptrdiff_t>(size));
        line_at(cut, 0x1004);
    }
    for (std::size_t i = 0; i < whole.size(); i++)
        for (const unsigned char value : {0x00, 0x7f, 0x80, 0xff}) {
            auto damaged = whole;
            damaged[i] = value;
            line_at(damaged, 0x1004);
        }
}

} // namespace
