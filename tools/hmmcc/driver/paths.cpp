// SPDX-License-Identifier: MIT
#include "paths.hpp"

namespace hmmcc {

tool_paths find_paths() {
    return {HMMCC_CLANG,        HMMCC_CLANG_HEADERS, HMMCC_PLUGIN,
            HMMCC_CUDA_HEADERS, HMMCC_CUDA_LIBRARY,  HMMCC_RUNTIME_LIBRARY};
}

} // namespace hmmcc
