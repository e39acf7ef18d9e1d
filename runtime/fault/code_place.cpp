// SPDX-License-Identifier: MIT
#include "fault/code_place.hpp"

#include "sys/syscalls.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <initializer_list>

namespace hmmrt {
namespace {

/// The mapped content of a file.
class content {
  public:
    explicit content(const char* path) : address_(sys::map_content(path, bytes_)) {}
    content(const content&) = delete;
    content& operator=(const content&) = delete;
    ~content() {
        if (address_ > 0) sys::unmap(static_cast<std::uint64_t>(address_), bytes_);
    }

    const unsigned char* data() const { return reinterpret_cast<const unsigned char*>(address_); }
    std::size_t size() const { return address_ > 0 ? bytes_ : 0; }

    /// Returns @count elements at @offset; NULL if the file is shorter or the
    /// offset is misaligned.
    template <class T>
    const T* at(std::uint64_t offset, std::uint64_t count = 1) const {
        if (offset > size() || count > (size() - offset) / sizeof(T)) return nullptr;
        if (offset % alignof(T) != 0) return nullptr;
        return reinterpret_cast<const T*>(data() + offset);
    }

  private:
    std::size_t bytes_ = 0;
    std::int64_t address_; ///< or -errno
};

/// Finds the file mapped at @address; returns false if there is none.
bool find_object(std::uint64_t address, char (&path)[256], std::uint64_t& offset) {
    const content maps("/proc/thread-self/maps");
    const char* at = reinterpret_cast<const char*>(maps.data());
    const char* const end = at + maps.size();
    while (at < end) {
        const auto* const stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) return false;
        char* next = nullptr;
        const std::uint64_t first = std::strtoull(at, &next, 16);
        const std::uint64_t last = std::strtoull(next + 1, &next, 16);
        if (first <= address && address < last) {
            const std::uint64_t start = std::strtoull(next + 6, &next, 16); // after " r-xp "
            const auto* const name = static_cast<const char*>(
                std::memchr(next, '/', static_cast<std::size_t>(stop - next)));
            // The path begins at the first slash: there is none in the device
            // number.
            if (name == nullptr) return false;
            std::snprintf(path, sizeof(path), "%.*s", static_cast<int>(stop - name), name);
            offset = address - first + start;
            return true;
        }
        at = stop + 1;
    }
    return false;
}

class elf_file {
  public:
    explicit elf_file(const char* path) : file_(path) {
        header_ = file_.at<Elf64_Ehdr>(0);
        if (header_ == nullptr || std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 ||
            header_->e_ident[EI_CLASS] != ELFCLASS64)
            return;
        sections_ = file_.at<Elf64_Shdr>(header_->e_shoff, header_->e_shnum);
        if (sections_ != nullptr) section_count_ = header_->e_shnum;
        segments_ = file_.at<Elf64_Phdr>(header_->e_phoff, header_->e_phnum);
    }

    /// Converts a file offset to an address; 0 if no segment contains it.
    std::uint64_t address_of_offset(std::uint64_t offset) const {
        for (unsigned i = 0; segments_ != nullptr && i < header_->e_phnum; i++) {
            const Elf64_Phdr& each = segments_[i];
            if (each.p_type == PT_LOAD && offset >= each.p_offset &&
                offset - each.p_offset < each.p_filesz)
                return offset - each.p_offset + each.p_vaddr;
        }
        return 0;
    }

    void name_function(std::uint64_t address, code_place& out) const {
        for (const std::uint32_t type : {SHT_SYMTAB, SHT_DYNSYM}) {
            for (std::size_t i = 0; i < section_count_; i++) {
                if (sections_[i].sh_type != type) continue;
                if (search(sections_[i], address, out)) return;
            }
        }
    }

    line_sections lines() const {
        return {section(".debug_line"), section(".debug_line_str"), section(".debug_str")};
    }

  private:
    bool search(const Elf64_Shdr& table, std::uint64_t address, code_place& out) const {
        const std::uint64_t count = table.sh_size / sizeof(Elf64_Sym);
        const auto* const symbols = file_.at<Elf64_Sym>(table.sh_offset, count);
        if (symbols == nullptr || table.sh_link >= section_count_) return false;
        const Elf64_Sym* best = nullptr;
        for (std::uint64_t i = 0; i < count; i++) {
            const Elf64_Sym& each = symbols[i];
            const unsigned type = ELF64_ST_TYPE(each.st_info);
            const bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
            if (!code || each.st_shndx == SHN_UNDEF || address < each.st_value ||
                address - each.st_value >= each.st_size)
                continue;
            if (best == nullptr || each.st_value > best->st_value) best = &each;
        }
        if (best == nullptr) return false;
        const Elf64_Shdr& names = sections_[table.sh_link];
        const char* const name = string(names, best->st_name);
        std::snprintf(out.function, sizeof(out.function), "%s", name);
        out.offset = address - best->st_value;
        return *name != '\0';
    }

    /// Returns a string of a string table; "" if it isn't inside the file.
    const char* string(const Elf64_Shdr& table, std::uint64_t index) const {
        const char* const text = file_.at<char>(table.sh_offset, table.sh_size);
        if (text == nullptr || index >= table.sh_size ||
            std::memchr(text + index, 0, table.sh_size - index) == nullptr)
            return "";
        return text + index;
    }

    section_bytes section(const char* name) const {
        if (header_ == nullptr || header_->e_shstrndx >= section_count_) return {};
        for (std::size_t i = 0; i < section_count_; i++) {
            const Elf64_Shdr& each = sections_[i];
            if (each.sh_type == SHT_NOBITS || (each.sh_flags & SHF_COMPRESSED) != 0 ||
                std::strcmp(string(sections_[header_->e_shstrndx], each.sh_name), name) != 0)
                continue;
            const auto* const data = file_.at<unsigned char>(each.sh_offset, each.sh_size);
            if (data != nullptr) return {data, each.sh_size};
        }
        return {};
    }

    content file_;
    const Elf64_Ehdr* header_ = nullptr;
    const Elf64_Shdr* sections_ = nullptr;
    const Elf64_Phdr* segments_ = nullptr;
    std::size_t section_count_ = 0;
};

} // namespace

code_place find_code(std::uint64_t address) {
    code_place result;
    std::uint64_t offset = 0;
    if (!find_object(address, result.object, offset)) return result;
    result.offset = offset;
    const elf_file object(result.object);
    const std::uint64_t in_file = object.address_of_offset(offset);
    if (in_file == 0) return result;
    object.name_function(in_file, result);
    result.source = find_line(object.lines(), in_file);
    return result;
}

bool is_system_object(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const name = slash != nullptr ? slash + 1 : path;
    for (const char* prefix : {"libc.so", "libc-", "libstdc++.so", "libgcc_s.so", "libm.so",
                               "ld-linux", "libpthread", "libc++", "libhmmrt.so"})
        if (std::strncmp(name, prefix, std::strlen(prefix)) == 0) return true;
    return false;
}

} // namespace hmmrt
