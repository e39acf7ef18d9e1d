// SPDX-License-Identifier: MIT
// The kernel's own ways to move a page, which programs can use without a module.
#include "peers.hpp"

#include "measure.hpp"
#include "patterns.hpp"
#include "program_memory.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace bench {
namespace {

[[noreturn]] void fail(const char* what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// ---- userfaultfd

/// UFFDIO_MOVE, new in Linux 6.8; older headers lack it.
struct move_request {
    std::uint64_t to, from, bytes, mode;
    std::int64_t moved;
};
constexpr unsigned long move_ioctl = _IOWR(UFFDIO, 0x05, move_request);
constexpr std::uint64_t move_feature = 1u << 16;

class userfault_file {
  public:
    explicit userfault_file(std::uint64_t features) {
        fd_ = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
        if (fd_ < 0) throw not_possible(std::string("userfaultfd: ") + std::strerror(errno));
        uffdio_api api = {};
        api.api = UFFD_API;
        api.features = features;
        if (ioctl(fd_, UFFDIO_API, &api) == 0) return;
        close(fd_);
        throw not_possible("the kernel has no UFFDIO_MOVE"); // all kernels have the rest
    }
    userfault_file(const userfault_file&) = delete;
    userfault_file& operator=(const userfault_file&) = delete;
    ~userfault_file() { close(fd_); }

    int get() const { return fd_; }

  private:
    int fd_;
};

/// One thread serves each of another thread's faults with a page, as a pure user-space library
/// would.
class userfaults : public peer {
  public:
    userfaults(std::size_t pages, bool moves)
        : pages_(pages), moves_(moves), file_(moves ? move_feature : 0) {}

    double measure() override {
        mapping from(pages_ * page_bytes), to(pages_ * page_bytes);
        for (std::size_t page = 0; page < pages_; page++)
            *word(from, page) = page + 1;
        add(to);
        int error = 0;
        std::thread server([&] { error = serve(from, to); });
        const double taken = seconds([&] { read_pages(to.data(), to.span().size()); });
        server.join();
        remove(to);
        if (error != 0) throw std::system_error(error, std::generic_category(), "userfaultfd");
        for (std::size_t page = 0; page < pages_; page++)
            if (*word(to, page) != page + 1)
                throw std::runtime_error("userfaultfd gave a wrong page");
        return taken;
    }
    std::size_t operations() const override { return pages_; }

  private:
    static std::uint64_t* word(const mapping& memory, std::size_t page) {
        return reinterpret_cast<std::uint64_t*>(memory.data() + page * page_bytes);
    }
    static uffdio_range range_of(const mapping& memory) {
        return {reinterpret_cast<std::uintptr_t>(memory.data()), memory.span().size()};
    }
    void add(const mapping& memory) const {
        uffdio_register request = {};
        request.range = range_of(memory);
        request.mode = UFFDIO_REGISTER_MODE_MISSING;
        if (ioctl(file_.get(), UFFDIO_REGISTER, &request) != 0) fail("UFFDIO_REGISTER");
    }
    /// Wakes all threads that wait for a page.
    void remove(const mapping& memory) const {
        uffdio_range range = range_of(memory);
        ioctl(file_.get(), UFFDIO_UNREGISTER, &range);
    }

    /// Serves a fault for each page. Returns 0 or an errno.
    int serve(const mapping& from, const mapping& to) const {
        for (std::size_t served = 0; served < pages_;) {
            uffd_msg message = {};
            const ssize_t got = read(file_.get(), &message, sizeof(message));
            if (got < 0 && errno == EINTR) continue;
            if (got == sizeof(message) && message.event == UFFD_EVENT_PAGEFAULT &&
                give(from, to, message.arg.pagefault.address)) {
                served++;
                continue;
            }
            const int error = errno;
            remove(to);
            return error != 0 ? error : EIO;
        }
        return 0;
    }
    bool give(const mapping& from, const mapping& to, std::uint64_t address) const {
        const std::uint64_t first = reinterpret_cast<std::uintptr_t>(to.data()),
                            page = address / page_bytes * page_bytes,
                            source = reinterpret_cast<std::uintptr_t>(from.data()) + page - first;
        if (moves_) {
            move_request request = {page, source, page_bytes, 0, 0};
            return ioctl(file_.get(), move_ioctl, &request) == 0;
        }
        uffdio_copy request = {};
        request.dst = page;
        request.src = source;
        request.len = page_bytes;
        return ioctl(file_.get(), UFFDIO_COPY, &request) == 0;
    }

    std::size_t pages_;
    bool moves_;
    userfault_file file_;
};

// ---- NUMA nodes

/// Returns the first and the last node with memory.
std::array<int, 2> two_nodes() {
    std::ifstream file("/sys/devices/system/node/has_normal_memory");
    std::array<int, 2> nodes = {0, 0};
    if (!(file >> nodes[0])) throw not_possible("the kernel has no NUMA nodes");
    nodes[1] = nodes[0];
    char between; // the separator, as in 0-1 or 0,2
    while (file >> between >> nodes[1]) {
    }
    if (nodes[0] == nodes[1]) throw not_possible("there is one NUMA node");
    return nodes;
}

class node_moves : public peer {
  public:
    explicit node_moves(std::size_t pages) : memory_(pages * page_bytes), nodes_(two_nodes()) {
        std::memset(memory_.data(), 1, memory_.span().size());
        for (std::size_t page = 0; page < pages; page++)
            pages_.push_back(memory_.data() + page * page_bytes);
        status_.resize(pages);
    }
    double measure() override {
        move(nodes_[0]);
        return seconds([&] { move(nodes_[1]); });
    }
    std::size_t operations() const override { return pages_.size(); }

  private:
    void move(int node) {
        const std::vector<int> to(pages_.size(), node);
        if (syscall(SYS_move_pages, 0, pages_.size(), pages_.data(), to.data(), status_.data(), 0) <
            0)
            fail("move_pages");
        for (const int status : status_)
            if (status != node) throw std::runtime_error("move_pages left a page where it was");
    }

    mapping memory_;
    std::array<int, 2> nodes_;
    std::vector<void*> pages_;
    std::vector<int> status_;
};

} // namespace

std::unique_ptr<peer> make_userfaultfd_copy(std::size_t pages) {
    return std::make_unique<userfaults>(pages, false);
}

std::unique_ptr<peer> make_userfaultfd_move(std::size_t pages) {
    return std::make_unique<userfaults>(pages, true);
}

std::unique_ptr<peer> make_move_pages(std::size_t pages) {
    return std::make_unique<node_moves>(pages);
}

} // namespace bench
