// SPDX-License-Identifier: MIT
// hmmcc: builds programs from CUDA source for hmmrt.
#include "build.hpp"

#include <exception>
#include <iostream>

int main(int count, char** arguments) {
    try {
        const hmmcc::options wanted =
            hmmcc::parse_options(hmmcc::words(arguments + 1, arguments + count));
        if (wanted.help) {
            std::cout << hmmcc::help_text;
            return 0;
        }
        if (wanted.version) {
            std::cout << "hmmcc " HMMCC_VERSION " with clang " HMMCC_CLANG_VERSION "\n";
            return 0;
        }
        return hmmcc::build(wanted, hmmcc::find_paths());
    } catch (const hmmcc::usage_error& error) {
        std::cerr << "hmmcc: error: " << error.what() << "\n";
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "hmmcc: error: " << error.what() << "\n";
        return 1;
    }
}
