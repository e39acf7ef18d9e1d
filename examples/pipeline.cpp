// SPDX-License-Identifier: MIT
/*
 * Prepares chunks on the CPU and computes them on the device, one after the
 * other and as a pipeline: while the device computes a chunk, the CPU prepares
 * the next one.
 *
 * The device computes on the machine's own processors. The pipeline is faster
 * because one lane leaves the other processors to the CPU. A launch on all lanes
 * or a second stream wouldn't help, because they share the processors.
 *
 *     pipeline [FOLDER]    also writes FOLDER/pipeline.svg
 */
#include "chart.hpp"

#include <hmm/hmm.hpp>

#include <array>
#include <chrono>
#include <cstdint>

namespace {

constexpr std::size_t chunk_items = 1 << 18;
constexpr int chunks = 16;
constexpr int repetitions = 5;

struct chunk {
    std::vector<std::uint64_t> data = std::vector<std::uint64_t>(chunk_items);
    std::uint64_t result = 0;
    hmm::event done;
};

std::uint64_t mix(std::uint64_t value) {
    for (int i = 0; i < 24; i++)
        value = (value ^ value >> 31) * 0x9e3779b97f4a7c15;
    return value;
}

void prepare(chunk& to, int number) {
    for (std::size_t i = 0; i < chunk_items; i++)
        to.data[i] = mix(i + static_cast<std::size_t>(number) * chunk_items);
}

// Only writes the result once, because it shares a page with the stack, which the CPU uses.
void compute(chunk& from) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : from.data)
        sum += mix(value);
    from.result = sum;
}

struct outcome {
    double milliseconds;
    std::uint64_t sum;
};

outcome run(bool pipelined) {
    std::array<chunk, 2> buffers;
    const hmm::stream stream;
    std::uint64_t sum = 0;

    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < chunks; i++) {
        chunk& next = buffers[static_cast<std::size_t>(i) % buffers.size()];
        next.done.synchronize(); // wait for the last launch that used this buffer
        sum += next.result;
        prepare(next, i);
        hmm::launch(stream, 1, [&next](std::size_t) { compute(next); });
        stream.record(next.done);
        if (!pipelined) stream.synchronize();
    }
    stream.synchronize();
    for (const chunk& last : buffers)
        sum += last.result;
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    return {time.count(), sum};
}

} // namespace

int main(int argc, char** argv) try {
    std::vector<double> serial, pipelined;
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();
    for (int i = 0; i < repetitions; i++) {
        const outcome one_by_one = run(false), overlapping = run(true);
        serial.push_back(one_by_one.milliseconds);
        pipelined.push_back(overlapping.milliseconds);
        if (one_by_one.sum != overlapping.sum) throw std::runtime_error("the results differ");
    }

    const std::vector<chart::bar> bars = {
        {"one after the other", chart::median(serial), "CPU or device works"},
        {"pipeline", chart::median(pipelined), "both work"},
    };
    chart::print(bars);
    if (argc < 2) return 0;
    const std::string path = std::string(argv[1]) + "/pipeline.svg";
    if (!chart::write_svg(path, "16 chunks prepared by the CPU, computed by the device", bars))
        throw std::runtime_error(path);
    std::printf("written: %s\n", path.c_str());
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
