// SPDX-License-Identifier: MIT
#include "intervals.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace hmmctl {

void print_now(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
        throw failure(fmt::format("cannot write the result: {}", std::strerror(errno)));
}

} // namespace hmmctl
