// SPDX-License-Identifier: MIT
/*
 * Counts words in a mapped file. The device faults in the pages of the file as
 * it accesses them, directly from the page cache.
 *
 *     wordcount FILE
 */
#include <hmm/hmm.hpp>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

std::string_view map_file(const char* path) {
    struct stat status;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == 0) return {};
    const auto size = static_cast<std::size_t>(status.st_size);
    void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    return data == MAP_FAILED ? std::string_view()
                              : std::string_view(static_cast<char*>(data), size);
}

bool is_space(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

/// Counts words that start in [begin, end), so that pieces of a file need no
/// special handling at their edges.
std::size_t count_words(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t words = 0;
    for (std::size_t i = begin; i < end; i++)
        if (!is_space(text[i]) && (i == 0 || is_space(text[i - 1]))) words++;
    return words;
}

} // namespace

int main(int argc, char** argv) try {
    const std::string_view text = argc == 2 ? map_file(argv[1]) : std::string_view();
    if (text.empty()) {
        std::fprintf(stderr, "usage: wordcount FILE    (not empty)\n");
        return 2;
    }
    constexpr std::size_t piece = 16 << 10;
    std::atomic<std::size_t> words = 0;
    hmm::launch((text.size() + piece - 1) / piece, [&](std::size_t i) {
        words += count_words(text, i * piece, std::min(text.size(), (i + 1) * piece));
    });
    hmm::synchronize();

    const std::size_t expected = count_words(text, 0, text.size());
    std::printf("%zu words in %zu bytes, counted on the device; the CPU says %zu\n", words.load(),
                text.size(), expected);
    return words == expected ? 0 : 1;
} catch (const hmm::error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
