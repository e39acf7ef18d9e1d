// SPDX-License-Identifier: MIT
#include "required_processor.hpp"

#include <cstdio>
#include <cstdlib>

namespace hmmcuda {
namespace {

const char* missing_of_v2() {
    if (!__builtin_cpu_supports("ssse3")) return "SSSE3";
    if (!__builtin_cpu_supports("sse4.2")) return "SSE4.2";
    if (!__builtin_cpu_supports("popcnt")) return "POPCNT";
    return nullptr;
}

const char* missing_of_v3() {
    if (!__builtin_cpu_supports("avx2")) return "AVX2";
    if (!__builtin_cpu_supports("fma")) return "FMA";
    if (!__builtin_cpu_supports("bmi")) return "BMI1";
    if (!__builtin_cpu_supports("bmi2")) return "BMI2";
    return nullptr;
}

const char* missing_of_v4() {
    if (!__builtin_cpu_supports("avx512f")) return "AVX512F";
    if (!__builtin_cpu_supports("avx512bw")) return "AVX512BW";
    if (!__builtin_cpu_supports("avx512cd")) return "AVX512CD";
    if (!__builtin_cpu_supports("avx512dq")) return "AVX512DQ";
    if (!__builtin_cpu_supports("avx512vl")) return "AVX512VL";
    return nullptr;
}

} // namespace

const char* missing_feature(std::string_view architecture) {
    constexpr std::string_view levels = "x86-64-v";
    if (!architecture.starts_with(levels) || architecture.size() != levels.size() + 1)
        return nullptr;
    const char level = architecture.back();
    const char* missing = nullptr;
    if (level >= '2') missing = missing_of_v2();
    if (missing == nullptr && level >= '3') missing = missing_of_v3();
    if (missing == nullptr && level >= '4') missing = missing_of_v4();
    return missing;
}

void require_processor(const char* architecture) {
    __builtin_cpu_init(); // needed because this runs before constructors
    const char* const missing = missing_feature(architecture);
    if (missing == nullptr) return;
    std::fprintf(stderr,
                 "hmmcuda: the device code of this program needs %s, but this processor lacks %s: "
                 "compile it with hmmcc -march=x86-64\n",
                 architecture, missing);
    std::exit(EXIT_FAILURE);
}

} // namespace hmmcuda
