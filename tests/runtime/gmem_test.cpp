// SPDX-License-Identifier: MIT
// GMEM's calls move and free memory.
#include "mapped_fixture.hpp"

#include <hmm/gmem.h>

#include <cerrno>
#include <span>
#include <sys/mman.h>
#include <unistd.h>

namespace {

class Gmem : public OnMappedMemory {
  protected:
    Gmem() : OnMappedMemory(MAP_PEER_SHARED) {
        on_device([] {}); // starts the device, which maps memory
    }

    static unsigned long address_of(std::span<unsigned char> of) {
        return reinterpret_cast<unsigned long>(of.data());
    }
    static int prefetch(std::span<unsigned char> what, int hnid) {
        return hmadvise(hnid, address_of(what), what.size(), MADV_PREFETCH);
    }
    static int eager_free(std::span<unsigned char> what) {
        return hmadvise(-1, address_of(what), what.size(), MADV_EAGERFREE);
    }
    static std::size_t device_memory_in_use() {
        const hmm::device_memory now = hmm::device(0).memory();
        return now.total - now.free;
    }
};

TEST_F(Gmem, PrefetchMovesMemoryToTheDeviceAndBackBeforeItReturns) {
    NEEDS_PAGES_THAT_MOVE();
    ASSERT_EQ(prefetch(memory_, gmemGetNumaId()), 0) << hmmGetLastErrorDetail();
    EXPECT_EQ(location_of(&memory_[0]), 0);
    EXPECT_EQ(location_of(&memory_[bytes - 1]), 0);
    ASSERT_EQ(prefetch(memory_.first(page), 0), 0) << hmmGetLastErrorDetail();
    EXPECT_EQ(location_of(&memory_[0]), hmmCpuDeviceId);
    EXPECT_EQ(location_of(&memory_[page]), 0);
}

TEST_F(Gmem, EagerFreeGivesDeviceMemoryBackAtOnce) {
    NEEDS_PAGES_THAT_MOVE();
    ASSERT_EQ(prefetch(memory_, gmemGetNumaId()), 0) << hmmGetLastErrorDetail();
    ASSERT_EQ(location_of(&memory_[bytes - 1]), 0);
    const std::size_t used = device_memory_in_use();
    ASSERT_EQ(eager_free(memory_), 0) << hmmGetLastErrorDetail();
    EXPECT_LE(device_memory_in_use(), used - bytes);
    EXPECT_EQ(location_of(&memory_[bytes - 1]), hmmInvalidDeviceId) << "nothing is there";
    for (const unsigned char value : memory_)
        ASSERT_EQ(value, 0);
}

TEST_F(Gmem, EagerFreeTakesOnlyTheWholePagesInsideTheRange) {
    EXPECT_EQ(eager_free(memory_.subspan(10, 3 * page)), 0);
    for (const std::size_t kept : {std::size_t{0}, page - 1, 3 * page, bytes - 1})
        EXPECT_EQ(memory_[kept], 1) << kept;
    for (std::size_t i = page; i < 3 * page; i++)
        ASSERT_EQ(memory_[i], 0) << i;
}

TEST_F(Gmem, WorkInAStreamIsDoneInItsOrder) {
    const hmm::stream one;
    unsigned char* const raw = memory_.data();
    unsigned char before = 0, after = 9;
    EXPECT_EQ(gmemPrefetch(address_of(memory_), bytes, gmemGetNumaId(), one.get()), 0);
    hmm::launch(one, 1, [&](std::size_t) { before = raw[5]; });
    EXPECT_EQ(gmemFreeEager(address_of(memory_), bytes, one.get()), 0);
    hmm::launch(one, 1, [&](std::size_t) { after = raw[5]; });
    one.synchronize();
    EXPECT_EQ(before, 1) << "a prefetch keeps what is there";
    EXPECT_EQ(after, 0);
}

TEST_F(Gmem, PrefetchInAStreamMovesMemory) {
    NEEDS_PAGES_THAT_MOVE();
    const hmm::stream one;
    ASSERT_EQ(gmemPrefetch(address_of(memory_), bytes, gmemGetNumaId(), one.get()), 0);
    one.synchronize();
    EXPECT_EQ(location_of(&memory_[0]), 0);
    EXPECT_EQ(location_of(&memory_[bytes - 1]), 0);
    EXPECT_EQ(memory_[0], 1);
}

TEST_F(Gmem, MemoryThatIsNotMappedOrLockedIsRefused) {
    std::span<unsigned char> hole(reinterpret_cast<unsigned char*>(page), page);
    errno = 0;
    EXPECT_EQ(prefetch(hole, gmemGetNumaId()), -1);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(eager_free(hole), -1);
    EXPECT_EQ(errno, ENOMEM);
    const hmm::registered_memory registered(memory_.first(page));
    errno = 0;
    EXPECT_EQ(eager_free(memory_.first(page)), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(memory_[0], 1);
}

TEST_F(Gmem, KernelsMayNotCall) {
    int results[4] = {}, errors[4] = {};
    on_device([&] {
        const auto call = [&](int i, auto body) {
            errno = 0;
            results[i] = body();
            errors[i] = errno;
        };
        call(0, [&] { return prefetch(memory_, gmemHnidOfDevice(0)); });
        call(1, [&] { return eager_free(memory_); });
        call(2, [&] { return gmemFreeEager(address_of(memory_), bytes, nullptr); });
        call(3, [] { return gmemGetNumaId(); });
    });
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(results[i], -1) << i;
        EXPECT_EQ(errors[i], ENOTSUP) << i;
    }
    EXPECT_EQ(memory_[0], 1);
}

} // namespace
