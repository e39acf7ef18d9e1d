// SPDX-License-Identifier: MIT
/*
 * Compares migration by faults with a prefetch, over 64 MiB of floats.
 *
 *     storm [FOLDER]    also writes FOLDER/storm.svg
 */
#include "chart.hpp"

#include <hmm/hmm.hpp>

#include <chrono>

namespace {

constexpr std::size_t count = 16 << 20;
constexpr int repetitions = 5;

[[gnu::noinline]] void scale(float* data) {
    for (std::size_t i = 0; i < count; i++)
        data[i] = data[i] * 2 + 1;
}

void scale_on_device(float* data) {
    // use one lane, to compare with one CPU
    hmm::launch(1, [=](std::size_t) { scale(data); });
    hmm::synchronize();
}

void move_to_device(std::vector<float>& memory) {
    hmm::prefetch(std::span(memory), hmm::device(0));
    hmm::synchronize();
}

template <class Function>
double milliseconds(Function f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return time.count();
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<double> cpu, cold, warm, back, prefetched;
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();
    for (int i = 0; i < repetitions; i++) {
        std::vector<float> faulted(count, 1.0f), moved(count, 1.0f);
        cpu.push_back(milliseconds([&] { scale(faulted.data()); }));
        cold.push_back(milliseconds([&] { scale_on_device(faulted.data()); }));
        warm.push_back(milliseconds([&] { scale_on_device(faulted.data()); }));
        back.push_back(milliseconds([&] { scale(faulted.data()); }));
        prefetched.push_back(milliseconds([&] {
            move_to_device(moved);
            scale_on_device(moved.data());
        }));
    }

    const std::vector<chart::bar> bars = {
        {"CPU loop", chart::median(cpu), ""},
        {"device, warm", chart::median(warm), "pages are there"},
        {"device, cold", chart::median(cold), "all pages by device faults"},
        {"device, prefetch + loop", chart::median(prefetched), "moved beforehand"},
        {"CPU loop, reading back", chart::median(back), "all pages by CPU faults"},
    };
    chart::print(bars);
    if (argc < 2) return 0;
    const std::string path = std::string(argv[1]) + "/storm.svg";
    if (!chart::write_svg(path, "64 MiB of floats, one pass", bars)) throw std::runtime_error(path);
    std::printf("written: %s\n", path.c_str());
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
