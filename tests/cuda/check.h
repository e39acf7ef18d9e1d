/* SPDX-License-Identifier: MIT */
/* Results of a CUDA program in TAP. */
#ifndef HMM_TESTS_CUDA_CHECK_H
#define HMM_TESTS_CUDA_CHECK_H

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

inline int checks_done = 0, checks_failed = 0;

inline void check(bool good, const char* name) {
    checks_done++;
    if (!good) checks_failed++;
    printf("%s %d %s\n", good ? "ok" : "not ok", checks_done, name);
    fflush(stdout);
}

/* Waits for the device. */
inline bool device_is_well() {
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) printf("# %s\n", cudaGetErrorString(error));
    return error == cudaSuccess;
}

/* Compares @count elements, and prints the first mismatch. */
template <class T>
bool same(const T* found, const T* wanted, int count) {
    for (int i = 0; i < count; i++)
        if (found[i] != wanted[i]) {
            printf("# element %d is %g instead of %g\n", i, double(found[i]), double(wanted[i]));
            return false;
        }
    return true;
}

template <class T>
T* managed(int count) {
    T* memory = nullptr;
    if (cudaMallocManaged(&memory, count * sizeof(T)) != cudaSuccess) exit(1);
    for (int i = 0; i < count; i++)
        memory[i] = T();
    return memory;
}

/* Runs a kernel with one block, and compares what its threads wrote. */
template <class Kernel, class Wanted>
void compare(Kernel kernel, int threads, Wanted wanted, const char* name) {
    unsigned int* out = managed<unsigned int>(threads);
    std::vector<unsigned int> expected(threads);
    for (int t = 0; t < threads; t++)
        expected[t] = wanted(t);
    kernel<<<1, threads>>>(out);
    check(device_is_well() && same(out, expected.data(), threads), name);
    cudaFree(out);
}

/* Runs a command that must succeed, and checks that its output contains the text. */
inline bool says(const std::string& command, const char* text) {
    FILE* const output = popen((command + " 2>&1").c_str(), "r");
    if (output == nullptr) return false;
    std::string all;
    for (char line[512]; fgets(line, sizeof(line), output) != nullptr;) {
        printf("# %s", line);
        all += line;
    }
    return pclose(output) == 0 && all.find(text) != std::string::npos;
}

inline int end_checks() {
    printf("1..%d\n", checks_done);
    return checks_failed == 0 ? 0 : 1;
}

#endif /* HMM_TESTS_CUDA_CHECK_H */
