// SPDX-License-Identifier: MIT
// The program that hmmctl observes. It is separate from the tests and their libraries, because
// addr2line reads all of its debug information.
#include "observed.hpp"

#include <cstring>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t page = 4096, bytes = 4 << 20;

/// Memory whose pages move one by one, whatever the machine's huge page setting is.
auto managed_pages() {
    auto memory = hmm::managed_memory<unsigned char>(bytes);
    if (madvise(memory.get().data(), bytes, MADV_NOHUGEPAGE) != 0) _exit(3);
    return memory;
}

/// Pages move to both devices, some of them back, and some get duplicates.
void use_devices(std::span<unsigned char> memory) {
    const hmm::section whole("use devices");
    hmm::name(memory, "observed memory");
    std::memset(memory.data(), 1, memory.size());
    const auto first = memory.first(bytes / 2), second = memory.last(bytes / 2);
    hmm::parallel_for(first, [](unsigned char& value) { value++; });
    hmm::advise(second, hmm::read_mostly);
    hmm::prefetch(second, hmm::device(0));
    hmm::synchronize();
    const hmm::scoped_device other(hmm::device(1));
    hmm::parallel_for(first.first(bytes / 4), [](unsigned char& value) { value++; });
    hmm::synchronize();
    hmm::mark("devices were used");
    memory[0]++;
}

unsigned char* laid_out = nullptr;

void lay_out() {
    constexpr std::size_t part = 2 << 20;
    void* const at =
        mmap(nullptr, 3 * part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    // a huge page could extend beyond the written part
    if (at == MAP_FAILED || madvise(at, 3 * part, MADV_NOHUGEPAGE) != 0) _exit(3);
    laid_out = static_cast<unsigned char*>(at);
    std::memset(laid_out, 1, 2 * part);
    hmm::prefetch(std::span(laid_out, part), hmm::device(0));
    hmm::advise(std::span(laid_out + 2 * part, part), hmm::preferred(hmm::device(1)));
    hmm::synchronize();
}

own_words describe() {
    own_words words = {};
    words.laid_out = reinterpret_cast<std::uintptr_t>(laid_out);
    for (int i = 0; i < 2; i++) {
        const hmm::scoped_device on(hmm::device{i});
        words.stats[i] = hmm::stats();
        words.used_bytes[i] = hmm::quota(hmm::device(i)).get().used;
    }
    return words;
}

/// Answers each byte of standard input until its end.
int run_observed() {
    const auto memory = managed_pages();
    use_devices(memory.get());
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        if (byte == 'u') use_devices(memory.get());
        if (byte == 'l') lay_out();
        const own_words words = describe();
        if (write(STDOUT_FILENO, &words, sizeof(words)) != sizeof(words)) return 1;
    }
    return 0;
}

/// Uses the devices, writes own_words, and exits at once, so that the report covers all that it
/// did.
int run_counted() {
    const auto memory = managed_pages();
    use_devices(memory.get());
    const own_words words = describe();
    _exit(write(STDOUT_FILENO, &words, sizeof(words)) == sizeof(words) ? 0 : 1);
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--observed") == 0) return run_observed();
    if (argc == 2 && std::strcmp(argv[1], "--counted") == 0) return run_counted();
    return 2;
}
