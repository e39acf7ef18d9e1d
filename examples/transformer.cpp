// SPDX-License-Identifier: MIT
/*
 * Inference of a small transformer. Its weights come from a file, and may be
 * larger than device memory. Each token needs all weights once, layer by layer.
 *
 * Pages of a mapped file stay in system memory, and the device reads them
 * there. To get weights into device memory, the program reads the file into
 * anonymous memory, which can migrate and is evicted when the device is full.
 *
 *     transformer [DEVICE-MEMORY [RATIO...]]
 *
 * DEVICE-MEMORY is how much device memory the program may use, such as 16M, or
 * all. Each RATIO is the size of the weights in units of it.
 */
#include <hmm/hmm.hpp>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t width = 256, heads = 4, hidden = 4 * width, words = 256, tokens = 4;
constexpr std::size_t head_width = width / heads;

/// The weights of a layer, as they are in the file.
struct layer {
    float query[width][width], key[width][width], value[width][width], out[width][width];
    float up[hidden][width], down[width][hidden];
    float norm_attention[width], norm_hidden[width];
};

/// The start of the file; the layers follow.
struct embedding {
    float word[words][width];
    float position[tokens][width];
    float norm[width];
};

// ---- the weights file

/// Pseudo-random numbers that depend on the seed and the position only.
class generator {
  public:
    float next() {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        // 24 bits fit a float exactly
        return (static_cast<float>(state_ >> 40) / (1 << 23) - 1.0f) / 16.0f;
    }

  private:
    std::uint64_t state_ = 42;
};

std::size_t file_bytes(std::size_t layers) {
    return sizeof(embedding) + layers * sizeof(layer);
}

void write_all(int fd, const void* data, std::size_t bytes) {
    if (write(fd, data, bytes) != static_cast<ssize_t>(bytes))
        throw std::runtime_error("cannot write the weights");
}

/// An unnamed temporary file, which disappears when the program ends.
class weights_file {
  public:
    explicit weights_file(std::size_t layers) : layers_(layers) {
        std::string path = std::filesystem::temp_directory_path() / "weights.XXXXXX";
        fd_ = mkostemp(path.data(), O_CLOEXEC);
        if (fd_ < 0) throw std::runtime_error("cannot create " + path);
        unlink(path.c_str());
        try {
            fill();
        } catch (...) {
            close(fd_);
            throw;
        }
    }
    weights_file(const weights_file&) = delete;
    weights_file& operator=(const weights_file&) = delete;
    ~weights_file() { close(fd_); }

    std::size_t layers() const { return layers_; }
    int descriptor() const { return fd_; }

  private:
    void fill() const {
        generator random;
        std::vector<float> part;
        for (std::size_t i = 0; i <= layers_; i++) {
            part.resize((i == 0 ? sizeof(embedding) : sizeof(layer)) / sizeof(float));
            std::generate(part.begin(), part.end(), [&] { return random.next(); });
            write_all(fd_, part.data(), part.size() * sizeof(float));
        }
    }

    std::size_t layers_;
    int fd_ = -1;
};

/// The weights: either the mapped file, or a copy in memory that can migrate.
class weights {
  public:
    weights(const weights_file& file, bool copied) : layers_(file.layers()) {
        const std::size_t bytes = file_bytes(layers_);
        map_ = copied ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                             -1, 0)
                      : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
        if (map_ == MAP_FAILED) throw std::runtime_error("cannot map the weights");
        if (!copied || read_all(file.descriptor(), bytes)) return;
        munmap(map_, bytes);
        throw std::runtime_error("cannot read the weights");
    }
    weights(const weights&) = delete;
    weights& operator=(const weights&) = delete;
    ~weights() { munmap(map_, file_bytes(layers_)); }

    const embedding& words() const { return *reinterpret_cast<const embedding*>(data()); }
    std::span<const layer> layers() const {
        return {reinterpret_cast<const layer*>(data() + sizeof(embedding)), layers_};
    }

  private:
    const char* data() const { return static_cast<const char*>(map_); }
    bool read_all(int fd, std::size_t bytes) const {
        std::size_t done = 0;
        while (done < bytes) {
            const ssize_t part =
                pread(fd, static_cast<char*>(map_) + done, bytes - done, static_cast<off_t>(done));
            if (part <= 0) return false;
            done += static_cast<std::size_t>(part);
        }
        return true;
    }

    std::size_t layers_;
    void* map_;
};

// ---- functions that both the CPU and the device call; each computes one output

using vector4 = float __attribute__((vector_size(16)));

[[gnu::noinline]] float dot(const float* left, const float* right, std::size_t n) {
    vector4 sum[2] = {};
    for (std::size_t i = 0; i < n; i += 8) {
        vector4 a[2], b[2];
        std::memcpy(a, left + i, sizeof(a));
        std::memcpy(b, right + i, sizeof(b));
        sum[0] += a[0] * b[0];
        sum[1] += a[1] * b[1];
    }
    const vector4 all = sum[0] + sum[1];
    return all[0] + all[1] + all[2] + all[3];
}

/// The state of a token on its way through the layers; `memory` has the keys and
/// values of all tokens so far.
struct activations {
    float stream[width], normal[width], query[width], mixed[width], inner[hidden];
    float score[words];
};

struct memory {
    float key[tokens][width], value[tokens][width];
};

[[gnu::noinline]] void normalise(const float* from, const float* scale, float* to) {
    float mean = 0, square = 0;
    for (std::size_t i = 0; i < width; i++)
        mean += from[i] / width;
    for (std::size_t i = 0; i < width; i++)
        square += (from[i] - mean) * (from[i] - mean) / width;
    const float factor = 1 / std::sqrt(square + 1e-5f);
    for (std::size_t i = 0; i < width; i++)
        to[i] = (from[i] - mean) * factor * (1 + scale[i]);
}

[[gnu::noinline]] void project(const layer& by, activations& of, memory& past, std::size_t position,
                               std::size_t i) {
    of.query[i] = dot(by.query[i], of.normal, width);
    past.key[position][i] = dot(by.key[i], of.normal, width);
    past.value[position][i] = dot(by.value[i], of.normal, width);
}

[[gnu::noinline]] void attend(activations& of, const memory& past, std::size_t position,
                              std::size_t head) {
    const std::size_t first = head * head_width;
    float weight[tokens], total = 0;
    for (std::size_t t = 0; t <= position; t++) {
        const float match = dot(of.query + first, past.key[t] + first, head_width);
        weight[t] = std::exp(match / std::sqrt(static_cast<float>(head_width)));
        total += weight[t];
    }
    for (std::size_t i = first; i < first + head_width; i++) {
        of.mixed[i] = 0;
        for (std::size_t t = 0; t <= position; t++)
            of.mixed[i] += weight[t] / total * past.value[t][i];
    }
}

[[gnu::noinline]] float gelu(float x) {
    return 0.5f * x * (1 + std::tanh(0.7978846f * (x + 0.044715f * x * x * x)));
}

// ---- a token passes through the layers

/// Place::each(n, f) runs f(i) for i in [0, n), on the CPU or queued on the
/// device.
template <class Place>
void run_layer(Place& where, const layer& by, activations& of, memory& past, std::size_t position) {
    where.each(1, [&](std::size_t) { normalise(of.stream, by.norm_attention, of.normal); });
    where.each(width, [&, position](std::size_t i) { project(by, of, past, position, i); });
    where.each(heads, [&, position](std::size_t head) { attend(of, past, position, head); });
    where.each(width, [&](std::size_t i) { of.stream[i] += dot(by.out[i], of.mixed, width); });
    where.each(1, [&](std::size_t) { normalise(of.stream, by.norm_hidden, of.normal); });
    where.each(hidden, [&](std::size_t i) { of.inner[i] = gelu(dot(by.up[i], of.normal, width)); });
    where.each(width, [&](std::size_t i) { of.stream[i] += dot(by.down[i], of.inner, hidden); });
}

struct result {
    std::vector<std::size_t> sentence;
    std::vector<float> scores; ///< of each word, for each token
};

bool equal(const result& left, const result& right) {
    return left.sentence == right.sentence && left.scores.size() == right.scores.size() &&
           std::memcmp(left.scores.data(), right.scores.data(),
                       left.scores.size() * sizeof(float)) == 0;
}

template <class Place>
void infer_token(Place& where, const weights& model, activations& of, std::vector<memory>& past,
                 std::size_t word, std::size_t position) {
    const auto layers = model.layers();
    const embedding& table = model.words();
    where.each(width, [&, position, word](std::size_t i) {
        of.stream[i] = table.word[word][i] + table.position[position][i];
    });
    for (std::size_t i = 0; i < layers.size(); i++) {
        where.begin_layer(layers, i);
        run_layer(where, layers[i], of, past[i], position);
        where.end_layer(i);
    }
    where.each(1, [&](std::size_t) { normalise(of.stream, table.norm, of.normal); });
    where.each(words, [&](std::size_t i) { of.score[i] = dot(table.word[i], of.normal, width); });
    where.finish();
}

template <class Place>
result infer(Place& where, const weights& model) {
    const auto of = std::make_unique<activations>();
    std::vector<memory> past(model.layers().size());
    result said = {{1}, {}};
    try {
        for (std::size_t t = 0; t < tokens; t++) {
            infer_token(where, model, *of, past, said.sentence.back(), t);
            said.scores.insert(said.scores.end(), of->score, of->score + words);
            const auto best = std::max_element(of->score, of->score + words);
            said.sentence.push_back(static_cast<std::size_t>(best - of->score));
        }
    } catch (...) {
        hmmDeviceSynchronize(); // queued work may still use memory that we are about to free
        throw;
    }
    return said;
}

// ---- the places

class on_cpu {
  public:
    template <class Function>
    void each(std::size_t n, Function f) {
        for (std::size_t i = 0; i < n; i++)
            f(i);
    }
    void begin_layer(std::span<const layer>, std::size_t) {}
    void end_layer(std::size_t) {}
    void finish() {}
};

/// Pages move when the device touches them.
class lazy {
  public:
    template <class Function>
    void each(std::size_t n, Function f) {
        hmm::launch(work_, n, f);
    }
    void begin_layer(std::span<const layer>, std::size_t) {}
    void end_layer(std::size_t) {}
    void finish() { work_.synchronize(); }

  protected:
    hmm::stream work_{hmmStreamNonBlocking};
};

/// While the device computes a layer, we prefetch the next one.
class prefetched : public lazy {
  public:
    void begin_layer(std::span<const layer> layers, std::size_t i) {
        if (i == 0) bring(layers, 0);
        work_.wait(there_[i % 2]);
        if (i + 1 < layers.size()) bring(layers, i + 1);
    }
    void end_layer(std::size_t i) { work_.record(done_[i % 2]); }

  private:
    /// Layer i replaces layer i - 2, which must have finished.
    void bring(std::span<const layer> layers, std::size_t i) {
        ahead_.wait(done_[i % 2]);
        hmm::prefetch(layers.subspan(i, 1), hmm::device(0), ahead_);
        ahead_.record(there_[i % 2]);
    }

    hmm::stream ahead_{hmmStreamNonBlocking};
    hmm::event there_[2], done_[2];
};

/// Keeps layers in three quarters of device memory, and leaves the rest to the
/// program's other memory. The device reads the other layers in system memory.
class advised : public lazy {
  public:
    advised(std::span<const layer> layers, std::size_t device_bytes) {
        const std::size_t fit = std::min(device_bytes * 3 / 4 / sizeof(layer), layers.size());
        if (fit < layers.size()) hmm::advise(layers.subspan(fit), hmm::accessed_by(hmm::device(0)));
        hmm::advise(layers.first(fit), hmm::preferred(hmm::device(0)));
        hmm::prefetch(layers.first(fit), hmm::device(0), work_);
    }
};

// ---- comparison

bool moves_pages() {
    return hmm::device(0).properties().pageableMemoryAccessUsesHostPageTables == 0;
}

void require(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

double mib(std::uint64_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

double mib_of_pages(std::uint64_t pages) {
    return mib(pages * 4096);
}

struct moved {
    std::uint64_t to_device, to_host, evicted; ///< pages
};

template <class Make>
moved measure(const char* label, const weights_file& file, bool copied, const result& expected,
              Make make) {
    const weights model(file, copied);
    const hmmStats before = hmm::stats();
    const auto start = std::chrono::steady_clock::now();
    auto where = make(model);
    const result found = infer(where, model);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    const hmmStats after = hmm::stats();
    const moved pages = {after.pagesToDevice - before.pagesToDevice,
                         after.pagesToHost - before.pagesToHost,
                         after.pagesEvicted - before.pagesEvicted};
    std::printf("%-24s %9.1f ms %8lu %9.1f MiB %9.1f MiB %9.1f MiB\n", label, time.count(),
                static_cast<unsigned long>(after.deviceFaults - before.deviceFaults),
                mib_of_pages(pages.to_device), mib_of_pages(pages.to_host),
                mib_of_pages(pages.evicted));
    require(equal(found, expected), "the results differ from those of the CPU");
    return pages;
}

result measure_cpu(const weights_file& file) {
    const weights model(file, true);
    on_cpu cpu;
    const auto start = std::chrono::steady_clock::now();
    result found = infer(cpu, model);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::printf("%-24s %9.1f ms\n", "CPU, one thread", time.count());
    return found;
}

void compare(double ratio, std::size_t device_bytes) {
    const auto layers = static_cast<std::size_t>(
        std::max(ratio * static_cast<double>(device_bytes) / sizeof(layer) + 0.5, 1.0));
    const weights_file file(layers);
    const auto weight = static_cast<double>(file_bytes(layers));
    std::printf("%.1f MiB of weights in %zu layers, %.2f times device memory (%.0f MiB)\n",
                mib(file_bytes(layers)), layers, weight / static_cast<double>(device_bytes),
                mib(device_bytes));
    std::printf("%-24s %12s %8s %13s %13s %13s\n", "", "time", "faults", "to device", "to host",
                "evicted");
    const result expected = measure_cpu(file);
    measure("mapped file, in place", file, false, expected, [](const weights&) { return lazy(); });
    const moved by_faults =
        measure("memory, lazy", file, true, expected, [](const weights&) { return lazy(); });
    const moved ahead = measure("memory, prefetched", file, true, expected,
                                [](const weights&) { return prefetched(); });
    const moved kept = measure("memory, advised", file, true, expected, [&](const weights& model) {
        return advised(model.layers(), device_bytes);
    });
    if (!moves_pages()) return;
    require(by_faults.to_device > 0 && ahead.to_device > 0 && kept.to_device > 0,
            "no weights have moved");
    require(weight < static_cast<double>(device_bytes) || ahead.evicted > 0,
            "a prefetch of weights that do not fit evicted none");
    require(kept.to_device < layers * sizeof(layer) / 4096 + 1024, "advice did not keep layers");
}

[[noreturn]] void usage() {
    throw std::invalid_argument("usage: transformer [DEVICE-MEMORY [RATIO...]]");
}

/// Returns 0 for "all".
std::size_t bytes_of(const std::string& text) {
    if (text == "all") return 0;
    std::size_t end = 0;
    const std::size_t bytes = std::isdigit(text[0]) ? std::stoul(text, &end) << 20 : 0;
    if (bytes == 0 || text.substr(end) != "M") usage();
    return bytes;
}

/// Limits how much device memory this program may use, unless @bytes is 0.
/// Returns how much it may use.
std::size_t limit_device(std::size_t bytes) {
    if (bytes == 0) return hmm::device(0).memory().total;
    hmm::quota(hmm::device(0)).set(bytes, hmmQuotaPriorityDefault);
    return bytes;
}

double ratio_of(const std::string& text) {
    std::size_t end = 0;
    const double ratio = std::isdigit(text[0]) ? std::stod(text, &end) : 0;
    if (end != text.size() || !(ratio > 0)) usage();
    return ratio;
}

} // namespace

int main(int argc, char** argv) try {
    const std::size_t limit = bytes_of(argc > 1 ? argv[1] : "16M");
    std::vector<double> ratios = {0.5, 0.9, 1.5, 4};
    if (argc > 2) ratios.clear();
    for (int i = 2; i < argc; i++)
        ratios.push_back(ratio_of(argv[i]));
    hmm::launch(1, [](std::size_t) {}); // starts the device
    hmm::synchronize();
    const std::size_t bytes = limit_device(limit);
    for (const double ratio : ratios)
        compare(ratio, bytes);
    std::printf("the results are equal to the CPU's bit by bit\n");
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
