// SPDX-License-Identifier: MIT
#include "observed.hpp"

#include "lib/spawn.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

observed::observed() {
    int to[2], from[2];
    EXPECT_EQ(pipe2(to, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from, O_CLOEXEC), 0);
    pid_ = tools::start({OBSERVED, "--observed"}, {.in = to[0], .out = from[1]});
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
