// SPDX-License-Identifier: MIT
#include "observed.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <fcntl.h>
#include <span>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t page = 4096, bytes = 4 << 20;

/// Pages move to both devices, some of them back, and some get duplicates.
void use_devices(std::span<unsigned char> memory) {
    std::memset(memory.data(), 1, memory.size());
    const auto first = memory.first(bytes / 2), second = memory.last(bytes / 2);
    hmm::parallel_for(first, [](unsigned char& value) { value++; });
    hmm::advise(second, hmm::read_mostly);
    hmm::prefetch(second, hmm::device(0));
    hmm::synchronize();
    const hmm::scoped_device other(hmm::device(1));
    hmm::parallel_for(first.first(bytes / 4), [](unsigned char& value) { value++; });
    memory[0]++;
}

own_words describe() {
    own_words words = {};
    for (int i = 0; i < 2; i++) {
        const hmm::scoped_device on(hmm::device{i});
        words.stats[i] = hmm::stats();
        words.used_bytes[i] = hmm::quota(hmm::device(i)).get().used;
    }
    return words;
}

} // namespace

int run_observed() {
    const auto memory = hmm::managed_memory<unsigned char>(bytes);
    use_devices(memory.get());
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        if (byte == 'u') use_devices(memory.get());
        const own_words words = describe();
        if (write(STDOUT_FILENO, &words, sizeof(words)) != sizeof(words)) return 1;
    }
    return 0;
}

int run_counted() {
    const auto memory = hmm::managed_memory<unsigned char>(bytes);
    use_devices(memory.get());
    const own_words words = describe();
    _exit(write(STDOUT_FILENO, &words, sizeof(words)) == sizeof(words) ? 0 : 1);
}

observed::observed() {
    int to[2], from[2];
    EXPECT_EQ(pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execl("/proc/self/exe", "observed", "--observed", nullptr);
        _exit(1);
    }
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = from[0];
    ask();
}

own_words observed::send(char wish) const {
    own_words words = {};
    EXPECT_EQ(write(to_, &wish, 1), 1);
    EXPECT_EQ(read(from_, &words, sizeof(words)), static_cast<ssize_t>(sizeof(words)));
    return words;
}

observed::~observed() {
    close(to_);
    close(from_);
    int status = -1;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0);
}
