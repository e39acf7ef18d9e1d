// SPDX-License-Identifier: MIT
#include "symbols.hpp"

#include "lib/files.hpp"
#include "lib/mappings.hpp"
#include "lib/spawn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <sstream>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace hmmctl {
namespace {

template <class Value>
bool read_at(int file, std::uint64_t offset, Value& value) {
    return pread(file, &value, sizeof(value), static_cast<off_t>(offset)) ==
           static_cast<ssize_t>(sizeof(value));
}

/// Returns a program's output, or nothing if it fails.
std::optional<std::string> output_of(std::vector<std::string> command) {
    const tools::descriptor nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    try {
        tools::finished done = tools::run(std::move(command), {.err = nowhere.get()});
        if (done.status == 0) return std::move(done.output);
    } catch (const std::system_error&) {
        // addr2line is optional
    }
    return std::nullopt;
}

/// For each function that is inlined at an address, addr2line writes a line with FUNCTION and one
/// with FILE:LINE, or ?? if it doesn't know.
symbol parse_addr2line(std::string function, std::string place) {
    if (function.starts_with("??")) function.clear();
    if (place.starts_with("??") || place.ends_with(":?") || place.ends_with(":0")) place.clear();
    if (const std::size_t note = place.find(" (discriminator"); note != std::string::npos)
        place.erase(note);
    return {std::move(function), std::move(place)};
}

/// An address in a file, and where to store its names.
struct unnamed {
    std::uint64_t address;
    std::vector<symbol>& names;
};

void ask_addr2line(const std::string& path, const std::vector<unnamed>& parts) {
    std::vector<std::string> command = {"addr2line", "-a", "-i", "-f", "-C", "-e", path};
    for (const unnamed& part : parts)
        command.push_back(fmt::format("{:#x}", part.address));
    std::istringstream lines(output_of(std::move(command)).value_or(""));
    std::string function, place;
    std::size_t begun = 0; // number of addresses so far; each precedes its names
    while (std::getline(lines, function)) {
        if (function.starts_with("0x")) {
            if (++begun > parts.size()) return;
        } else if (begun != 0 && std::getline(lines, place)) {
            parts[begun - 1].names.push_back(parse_addr2line(function, place));
        }
    }
}

std::string place_without_line(const instruction& of) {
    const code_mapping* code = mapping_of(of.process.code, of.ip);
    if (!code || code->path.empty()) return fmt::format("{:#x}", of.ip);
    return fmt::format("{}+{:#x}", code->path, of.ip - code->start + code->offset);
}

} // namespace

// ---- mappings

std::vector<code_mapping> parse_code(std::string_view maps) {
    std::vector<code_mapping> code;
    for (tools::mapping& found : tools::parse_mappings(maps))
        if (found.executable)
            code.push_back({found.start, found.end, found.offset, std::move(found.name)});
    return code;
}

const code_mapping* mapping_of(const std::vector<code_mapping>& code, std::uint64_t ip) {
    const auto found = std::find_if(code.begin(), code.end(), [&](const code_mapping& one) {
        return ip >= one.start && ip < one.end;
    });
    return found == code.end() ? nullptr : &*found;
}

observed_process look_at(std::uint64_t space, pid_t pid, const std::string& proc) {
    observed_process found;
    found.space = space;
    found.pid = pid;
    if (pid <= 0) return found;
    const std::string folder = fmt::format("{}/{}", proc, pid);
    found.name = tools::read_file(folder + "/comm").value_or("");
    if (found.name.ends_with('\n')) found.name.pop_back();
    found.code = parse_code(tools::read_file(folder + "/maps").value_or(""));
    return found;
}

// ---- names

std::optional<std::uint64_t> address_in_file(const std::string& path, std::uint64_t offset) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    const tools::descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    Elf64_Ehdr elf;
    if (file.get() < 0 || !read_at(file.get(), 0, elf) ||
        std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_phentsize != sizeof(Elf64_Phdr))
        return std::nullopt;
    for (unsigned i = 0; i < elf.e_phnum; i++) {
        Elf64_Phdr part;
        if (!read_at(file.get(), elf.e_phoff + i * sizeof(part), part)) return std::nullopt;
        if (part.p_type == PT_LOAD && offset >= part.p_offset &&
            offset - part.p_offset < part.p_filesz)
            return offset - part.p_offset + part.p_vaddr;
    }
    return std::nullopt;
}

std::vector<std::vector<symbol>> inlined_symbols_of(std::span<const instruction> instructions) {
    std::vector<std::vector<symbol>> names(instructions.size());
    std::map<std::string, std::vector<unnamed>> files;
    for (std::size_t i = 0; i < names.size(); i++) {
        const auto& [process, ip] = instructions[i];
        const code_mapping* code = mapping_of(process.code, ip);
        if (!code || code->path.empty()) continue;
        if (const auto address = address_in_file(code->path, ip - code->start + code->offset))
            files[code->path].push_back({*address, names[i]});
    }
    for (const auto& [path, parts] : files)
        ask_addr2line(path, parts);
    for (std::size_t i = 0; i < names.size(); i++) {
        if (names[i].empty()) names[i].emplace_back();
        for (symbol& name : names[i])
            if (name.place.empty()) name.place = place_without_line(instructions[i]);
    }
    return names;
}

std::vector<symbol> symbols_of(std::span<const instruction> instructions) {
    std::vector<symbol> innermost;
    innermost.reserve(instructions.size());
    for (std::vector<symbol>& names : inlined_symbols_of(instructions))
        innermost.push_back(std::move(names.front()));
    return innermost;
}

symbol symbol_of(const observed_process& process, std::uint64_t ip) {
    const instruction one{process, ip};
    return symbols_of({&one, 1}).front();
}

} // namespace hmmctl
