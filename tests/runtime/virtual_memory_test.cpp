// SPDX-License-Identifier: MIT
// Memory objects and reserved ranges: access rights of processors, when memory
// is freed, sharing with other processes, and vectors that grow.
#include "capability.hpp"
#include "device_fixture.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t unit = 2 << 20; // the granularity

// ---- first, while this process has used no device

/// Sends a descriptor, or receives one.
int pass_descriptor(int socket, int descriptor) {
    char byte = 0;
    iovec data = {&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    if (descriptor < 0) {
        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
        std::memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
        return descriptor;
    }
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    return sendmsg(socket, &message, 0) == 1 ? 0 : -1;
}

/// Creates memory in which each word is its index, and sends it.
int export_memory(int socket) {
    const hmm::physical_memory memory(2 * unit, hmm::device(0));
    const hmm::address_range range(2 * unit);
    const hmm::mapping mapped(range.get().data(), memory);
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    auto* const words = reinterpret_cast<unsigned*>(mapped.get().data());
    on_device([=] {
        for (unsigned i = 0; i < 2 * unit / sizeof(unsigned); i++)
            words[i] = i;
    });
    const int descriptor = memory.export_descriptor();
    const bool closed = (fcntl(descriptor, F_GETFD) & FD_CLOEXEC) != 0;
    return closed && pass_descriptor(socket, descriptor) == 0 ? 0 : 1;
}

/// Receives memory, and reads it after its creator has exited.
int import_memory(int socket) {
    const int descriptor = pass_descriptor(socket, -1);
    char none = 0;
    if (descriptor < 0 || read(socket, &none, 1) != 0) return 2;
    const auto memory = hmm::physical_memory::import_descriptor(descriptor, 2 * unit);
    close(descriptor);
    const hmm::address_range range(unit);
    const hmm::mapping mapped(range.get().data(), memory, unit, unit);
    mapped.set_access(hmm::device(0), hmm::memory_access::read);
    const auto* const words = reinterpret_cast<const unsigned*>(mapped.get().data());
    unsigned wrong = 0;
    on_device([=, &wrong] {
        constexpr unsigned count = unit / sizeof(unsigned);
        for (unsigned i = 0; i < count; i++)
            wrong += words[i] != count + i;
    });
    return wrong == 0 ? 0 : 3;
}

TEST(A0_MemoryObjects, OutliveTheProcessThatExportedThem) {
    int sockets[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    pid_t children[2];
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] != 0) continue;
        close(sockets[1 - i]);
        _exit(i == 0 ? export_memory(sockets[0]) : import_memory(sockets[1]));
    }
    close(sockets[0]);
    close(sockets[1]);
    for (const pid_t child : children) {
        int status = -1;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0);
    }
}

// ---- access, addresses, lifetime

/// True if the CPU may read there. Uses a system call, which fails instead of
/// raising a signal.
bool cpu_reads(const std::byte* where) {
    const int file = memfd_create("reads", MFD_CLOEXEC);
    const bool success = pwrite(file, where, 1, 0) == 1;
    close(file);
    return success;
}

/// True if the CPU may write there. It writes 0.
bool cpu_writes(std::byte* where) {
    const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    const bool success = read(file, where, 1) == 1;
    close(file);
    return success;
}

std::size_t used() {
    const hmm::device_memory memory = hmm::device(0).memory();
    return memory.total - memory.free;
}

class VirtualMemory : public OnDevice {
  protected:
    /// Keeps other memory of the program from moving, so that used() is exact.
    VirtualMemory() : before_(used()) { policy_.set(hmmMigrateNever); }
    /// Expects that all device memory is free again.
    ~VirtualMemory() override {
        hmmDeviceReset();
        EXPECT_EQ(used(), before_);
        limit(hmmQuotaNoLimit);
        policy_.reset();
    }

    static void limit(std::size_t bytes) {
        hmm::quota(hmm::device(0)).set(bytes, hmmQuotaPriorityDefault);
    }
    static void fill(std::span<std::byte> memory, int value) {
        on_device([=] { std::memset(memory.data(), value, memory.size()); });
    }
    /// The sum of the bytes, computed by the device.
    static std::size_t sum(std::span<const std::byte> memory) {
        std::size_t result = 0;
        on_device([=, &result] {
            for (const std::byte each : memory)
                result += std::to_integer<std::size_t>(each);
        });
        return result;
    }
    /// The error code of a write by the current device. Resets the device.
    static hmmError_t written(std::byte* where) {
        const auto error = error_on_device([=] { *where = std::byte{1}; });
        hmm::reset();
        return error ? error->code() : hmmSuccess;
    }

    const std::size_t before_;
    const hmm::knob policy_ = hmm::knob("migration_policy");
};

TEST_F(VirtualMemory, IsReachedByNoProcessorBeforeItsAccessIsSet) {
    NEEDS_FAILURES();
    const hmm::physical_memory memory(unit, hmm::device(0));
    const hmm::address_range range(2 * unit);
    std::byte* const begin = range.get().data();
    EXPECT_EQ(written(begin), hmmErrorIllegalAddress) << "nothing is mapped";
    const hmm::mapping mapped(begin, memory);
    EXPECT_FALSE(cpu_reads(begin));
    EXPECT_EQ(written(begin), hmmErrorIllegalAddress);
    mapped.set_access(hmm::device(0), hmm::memory_access::read);
    EXPECT_EQ(sum(mapped.get()), 0u);
    EXPECT_EQ(written(begin), hmmErrorIllegalAddress) << "it may read only";
    EXPECT_EQ(hmm::get_access(begin, hmm::device(0)), hmm::memory_access::none) << "a reset";
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    fill(mapped.get(), 3);
    EXPECT_EQ(written(begin + unit), hmmErrorIllegalAddress) << "behind the mapping";
}

TEST_F(VirtualMemory, IsReachedByTheCpuAsItsAccessSays) {
    NEEDS_AGENT(); // device code of the cpu device has the rights of the CPU
    const hmm::physical_memory memory(unit, hmm::device(0));
    const hmm::address_range range(unit);
    const hmm::mapping mapped(range.get().data(), memory);
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    fill(mapped.get(), 7);
    std::byte* const last = &mapped.get().back();
    EXPECT_FALSE(cpu_reads(last));
    mapped.set_access(hmm::host, hmm::memory_access::read);
    EXPECT_EQ(*last, std::byte{7});
    EXPECT_FALSE(cpu_writes(last));
    mapped.set_access(hmm::host, hmm::memory_access::read_write);
    EXPECT_TRUE(cpu_writes(last));
    EXPECT_EQ(sum(mapped.get()), 7 * (unit - 1));
    mapped.set_access(hmm::host, hmm::memory_access::none);
    EXPECT_FALSE(cpu_reads(last));
    EXPECT_EQ(sum(mapped.get()), 7 * (unit - 1)) << "the device keeps its access";
}

TEST_F(VirtualMemory, IsReachedByTheDevicesThatAreNamedOnly) {
    NEEDS_AGENT();
    if (hmm::device_count() < 2) GTEST_SKIP() << "one device";
    const hmm::physical_memory memory(unit, hmm::device(0));
    const hmm::address_range range(unit);
    const hmm::mapping mapped(range.get().data(), memory);
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    fill(mapped.get(), 5);
    const hmm::scoped_device use(hmm::device(1));
    EXPECT_EQ(written(range.get().data()), hmmErrorIllegalAddress);
    mapped.set_access(hmm::device(1), hmm::memory_access::read);
    EXPECT_EQ(sum(mapped.get()), 5 * unit);
    EXPECT_EQ(written(range.get().data()), hmmErrorIllegalAddress);
}

TEST_F(VirtualMemory, LivesWhileAHandleOrAMappingDoes) {
    const hmm::address_range range(unit);
    std::optional<hmm::physical_memory> memory(std::in_place, unit, hmm::device(0));
    EXPECT_EQ(used(), before_ + unit);
    std::optional<hmm::mapping> mapped(std::in_place, range.get().data(), *memory);
    mapped->set_access(hmm::device(0), hmm::memory_access::read_write);
    fill(range.get(), 1);
    mapped.reset();
    EXPECT_EQ(used(), before_ + unit);
    mapped.emplace(range.get().data(), *memory);
    mapped->set_access(hmm::device(0), hmm::memory_access::read_write);
    EXPECT_EQ(sum(range.get()), unit);
    memory.reset();
    EXPECT_EQ(sum(range.get()), unit);
    EXPECT_EQ(used(), before_ + unit);
    mapped.reset();
    EXPECT_EQ(used(), before_);
    mapped.emplace(range.get().data(), hmm::physical_memory(unit, hmm::device(0)));
    mapped->set_access(hmm::device(0), hmm::memory_access::read);
    EXPECT_EQ(sum(range.get()), 0u) << "new memory is cleared";
}

TEST_F(VirtualMemory, HasSeveralAddressesAndParts) {
    const hmm::physical_memory memory(3 * unit, hmm::host);
    const hmm::address_range range(5 * unit);
    const std::span<std::byte> all = range.get();
    const hmm::mapping whole(all.data(), memory);
    const hmm::mapping part(all.data() + 3 * unit, memory, unit, 2 * unit);
    hmm::set_access(all, hmm::device(0), hmm::memory_access::read_write);
    hmm::set_access(all, hmm::host, hmm::memory_access::read_write);
    fill(all.subspan(unit, unit), 1);
    all[4 * unit + 9] = std::byte{2};
    EXPECT_EQ(sum(all), 2 * unit + 4);
    EXPECT_EQ(all[3 * unit], std::byte{1});
    EXPECT_EQ(all[2 * unit + 9], std::byte{2});
}

TEST_F(VirtualMemory, ThatIsUnmappedInPartIsOutOfReachThereOnly) {
    NEEDS_FAILURES();
    const hmm::address_range range(3 * unit);
    const hmm::mapping mapped(range.get().data(), hmm::physical_memory(3 * unit, hmm::device(0)));
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    fill(range.get(), 1);
    const auto middle = reinterpret_cast<hmmDeviceptr>(range.get().data() + unit);
    ASSERT_EQ(hmmMemUnmap(middle, unit), hmmSuccess);
    EXPECT_EQ(sum(range.get().first(unit)), unit);
    EXPECT_EQ(sum(range.get().last(unit)), unit);
    EXPECT_EQ(written(range.get().data() + unit), hmmErrorIllegalAddress);
    ASSERT_EQ(hmmMemUnmap(middle - unit, unit), hmmSuccess);
    ASSERT_EQ(hmmMemUnmap(middle + unit, unit), hmmSuccess);
    EXPECT_EQ(hmmMemUnmap(middle, unit), hmmErrorInvalidValue);
}

TEST_F(VirtualMemory, ThatIsMigratableMovesToWhereItIsUsed) {
    policy_.reset();
    const hmm::physical_memory memory(2 * unit, hmm::device(0), hmm::migratable);
    const hmm::address_range range(2 * unit);
    const hmm::mapping mapped(range.get().data(), memory);
    mapped.set_access(hmm::device(0), hmm::memory_access::read_write);
    mapped.set_access(hmm::host, hmm::memory_access::read_write);
    fill(range.get(), 4);
    const auto upper = range.get().last(unit);
    EXPECT_TRUE(is_cpu_device() || hmm::residency(range.get()).all_on(hmm::device(0)));
    EXPECT_EQ(upper[0], std::byte{4});
    EXPECT_TRUE(is_cpu_device() || hmm::residency(upper).all_on(hmm::host));
    EXPECT_EQ(sum(range.get()), 8 * unit);
}

/// On the cpu device, a memory object is a file, to which the limit applies.
TEST_F(VirtualMemory, BeyondTheLimitOfFilesIsAnErrorThatNamesIt) {
    if (!is_cpu_device()) GTEST_SKIP() << "memory of devices is no file";
    hmmMemGenericAllocationHandle handle = 77;
    hmmMemAllocationProp prop = {};
    prop.type = hmmMemAllocationTypePinned;
    prop.location = {hmmMemLocationTypeDevice, 0};
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit less = {unit, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
    const hmmError_t result = hmmMemCreate(&handle, 2 * unit, &prop, 0);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_EQ(result, hmmErrorOperatingSystem);
    EXPECT_NE(std::string(hmmGetLastErrorDetail()).find("ulimit -f"), std::string::npos)
        << hmmGetLastErrorDetail();
    EXPECT_EQ(handle, 77u);
}

TEST_F(VirtualMemory, ThatTheDeviceDoesNotHaveIsRefused) {
    hmmMemGenericAllocationHandle handle = 77;
    hmmMemAllocationProp prop = {};
    prop.type = hmmMemAllocationTypePinned;
    prop.location = {hmmMemLocationTypeDevice, 0};
    const std::size_t total = hmm::device(0).memory().total / unit * unit;
    EXPECT_EQ(hmmMemCreate(&handle, total + unit, &prop, 0), hmmErrorMemoryAllocation);
    hmm::launch(1, [](std::size_t) {}); // only processes that use the device have a quota
    hmm::synchronize();
    limit(unit);
    EXPECT_EQ(hmmMemCreate(&handle, 2 * unit, &prop, 0), hmmErrorMemoryAllocation);
    EXPECT_EQ(handle, 77u);
    EXPECT_EQ(used(), before_);
}

TEST_F(VirtualMemory, ThatIsPinnedInSystemMemoryNeedsLockedMemory) {
    NEEDS_KERNEL();
    hmmMemGenericAllocationHandle handle = 77;
    hmmMemAllocationProp prop = {};
    prop.type = hmmMemAllocationTypePinned;
    prop.location = {hmmMemLocationTypeHost, 0};
    const locked_memory_limit locked(unit);
    EXPECT_EQ(hmmMemCreate(&handle, 2 * unit, &prop, 0), hmmErrorNotPermitted);
    EXPECT_NE(std::string(hmmGetLastErrorDetail()).find("RLIMIT_MEMLOCK is 2097152 bytes"),
              std::string::npos)
        << hmmGetLastErrorDetail();
    EXPECT_EQ(handle, 77u);
    ASSERT_EQ(hmmMemCreate(&handle, unit, &prop, 0), hmmSuccess);
    EXPECT_EQ(hmmMemRelease(handle), hmmSuccess);
}

// ---- vectors

/// Limits the process to @more bytes of address space beyond what it uses now,
/// for the lifetime of the object.
class address_space_limit {
  public:
    explicit address_space_limit(std::size_t more) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
        const rlimit lower = {pages * 4096 + more, before_.rlim_max};
        EXPECT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
    }
    address_space_limit(const address_space_limit&) = delete;
    address_space_limit& operator=(const address_space_limit&) = delete;
    ~address_space_limit() { setrlimit(RLIMIT_AS, &before_); }

  private:
    rlimit before_ = {};
};

class GrowableVector : public VirtualMemory {
  protected:
    static constexpr std::size_t per_unit = unit / sizeof(unsigned);

    /// Numbers the elements from @first on, on the device.
    static void number(const hmm::growable_vector<unsigned>& of, std::size_t first) {
        const std::span<unsigned> all = of.get();
        on_device([=] {
            for (std::size_t i = first; i < all.size(); i++)
                all[i] = static_cast<unsigned>(i);
        });
    }
    static std::size_t wrong(const hmm::growable_vector<unsigned>& of) {
        const std::span<unsigned> all = of.get();
        std::size_t result = 0;
        on_device([=, &result] {
            for (std::size_t i = 0; i < all.size(); i++)
                result += all[i] != i;
        });
        return result;
    }
};

TEST_F(GrowableVector, KeepsElementsAndTheirMemoryWhenItMoves) {
    hmm::growable_vector<unsigned> vector(hmm::device(0), {hmm::host});
    vector.reserve(1);
    vector.grow(per_unit - 1);
    number(vector, 0);
    const unsigned* const first = vector.data();
    // Ensure that these addresses are taken, by this range or something else.
    const hmm::address_range behind(unit, 0, first + vector.reserved());
    vector.grow(2);
    EXPECT_NE(vector.data(), first);
    number(vector, per_unit - 1);
    vector.push_back(static_cast<unsigned>(vector.size()));
    EXPECT_EQ(vector.size(), per_unit + 2);
    EXPECT_EQ(wrong(vector), 0u);
    EXPECT_EQ(vector[per_unit + 1], per_unit + 1);
    EXPECT_EQ(used(), before_ + 2 * unit) << "nothing was copied";
    vector.shrink(5);
    EXPECT_EQ(used(), before_ + unit);
    EXPECT_EQ(wrong(vector), 0u);
}

TEST_F(GrowableVector, DoesNotMoveWithinWhatItReserved) {
    hmm::growable_vector<unsigned> vector(hmm::device(0));
    vector.reserve(4 * per_unit);
    EXPECT_EQ(used(), before_);
    vector.push_back(0); // the device copies it
    const unsigned* const first = vector.data();
    for (int i = 0; i < 3; i++) {
        const std::size_t old = vector.size();
        vector.grow(per_unit);
        number(vector, old);
    }
    EXPECT_EQ(vector.data(), first);
    EXPECT_EQ(wrong(vector), 0u);
}

TEST_F(GrowableVector, HasAddressesForAllMemoryOfTheDevice) {
    hmm::growable_vector<unsigned> vector(hmm::device(0));
    vector.grow(1);
    const unsigned* const first = vector.data();
    EXPECT_EQ(vector.reserved(), hmm::device(0).memory().total / unit * per_unit);
    for (int i = 0; i < 3; i++) {
        const hmm::address_range near(unit);
        vector.grow(per_unit);
        EXPECT_EQ(vector.data(), first);
    }
}

TEST_F(GrowableVector, IsContentWithFewerAddresses) {
    hmm::growable_vector<unsigned> vector(hmm::device(0));
    on_device([] {});
    {
        const address_space_limit limit(16 * unit);
        vector.grow(per_unit);
        EXPECT_EQ(vector.reserved(), per_unit);
        vector.grow(1);
        EXPECT_EQ(vector.capacity(), 2 * per_unit);
    }
    number(vector, 0);
    EXPECT_EQ(wrong(vector), 0u);
}

TEST_F(GrowableVector, IsAsItWasWhenMemoryEndsWhileItGrows) {
    hmm::growable_vector<unsigned> vector(hmm::device(0));
    vector.grow(2 * per_unit);
    number(vector, 0);
    const unsigned* const first = vector.data();
    limit(3 * unit);
    for (const std::size_t more : {2 * per_unit, 100 * per_unit}) {
        try {
            vector.grow(more);
            ADD_FAILURE() << "there was memory";
        } catch (const hmm::error& error) {
            EXPECT_EQ(error.code(), hmmErrorMemoryAllocation) << error.what();
        }
        EXPECT_EQ(vector.size(), 2 * per_unit);
        EXPECT_EQ(vector.data(), first);
        EXPECT_EQ(used(), before_ + 2 * unit);
        EXPECT_EQ(wrong(vector), 0u);
    }
    vector.push_back(2 * per_unit); // takes the rest, because doubling is not possible
    EXPECT_EQ(vector.size(), 2 * per_unit + 1);
    EXPECT_EQ(wrong(vector), 0u);
}

// ---- random steps

/// Two memory objects of two units each, and four addresses for a unit.
class model {
  public:
    explicit model(unsigned seed) : random_(seed) {
        for (int i = 0; i < 2; i++)
            memory_.emplace_back(2 * unit, i == 0 ? hmm::location(hmm::device(0)) : hmm::host);
    }

    void step() {
        const std::size_t where = below(places);
        auto& mapped = mapped_[where];
        if (!mapped || below(8) == 0) {
            mapped.reset();
            const std::size_t object = below(2), offset = below(2);
            mapped.emplace(at(where), memory_[object], offset * unit, unit);
            mapped->set_access(hmm::device(0), hmm::memory_access::read_write);
            mapped->set_access(hmm::host, hmm::memory_access::read_write);
            of_[where] = 2 * object + offset;
        }
        auto* const word = reinterpret_cast<unsigned*>(at(where) + 4096 * below(512));
        const auto index = static_cast<std::size_t>(reinterpret_cast<std::byte*>(word) - at(where));
        unsigned& expected = content_[of_[where]][index / 4096];
        const unsigned fresh = next_++;
        unsigned found = 0;
        if (below(2) == 0)
            on_device([&] { found = std::exchange(*word, fresh); });
        else
            found = std::exchange(*word, fresh);
        EXPECT_EQ(found, expected);
        expected = fresh;
    }

  private:
    static constexpr std::size_t places = 4;

    std::size_t below(std::size_t end) { return random_() % end; }
    std::byte* at(std::size_t where) const { return range_.get().data() + where * unit; }

    std::mt19937 random_;
    hmm::address_range range_ = hmm::address_range(places * unit);
    std::vector<hmm::physical_memory> memory_;
    std::array<std::optional<hmm::mapping>, places> mapped_;
    std::array<std::size_t, places> of_ = {};
    unsigned content_[4][512] = {};
    unsigned next_ = 1;
};

TEST_F(VirtualMemory, RandomStepsFindWhatWasWrittenLast) {
    const char* const given = std::getenv("HMMRT_SEED");
    const unsigned seed = given != nullptr ? static_cast<unsigned>(std::stoul(given, nullptr, 0))
                                           : std::random_device()();
    SCOPED_TRACE("HMMRT_SEED=" + std::to_string(seed));
    model all(seed);
    for (int i = 0; i < 300 && !HasFailure(); i++)
        all.step();
}

} // namespace
