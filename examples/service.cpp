// SPDX-License-Identifier: MIT
/*
 * Eight services share a device, each in its own process. Each needs a lot of
 * memory in one of four phases and little in the others. Device memory grows
 * with use, so all of them run although the sum of their peaks is twice the
 * size of the device. If each reserves its peak, most are refused.
 *
 *     service    on a device of at least 64 MiB that has no other users
 *
 * Uses the calls of GMEM (hmm/gmem.h) to give memory back between phases.
 */
#include <hmm/gmem.h>
#include <hmm/hmm.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <span>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

extern char** environ;

namespace {

constexpr int services = 8, phases = 4;

/// Bytes that a service needs in a phase.
std::size_t need(std::size_t device_bytes, int service, int phase) {
    return device_bytes / (service % phases == phase ? 4 : 64);
}

std::size_t peak_of(std::size_t device_bytes) {
    return need(device_bytes, 0, 0);
}

bool moves_pages() {
    return hmm::device(0).properties().pageableMemoryAccessUsesHostPageTables == 0;
}

/// The size of the device. The cpu device has all of the machine's memory, which
/// would take too long to fill.
std::size_t device_bytes() {
    return moves_pages() ? hmm::device(0).memory().total : 64 << 20;
}

// ---- a service, in its own process

struct reply {
    bool admitted;
    std::uint64_t wrong; ///< number of words with a wrong value, since the start
    std::uint64_t evicted_pages;
};

/// Memory pinned on the device: allocated from the start, and never evicted.
class reservation {
  public:
    reservation(std::size_t bytes, hmm::device where)
        : range_(bytes), mapped_(range_.get().data(), hmm::physical_memory(bytes, where)) {
        mapped_.set_access(where, hmm::memory_access::read_write);
    }
    std::byte* data() const { return range_.get().data(); }

  private:
    hmm::address_range range_;
    hmm::mapping mapped_;
};

class service {
  public:
    explicit service(int number) : number_(number), device_(device_bytes()) {
        hmm::launch(1, [](std::size_t) {}); // starts the device
        hmm::synchronize();
    }

    /// Maps addresses for the peak; memory is allocated on first use.
    void map() {
        void* const memory = mmap(nullptr, peak_of(device_), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_PEER_SHARED, -1, 0);
        if (memory == MAP_FAILED) throw std::runtime_error("mmap");
        use(memory);
    }

    /// Reserves memory for the peak. Returns false if there isn't enough.
    bool reserve() {
        try {
            reserved_.emplace(peak_of(device_), hmm::device(0));
        } catch (const hmm::error& error) {
            if (error.code() != hmmErrorMemoryAllocation) throw;
            return false;
        }
        use(reserved_->data());
        return true;
    }

    /// Frees what the phase doesn't need.
    void shrink(int phase) {
        const std::size_t wanted = words_needed(phase);
        if (wanted >= used_ || reserved_.has_value()) return;
        free_behind(wanted);
        used_ = wanted;
    }

    /// The device checks the words in use, and initializes new ones.
    void work(int phase) {
        const std::size_t wanted = std::max(words_needed(phase), used_);
        std::uint64_t wrong = 0;
        hmm::launch(1, [&, words = words_, used = used_](std::size_t) {
            std::uint64_t found = 0;
            for (std::size_t i = 0; i < used; i++)
                found += words[i] != value(i);
            for (std::size_t i = used; i < wanted; i++)
                words[i] = value(i);
            wrong = found;
        });
        hmm::synchronize();
        wrong_ += wrong;
        used_ = wanted;
    }

    reply report(bool admitted) const { return {admitted, wrong_, hmm::stats().pagesEvicted}; }

  private:
    void use(void* memory) {
        words_ = {static_cast<std::uint64_t*>(memory), peak_of(device_) / sizeof(std::uint64_t)};
    }
    std::size_t words_needed(int phase) const {
        return need(device_, number_, phase) / sizeof(std::uint64_t);
    }
    std::uint64_t value(std::size_t i) const {
        return (i + 1) * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(number_);
    }
    void free_behind(std::size_t first) {
        const auto rest = words_.subspan(first);
        if (gmemFreeEager(reinterpret_cast<unsigned long>(rest.data()), rest.size_bytes(),
                          nullptr) != 0)
            throw std::runtime_error(hmmGetLastErrorDetail());
    }

    int number_;
    std::size_t device_;
    std::optional<reservation> reserved_;
    std::span<std::uint64_t> words_;
    std::size_t used_ = 0;
    std::uint64_t wrong_ = 0;
};

void answer(const reply& with) {
    if (write(STDOUT_FILENO, &with, sizeof(with)) != sizeof(with))
        throw std::runtime_error("the other end of the pipe is gone");
}

/// Reads commands from standard input: a digit is a phase to shrink to; a letter,
/// starting with 'a', is a phase to work in. End of file ends the service.
int serve(int number, bool reserves) {
    service self(number);
    if (!reserves) self.map();
    const bool admitted = !reserves || self.reserve();
    answer(self.report(admitted));
    if (!admitted) return 0;
    for (char command; read(STDIN_FILENO, &command, 1) == 1;) {
        if (command >= 'a')
            self.work(command - 'a');
        else
            self.shrink(command - '0');
        answer(self.report(true));
    }
    return 0;
}

// ---- the parent process

/// Owns a descriptor.
class descriptor {
  public:
    explicit descriptor(int fd) : fd_(fd) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    int get() const { return fd_; }
    void close() { ::close(std::exchange(fd_, -1)); }

  private:
    int fd_;
};

struct channel {
    descriptor out, in; ///< the ends to read from and to write to

    channel() : channel(make()) {}

  private:
    explicit channel(std::array<int, 2> ends) : out(ends[0]), in(ends[1]) {}
    static std::array<int, 2> make() {
        std::array<int, 2> ends = {};
        if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        return ends;
    }
};

class service_process {
  public:
    service_process(const char* program, int number, bool reserves) {
        const std::string name = std::to_string(number);
        const char* const arguments[] = {program, reserves ? "reserves" : "grows", name.c_str(),
                                         nullptr};
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, to_.out.get(), STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, from_.in.get(), STDOUT_FILENO);
        const int error = posix_spawn(&process_, "/proc/self/exe", &files, nullptr,
                                      const_cast<char* const*>(arguments), environ);
        posix_spawn_file_actions_destroy(&files);
        if (error != 0) throw std::runtime_error("posix_spawn");
        to_.out.close();
        from_.in.close();
    }
    service_process(const service_process&) = delete;
    service_process& operator=(const service_process&) = delete;
    ~service_process() {
        to_.in.close(); // end of file ends the service
        waitpid(process_, nullptr, 0);
    }

    void send(char command) const {
        if (write(to_.in.get(), &command, 1) != 1) throw std::runtime_error("a service has ended");
    }
    reply receive() const {
        reply got = {};
        if (read(from_.out.get(), &got, sizeof(got)) != sizeof(got))
            throw std::runtime_error("a service has ended");
        return got;
    }

  private:
    channel to_, from_;
    pid_t process_ = 0;
};

std::size_t bytes_in_use() {
    const hmm::device_memory now = hmm::device(0).memory();
    return now.total - now.free;
}

struct outcome {
    int completed = 0;
    std::array<std::size_t, phases> in_use = {};
    std::uint64_t wrong = 0, evicted_pages = 0;

    std::size_t peak() const { return *std::max_element(in_use.begin(), in_use.end()); }
};

using service_list = std::vector<std::unique_ptr<service_process>>;

/// Sends a command to all services, and returns the sum of their replies.
reply tell(const service_list& all, char command) {
    reply sum = {};
    for (const auto& each : all)
        each->send(command);
    for (const auto& each : all) {
        const reply got = each->receive();
        sum.wrong += got.wrong;
        sum.evicted_pages += got.evicted_pages;
    }
    return sum;
}

outcome run(const char* program, bool reserves) {
    service_list all;
    for (int number = 0; number < services; number++) {
        auto next = std::make_unique<service_process>(program, number, reserves);
        if (next->receive().admitted) all.push_back(std::move(next));
    }
    outcome result;
    for (int phase = 0; phase < phases; phase++) {
        tell(all, static_cast<char>('0' + phase));
        tell(all, static_cast<char>('a' + phase));
        result.in_use[static_cast<std::size_t>(phase)] = bytes_in_use();
    }
    // work once more to check the words that the last phase wrote
    const reply sum = tell(all, 'a' + phases - 1);
    result.wrong = sum.wrong;
    result.evicted_pages = sum.evicted_pages;
    result.completed = static_cast<int>(all.size());
    return result;
}

/// Waits, because the memory of a process is freed asynchronously after it ends.
void wait_until_free(std::size_t used_before) {
    using namespace std::chrono_literals;
    for (int i = 0; bytes_in_use() > used_before; i++) {
        if (i == 6000) throw std::runtime_error("the services left memory on the device");
        std::this_thread::sleep_for(10ms);
    }
}

double mib(std::size_t bytes) {
    return static_cast<double>(bytes) / (1 << 20);
}

void print(const char* label, const outcome& of) {
    std::printf("%-16s", label);
    for (const std::size_t each : of.in_use)
        std::printf(" %8.1f", mib(each));
    std::printf(" %8.1f %6d of %d %9lu\n", mib(of.peak()), of.completed, services,
                static_cast<unsigned long>(of.evicted_pages));
}

void require(bool condition, const char* what) {
    if (!condition) throw std::runtime_error(what);
}

outcome run_without_reservations(const char* program) {
    const outcome result = run(program, false);
    require(result.wrong == 0, "a service computed something else");
    require(result.completed == services, "a service was refused");
    return result;
}

void compare(const char* program) {
    const std::size_t all = device_bytes(), before = bytes_in_use();
    if (!moves_pages()) {
        run_without_reservations(program);
        std::printf("%d services completed; this device has no memory of its own\n", services);
        return;
    }
    std::printf("%d services on a device with %.0f MiB; the sum of their peaks is %.0f MiB\n",
                services, mib(all), mib(services * peak_of(all)));
    std::printf("%-16s %8s %8s %8s %8s %8s %11s %9s\n", "MiB in use", "phase 1", "phase 2",
                "phase 3", "phase 4", "peak", "completed", "evicted");
    const outcome grows = run_without_reservations(program);
    print("grows with use", grows);
    require(grows.evicted_pages == 0, "pages were evicted, though all fit");
    require(grows.peak() > peak_of(all) && grows.peak() < all / 4 * 3,
            "the peak is not that of a phase");

    wait_until_free(before);
    const outcome reserved = run(program, true);
    print("reserves its peak", reserved);
    const auto completed = static_cast<std::size_t>(reserved.completed);
    require(reserved.wrong == 0, "a service computed something else");
    require(completed > 0 && completed * peak_of(all) <= all,
            "more was reserved than the device has");
}

} // namespace

int main(int argc, char** argv) try {
    std::signal(SIGPIPE, SIG_IGN); // write() fails instead
    if (argc == 3) return serve(std::stoi(argv[2]), std::strcmp(argv[1], "reserves") == 0);
    compare(argv[0]);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
