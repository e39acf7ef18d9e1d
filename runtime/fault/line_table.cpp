// SPDX-License-Identifier: MIT
#include "fault/line_table.hpp"

#include <cstdio>
#include <cstring>

namespace hmmrt {
namespace {

/// Reads bytes sequentially. Past the end it reads zeros and is no longer
/// good().
class reader {
  public:
    reader() = default;
    reader(const unsigned char* data, std::size_t size) : at_(data), end_(data + size) {}

    bool good() const { return good_; }
    bool at_end() const { return at_ >= end_; }
    const unsigned char* at() const { return at_; }
    std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }

    std::uint64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        if (!take(bytes) || bytes > sizeof(value)) return 0;
        std::memcpy(&value, at_ - bytes, bytes);
        return value;
    }
    std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
    std::uint64_t unsigned_leb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const std::uint8_t part = byte();
            if (shift < 64) value |= std::uint64_t{part & 0x7fu} << shift;
            if ((part & 0x80) == 0) return value;
        }
    }
    std::int64_t signed_leb() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const std::uint8_t part = byte();
            if (shift < 64) value |= std::uint64_t{part & 0x7fu} << shift;
            shift += 7;
            if ((part & 0x80) != 0) continue;
            if (shift < 64 && (part & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
            return static_cast<std::int64_t>(value);
        }
    }
    const char* string() {
        const void* const zero = at_ < end_ ? std::memchr(at_, 0, left()) : nullptr;
        const char* const text = reinterpret_cast<const char*>(at_);
        if (zero == nullptr) {
            good_ = false;
            at_ = end_;
            return "";
        }
        at_ = static_cast<const unsigned char*>(zero) + 1;
        return text;
    }
    void skip(std::uint64_t bytes) { take(bytes); }
    /// Splits off a reader of the next @bytes.
    reader part(std::uint64_t bytes) {
        if (!take(bytes)) return {};
        return {at_ - bytes, static_cast<std::size_t>(bytes)};
    }

  private:
    bool take(std::uint64_t bytes) {
        if (bytes > left()) {
            good_ = false;
            at_ = end_;
            return false;
        }
        at_ += bytes;
        return true;
    }

    const unsigned char* at_ = nullptr;
    const unsigned char* end_ = nullptr;
    bool good_ = true;
};

enum content_type : std::uint64_t { content_path = 1, content_directory = 2 };
enum form : std::uint64_t {
    form_data2 = 0x05,
    form_data4 = 0x06,
    form_data8 = 0x07,
    form_string = 0x08,
    form_block = 0x09,
    form_data1 = 0x0b,
    form_strp = 0x0e,
    form_udata = 0x0f,
    form_data16 = 0x1e,
    form_line_strp = 0x1f,
};

/// A file or directory entry in the header of a unit.
struct path_entry {
    const char* path = "";
    std::uint64_t directory = 0;
};

/// The line program of one unit.
class line_unit {
  public:
    line_unit(const line_sections& sections, reader bytes, std::size_t offset_bytes)
        : sections_(sections), bytes_(bytes), offset_bytes_(offset_bytes) {}

    bool find(std::uint64_t address, source_line& out) {
        if (!read_header() || !run(address)) return false;
        out.line = static_cast<unsigned>(found_line_);
        name_file(found_file_, out.file, sizeof(out.file));
        return true;
    }

  private:
    /// The registers of the state machine.
    struct row {
        std::uint64_t address = 0, file = 1, line = 1;
    };

    bool read_header() {
        version_ = bytes_.number(2);
        if (version_ < 2 || version_ > 5) return false;
        if (version_ == 5) bytes_.skip(2); // sizes of addresses and of segments
        const std::uint64_t length = bytes_.number(offset_bytes_);
        tables_ = bytes_.part(length);
        if (!bytes_.good()) return false;
        instruction_bytes_ = tables_.byte();
        if (version_ >= 4) tables_.skip(1); // operations of an instruction
        tables_.skip(1);                    // default of is_stmt
        line_base_ = static_cast<std::int8_t>(tables_.byte());
        line_range_ = tables_.byte();
        opcode_base_ = tables_.byte();
        lengths_ = tables_.at();
        tables_.skip(opcode_base_ > 0 ? opcode_base_ - 1u : 0u);
        return tables_.good() && line_range_ != 0 && opcode_base_ != 0;
    }

    /// Adds a row to the matrix. Returns true if the previous row covers the
    /// address.
    bool add_row(const row& now, std::uint64_t address) {
        const bool covers =
            has_last_ && last_.address <= address && address < now.address && last_.line != 0;
        if (covers) {
            found_file_ = last_.file;
            found_line_ = last_.line;
        }
        last_ = now;
        has_last_ = true;
        return covers;
    }

    void advance(row& now, std::uint64_t operations) const {
        now.address += operations * instruction_bytes_;
    }

    bool run(std::uint64_t address) {
        row now;
        while (!bytes_.at_end() && bytes_.good()) {
            const std::uint8_t code = bytes_.byte();
            if (code >= opcode_base_) {
                const unsigned special = code - opcode_base_;
                advance(now, special / line_range_);
                now.line += static_cast<std::uint64_t>(static_cast<std::int64_t>(line_base_) +
                                                       special % line_range_);
                if (add_row(now, address)) return true;
            } else if (code == 0) {
                if (run_extended(now, address)) return true;
            } else if (run_standard(code, now, address)) {
                return true;
            }
        }
        return false;
    }

    bool run_extended(row& now, std::uint64_t address) {
        reader operand = bytes_.part(bytes_.unsigned_leb());
        switch (operand.byte()) {
        case 1: { // end of the sequence
            const bool found = add_row(now, address);
            now = row();
            has_last_ = false;
            return found;
        }
        case 2:
            now.address = operand.number(operand.left());
            return false;
        default:
            return false;
        }
    }

    bool run_standard(std::uint8_t code, row& now, std::uint64_t address) {
        switch (code) {
        case 1:
            return add_row(now, address);
        case 2:
            advance(now, bytes_.unsigned_leb());
            return false;
        case 3:
            now.line += static_cast<std::uint64_t>(bytes_.signed_leb());
            return false;
        case 4:
            now.file = bytes_.unsigned_leb();
            return false;
        case 8:
            advance(now, (255u - opcode_base_) / line_range_);
            return false;
        case 9:
            now.address += bytes_.number(2);
            return false;
        default: // no effect on addresses and lines
            for (std::uint8_t i = 0; i < lengths_[code - 1]; i++)
                bytes_.unsigned_leb();
            return false;
        }
    }

    static const char* string_at(const section_bytes& section, std::uint64_t offset) {
        if (section.data == nullptr || offset >= section.size) return "";
        return reader(section.data + offset, section.size - offset).string();
    }

    /// Reads a value of DWARF 5, which is a string or a number. Returns false
    /// for a form that doesn't occur in headers.
    bool read_form(reader& from, std::uint64_t kind, const char*& text,
                   std::uint64_t& number) const {
        switch (kind) {
        case form_string:
            text = from.string();
            return true;
        case form_line_strp:
            text = string_at(sections_.line_str, from.number(offset_bytes_));
            return true;
        case form_strp:
            text = string_at(sections_.str, from.number(offset_bytes_));
            return true;
        case form_udata:
            number = from.unsigned_leb();
            return true;
        case form_data1:
        case form_data2:
        case form_data4:
        case form_data8:
            number = from.number(kind == form_data1   ? 1
                                 : kind == form_data2 ? 2
                                 : kind == form_data4 ? 4
                                                      : 8);
            return true;
        case form_data16:
            from.skip(16);
            return true;
        case form_block:
            from.skip(from.unsigned_leb());
            return true;
        default:
            return false;
        }
    }

    /// Reads a table of DWARF 5 and returns its entry @wanted.
    path_entry table_entry(reader& from, std::uint64_t wanted) const {
        path_entry result;
        reader formats = from;
        const std::uint8_t format_count = from.byte();
        for (std::uint8_t i = 0; i < format_count; i++) {
            from.unsigned_leb();
            from.unsigned_leb();
        }
        const std::uint64_t count = format_count > 0 ? from.unsigned_leb() : 0;
        for (std::uint64_t i = 0; i < count && from.good(); i++) {
            path_entry entry;
            reader format = formats;
            format.skip(1);
            for (std::uint8_t j = 0; j < format_count; j++) {
                const std::uint64_t what = format.unsigned_leb(), kind = format.unsigned_leb();
                const char* text = "";
                std::uint64_t number = 0;
                if (!read_form(from, kind, text, number)) return {};
                if (what == content_path) entry.path = text;
                if (what == content_directory) entry.directory = number;
            }
            if (i == wanted) result = entry;
        }
        return result;
    }

    /// As table_entry(), for the directories of DWARF 2 to 4.
    static path_entry old_directory(reader& from, std::uint64_t wanted) {
        path_entry result;
        for (std::uint64_t i = 1; from.good(); i++) {
            const char* const path = from.string();
            if (*path == '\0') break;
            if (i == wanted) result.path = path;
        }
        return result;
    }

    static path_entry old_file(reader& from, std::uint64_t wanted) {
        path_entry result;
        for (std::uint64_t i = 1; from.good(); i++) {
            path_entry entry;
            entry.path = from.string();
            if (*entry.path == '\0') break;
            entry.directory = from.unsigned_leb();
            from.unsigned_leb(); // time
            from.unsigned_leb(); // length
            if (i == wanted) result = entry;
        }
        return result;
    }

    void name_file(std::uint64_t number, char* out, std::size_t bytes) const {
        reader directories = tables_, files = tables_;
        path_entry file, directory;
        if (version_ == 5) {
            table_entry(files, 0); // skips the directories
            file = table_entry(files, number);
            directory = table_entry(directories, file.directory);
        } else {
            old_directory(files, 0);
            file = old_file(files, number);
            directory = old_directory(directories, file.directory);
        }
        const bool alone = file.path[0] == '/' || directory.path[0] == '\0';
        std::snprintf(out, bytes, "%s%s%s", alone ? "" : directory.path, alone ? "" : "/",
                      file.path);
    }

    const line_sections& sections_;
    reader bytes_;
    std::size_t offset_bytes_;
    std::uint64_t version_ = 0;
    reader tables_; ///< of directories and files, after read_header()
    const unsigned char* lengths_ = nullptr;
    std::uint8_t instruction_bytes_ = 1;
    std::int8_t line_base_ = 0;
    std::uint8_t line_range_ = 1;
    std::uint8_t opcode_base_ = 1;
    row last_;
    bool has_last_ = false;
    std::uint64_t found_file_ = 0;
    std::uint64_t found_line_ = 0;
};

} // namespace

source_line find_line(const line_sections& sections, std::uint64_t address) {
    constexpr std::uint64_t long_format = 0xffffffff;
    source_line result;
    reader units(sections.line.data, sections.line.size);
    while (!units.at_end() && units.good()) {
        std::uint64_t length = units.number(4);
        const std::size_t offset_bytes = length == long_format ? 8 : 4;
        if (length == long_format) length = units.number(8);
        line_unit unit(sections, units.part(length), offset_bytes);
        if (unit.find(address, result)) return result;
    }
    return {};
}

} // namespace hmmrt
