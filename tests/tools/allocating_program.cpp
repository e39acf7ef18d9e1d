// SPDX-License-Identifier: MIT
// Allocates, and prints a line for each step, KIND ADDRESS BYTES, so that a test can compare them
// with the preloaded library's records.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t large = 1 << 20, small = 32 << 10;

void say(const char* kind, const void* addr, std::size_t bytes) {
    std::printf("%s %zx %zx\n", kind, reinterpret_cast<std::size_t>(addr), bytes);
}

void* said(void* addr, std::size_t bytes) {
    say("allocated", addr, bytes);
    return addr;
}

[[gnu::noinline]] void* allocate_here(std::size_t bytes) {
    void* const memory = std::malloc(bytes);
    std::memset(memory, 1, 1);
    return memory;
}

void release(void* memory) {
    say("freed", memory, malloc_usable_size(memory));
    std::free(memory);
}

void use_heap() {
    say("code", reinterpret_cast<void*>(&allocate_here), 64);
    release(said(allocate_here(large), large));
    void* memory = said(std::calloc(16, large / 16), large);
    say("freed", memory, malloc_usable_size(memory));
    memory = said(std::realloc(memory, 8 * large), 8 * large);
    say("freed", memory, malloc_usable_size(memory));
    memory = said(reallocarray(memory, 2, large), 2 * large);
    release(memory);
    void* aligned = nullptr;
    if (posix_memalign(&aligned, 4096, large) != 0) std::abort();
    release(said(aligned, large));
    release(said(std::aligned_alloc(4096, large), large));
    release(said(memalign(4096, large), large));
    release(said(valloc(large), large));
    char* const text = new char[large];
    release(said(text, large));
}

void fail_to_reallocate() {
    void* const memory = said(std::malloc(large), large);
    const std::size_t usable = malloc_usable_size(memory);
    say("freed", memory, usable);
    volatile std::size_t too_much = SIZE_MAX / 2;
    if (std::realloc(memory, too_much) != nullptr) std::abort();
    say("allocated", memory, usable);
    release(memory);
}

void use_mappings() {
    void* const first =
        mmap(nullptr, 2 * large, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    say("mapped", first, 2 * large);
    say("unmapped", first, 2 * large);
    void* const second = mremap(first, 2 * large, 4 * large, MREMAP_MAYMOVE);
    say("mapped", second, 4 * large);
    say("unmapped", second, large);
    munmap(second, large);
}

void use_small() {
    std::free(std::malloc(small));
    void* const at = mmap(nullptr, small, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(at, small);
    if (mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) std::abort();
}

/// The program isn't linked with libhmmrt, so only a preloaded library has the function.
void use_runtime() {
    void* const memory = reinterpret_cast<void*>(std::intptr_t{0x10000});
    say("freed", memory, SIZE_MAX);
    using function = int (*)(void*);
    if (const auto free = reinterpret_cast<function>(dlsym(RTLD_DEFAULT, "hmmFree"))) free(memory);
}

void use_threads() {
    std::vector<std::thread> all;
    for (int i = 0; i < 4; i++)
        all.emplace_back([] {
            for (int round = 0; round < 200; round++)
                std::free(allocate_here(large));
        });
    for (std::thread& one : all)
        one.join();
}

void use_fork() {
    void* const memory = said(allocate_here(large), large);
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        say("fork", reinterpret_cast<void*>(static_cast<std::intptr_t>(getppid())), 0);
        release(memory);
        std::fflush(stdout);
        _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) std::abort();
    release(memory);
}

int use_exec(const char* self) {
    said(allocate_here(large), large);
    std::fflush(stdout);
    execl(self, self, "small", nullptr);
    return 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    const auto is = [&](const char* what) { return std::strcmp(argv[1], what) == 0; };
    if (is("heap")) use_heap();
    if (is("failure")) fail_to_reallocate();
    if (is("mappings")) use_mappings();
    if (is("small")) use_small();
    if (is("runtime")) use_runtime();
    if (is("threads")) use_threads();
    if (is("fork")) use_fork();
    if (is("exec")) return use_exec(argv[0]);
    if (is("shell")) return std::system("exec 1>&2; true & exec cat /dev/null");
    return 0;
}
