// SPDX-License-Identifier: MIT
// Copies, fills, batches of prefetches, and memory that the library allocates.
#include "device_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <numeric>
#include <span>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t item = 64 << 10; // copies are divided into pieces of this size

class Copy : public OnDevice {
  protected:
    static std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
        std::vector<unsigned char> made(bytes);
        for (std::size_t i = 0; i < bytes; i++)
            made[i] = static_cast<unsigned char>(i * 7 + i / 251 + seed);
        return made;
    }
};

TEST_F(Copy, OfAnySizeAndAlignmentIsExact) {
    for (const std::size_t bytes : {std::size_t{1}, std::size_t{63}, page, item - 1, item, item + 1,
                                    3 * item + 17, 40 * item + 4095}) {
        for (const std::size_t skew : {0, 1, 9}) {
            const auto from = pattern(bytes + 2 * skew, 1);
            auto to = pattern(bytes + 2 * skew, 2);
            const auto before = to;
            ASSERT_EQ(hmmMemcpy(to.data() + skew, from.data() + skew, bytes, hmmMemcpyDefault),
                      hmmSuccess);
            EXPECT_TRUE(std::equal(to.begin() + skew, to.end() - skew, from.begin() + skew))
                << bytes << " bytes at " << skew;
            EXPECT_TRUE(std::equal(to.begin(), to.begin() + skew, before.begin()));
            EXPECT_TRUE(std::equal(to.end() - skew, to.end(), before.end() - skew));
        }
    }
}

TEST_F(Copy, FillsAreExact) {
    for (const std::size_t bytes : {std::size_t{1}, item + 1, 5 * item - 3}) {
        auto memory = pattern(bytes + 2, 3);
        const unsigned char first = memory.front(), last = memory.back();
        ASSERT_EQ(hmmMemset(memory.data() + 1, 0x1a5, bytes), hmmSuccess) << "the low byte counts";
        EXPECT_EQ(std::count(memory.begin() + 1, memory.end() - 1, 0xa5),
                  static_cast<std::ptrdiff_t>(bytes));
        EXPECT_EQ(memory.front(), first);
        EXPECT_EQ(memory.back(), last);
    }
}

TEST_F(Copy, StaysInTheOrderOfItsStream) {
    constexpr std::size_t count = item / sizeof(std::uint32_t) * 3;
    constexpr int rounds = 20;
    std::vector<std::uint32_t> a(count, 0), b(count, 7);
    const hmm::stream in;
    for (int round = 0; round < rounds; round++) {
        hmm::launch(in, count, [&](std::size_t i) { a[i]++; });
        hmm::copy(std::span(b), std::span<const std::uint32_t>(a), in);
        hmm::launch(in, count, [&](std::size_t i) { b[i] *= 3; });
        hmm::copy(std::span(a), std::span<const std::uint32_t>(b), in);
    }
    in.synchronize();
    std::uint32_t expected = 0;
    for (int round = 0; round < rounds; round++)
        expected = (expected + 1) * 3;
    EXPECT_EQ(std::count(a.begin(), a.end(), expected), static_cast<std::ptrdiff_t>(count));
}

TEST_F(Copy, RunsBesideTheKernelsOfOtherStreams) {
    if (!has_lanes(2)) GTEST_SKIP() << "one lane";
    const auto from = pattern(2 * item, 4);
    std::vector<unsigned char> to(from.size());
    std::atomic<bool> go = false;
    const hmm::stream kernels, copies;
    hmm::launch(kernels, 1, [&](std::size_t) {
        while (!go)
            _mm_pause();
    });
    hmm::copy(std::span(to), std::span(from), copies);
    hmm::set_bytes(std::span(to).first(10), std::byte{7}, copies);
    copies.synchronize();
    EXPECT_FALSE(kernels.idle());
    EXPECT_EQ(std::count(to.begin(), to.begin() + 10, 7), 10);
    EXPECT_TRUE(std::equal(to.begin() + 10, to.end(), from.begin() + 10));
    go = true;
    kernels.synchronize();
}

/// What a copy guarantees when the call returns.
class CopyOrder : public Copy {
  protected:
    static constexpr std::size_t bytes = 4 * page;
    static constexpr std::size_t width = 100, height = 30; ///< of rows

    /// A call that copies @count bytes in total, in a stream.
    struct form {
        const char* name;
        std::size_t count;
        hmmError_t (*copy)(void* to, const void* from, hmmMemcpyKind kind, hmmStream_t stream);
    };
    static constexpr form forms[] = {
        {"a few bytes", 100,
         [](void* to, const void* from, hmmMemcpyKind kind, hmmStream_t stream) {
             return hmmMemcpyAsync(to, from, 100, kind, stream);
         }},
        {"pages", bytes,
         [](void* to, const void* from, hmmMemcpyKind kind, hmmStream_t stream) {
             return hmmMemcpyAsync(to, from, bytes, kind, stream);
         }},
        {"rows", width* height,
         [](void* to, const void* from, hmmMemcpyKind kind, hmmStream_t stream) {
             return hmmMemcpy2DAsync(to, width, from, width, width, height, kind, stream);
         }},
        {"a box", width* height,
         [](void* to, const void* from, hmmMemcpyKind kind, hmmStream_t stream) {
             hmmMemcpy3DParms params = {};
             params.srcPtr = make_hmmPitchedPtr(const_cast<void*>(from), width, width, height / 3);
             params.dstPtr = make_hmmPitchedPtr(to, width, width, height / 3);
             params.extent = make_hmmExtent(width, height / 3, 3);
             params.kind = kind;
             return hmmMemcpy3DAsync(&params, stream);
         }},
    };
    static constexpr form peers = {
        "peers", bytes, [](void* to, const void* from, hmmMemcpyKind, hmmStream_t stream) {
            return hmmMemcpyPeerAsync(to, 0, from, 0, bytes, stream);
        }};

    CopyOrder() {
        EXPECT_EQ(hmmMalloc(&device_, bytes), hmmSuccess);
        EXPECT_EQ(hmmMallocManaged(&managed_, bytes, hmmMemAttachGlobal), hmmSuccess);
        EXPECT_EQ(hmmMallocHost(&pinned_, bytes), hmmSuccess);
        EXPECT_EQ(hmmHostRegister(registered_, bytes, 0), hmmSuccess);
    }
    ~CopyOrder() override {
        go_ = true;
        EXPECT_EQ(hmmHostUnregister(registered_), hmmSuccess);
        EXPECT_EQ(hmmFree(device_), hmmSuccess);
        EXPECT_EQ(hmmFree(managed_), hmmSuccess);
        EXPECT_EQ(hmmFreeHost(pinned_), hmmSuccess);
        std::free(registered_);
    }

    /// Blocks the stream until go_ is set. Then it sets @memory to 2.
    void hold(void* memory = nullptr) {
        go_ = false;
        hmm::launch(stream_, 1, [this, memory](std::size_t) {
            while (!go_)
                _mm_pause();
            if (memory != nullptr) std::memset(memory, 2, bytes);
        });
    }
    /// Makes a call while the stream is held. A call that waits for the stream
    /// ends the test, but not before the stream goes on, which it does after
    /// seconds.
    void expect_no_wait(auto call) {
        std::atomic<bool> returned = false;
        std::thread rescue([&] {
            for (int i = 0; i < 5000; i++, usleep(1000))
                if (returned) return;
            go_ = true;
        });
        EXPECT_EQ(call(), hmmSuccess);
        returned = true;
        rescue.join();
        ASSERT_FALSE(go_) << "the call waited";
    }
    /// Expects that the call returns at once, and copies @found from a source that
    /// is 1 before the call and 2 after it. After a call that waited it makes none.
    void expect_at_return(const form& with, void* to, void* from, hmmMemcpyKind kind, int found) {
        if (HasFatalFailure()) return;
        std::memset(to, 0, bytes);
        std::memset(from, 1, bytes);
        hold();
        expect_no_wait([&] { return with.copy(to, from, kind, stream_.get()); });
        ASSERT_FALSE(HasFatalFailure()) << with.name;
        EXPECT_FALSE(stream_.idle()) << with.name;
        std::memset(from, 2, bytes);
        go_ = true;
        stream_.synchronize();
        EXPECT_EQ(std::count(bytes_at(to), bytes_at(to) + with.count, found),
                  static_cast<std::ptrdiff_t>(with.count))
            << with.name;
    }
    /// Expects that the copy is complete when the call returns, and sees what
    /// earlier work wrote to @from.
    void expect_complete(const form& with, void* to, void* from, hmmMemcpyKind kind) {
        std::memset(to, 0, bytes);
        std::memset(from, 1, bytes);
        hold(from);
        std::thread other([this, caller = gettid()] {
            EXPECT_TRUE(falls_asleep(caller));
            go_ = true;
        });
        EXPECT_EQ(with.copy(to, from, kind, stream_.get()), hmmSuccess);
        EXPECT_EQ(std::count(bytes_at(to), bytes_at(to) + with.count, 2),
                  static_cast<std::ptrdiff_t>(with.count))
            << with.name;
        other.join();
        stream_.synchronize();
    }
    static const unsigned char* bytes_at(const void* memory) {
        return static_cast<const unsigned char*>(memory);
    }

    const hmm::stream stream_;
    std::atomic<bool> go_ = false;
    void *device_ = nullptr, *managed_ = nullptr, *pinned_ = nullptr;
    std::vector<unsigned char> pageable_ = std::vector<unsigned char>(bytes),
                               other_ = std::vector<unsigned char>(bytes);
    void* const registered_ = std::malloc(bytes);
};

TEST_F(CopyOrder, TheSourceInPageableMemoryIsTakenWhenTheCallReturns) {
    for (const form& each : forms)
        for (void* const to : {device_, managed_})
            expect_at_return(each, to, pageable_.data(), hmmMemcpyHostToDevice, 1);
    char stack[bytes];
    expect_at_return(forms[1], device_, stack, hmmMemcpyHostToDevice, 1);
}

TEST_F(CopyOrder, ACopyToPageableMemoryIsCompleteWhenTheCallReturns) {
    for (const form& each : forms)
        for (const hmmMemcpyKind kind : {hmmMemcpyDeviceToHost, hmmMemcpyDefault})
            for (void* const from : {device_, managed_})
                expect_complete(each, pageable_.data(), from, kind);
    expect_complete(peers, pageable_.data(), device_, hmmMemcpyDefault);
}

TEST_F(CopyOrder, ACopyBetweenMemoriesOfTheHostIsCompleteWhenTheCallReturns) {
    for (const form& each : forms)
        for (const hmmMemcpyKind kind : {hmmMemcpyHostToHost, hmmMemcpyDefault}) {
            expect_complete(each, other_.data(), pageable_.data(), kind);
            expect_complete(each, pinned_, pageable_.data(), kind);
            expect_complete(each, pageable_.data(), pinned_, kind);
            expect_complete(each, registered_, pinned_, kind);
        }
}

/// The device can also write pageable memory, so a copy of unknown direction
/// must see what the stream wrote before it.
TEST_F(CopyOrder, OfUnknownDirectionComesBehindWhatTheDeviceWrites) {
    for (const form& each : forms)
        expect_complete(each, device_, pageable_.data(), hmmMemcpyDefault);
    expect_complete(peers, device_, pageable_.data(), hmmMemcpyDefault);
}

TEST_F(CopyOrder, MemoryThatTheLibraryKnowsIsUsedInTheOrderOfTheStream) {
    for (const form& each : forms) {
        for (void* const from : {pinned_, managed_, registered_})
            for (const hmmMemcpyKind kind : {hmmMemcpyHostToDevice, hmmMemcpyDefault})
                expect_at_return(each, device_, from, kind, 2);
        for (void* const to : {pinned_, managed_, registered_})
            for (const hmmMemcpyKind kind : {hmmMemcpyDeviceToHost, hmmMemcpyDefault})
                expect_at_return(each, to, device_, kind, 2);
    }
}

TEST_F(CopyOrder, MemoryThatTheProgramCallsTheDevicesIsUsedInTheOrderOfTheStream) {
    for (const form& each : forms) {
        expect_at_return(each, other_.data(), pageable_.data(), hmmMemcpyDeviceToDevice, 2);
        expect_at_return(each, other_.data(), pinned_, hmmMemcpyHostToDevice, 2);
        expect_at_return(each, pinned_, other_.data(), hmmMemcpyDeviceToHost, 2);
    }
}

TEST_F(CopyOrder, VariablesOfDeviceCodeAreUsedInTheOrderOfTheStream) {
    static unsigned char variable[bytes], managed[bytes];
    ASSERT_EQ(hmmRegisterVariable(variable, bytes, 0), hmmSuccess);
    ASSERT_EQ(hmmRegisterVariable(managed, bytes, 1), hmmSuccess);
    for (unsigned char* const each : {variable, managed}) {
        expect_at_return(forms[1], device_, each, hmmMemcpyHostToDevice, 2);
        expect_at_return(forms[1], each, pinned_, hmmMemcpyDefault, 2);
    }
    hmmPointerAttributes found;
    EXPECT_EQ(hmmPointerGetAttributes(&found, &variable[bytes - 1]), hmmSuccess);
    EXPECT_EQ(found.type, hmmMemoryTypeDevice);
    EXPECT_EQ(hmmPointerGetAttributes(&found, managed), hmmSuccess);
    EXPECT_EQ(found.type, hmmMemoryTypeManaged);
    EXPECT_EQ(found.device, 0);
    hmmDeviceptr base = 0;
    std::size_t size = 0;
    EXPECT_EQ(
        hmmMemGetAddressRange(&base, &size, reinterpret_cast<hmmDeviceptr>(&variable[bytes - 1])),
        hmmSuccess);
    EXPECT_EQ(base, reinterpret_cast<hmmDeviceptr>(variable));
    EXPECT_EQ(size, bytes);
    EXPECT_EQ(hmmRegisterVariable(nullptr, 1, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmRegisterVariable(variable, 0, 0), hmmErrorInvalidValue);
}

TEST_F(CopyOrder, FillsDoNotWait) {
    hold();
    ASSERT_NO_FATAL_FAILURE(
        expect_no_wait([&] { return hmmMemsetAsync(pageable_.data(), 7, bytes, stream_.get()); }));
    EXPECT_EQ(pageable_[0], 0);
    go_ = true;
    stream_.synchronize();
    EXPECT_EQ(pageable_[bytes - 1], 7);
}

/// Staging memory is bounded: the call waits for sources that don't fit.
TEST_F(CopyOrder, MoreThanCanBeStagedIsCopiedAllTheSame) {
    constexpr std::size_t part = 1 << 20;
    constexpr std::size_t parts = 40;
    void* all = nullptr;
    ASSERT_EQ(hmmMalloc(&all, part * parts), hmmSuccess);
    std::vector<unsigned char> source(part);
    hold();
    std::thread other([this, caller = gettid()] {
        EXPECT_TRUE(falls_asleep(caller));
        go_ = true;
    });
    for (std::size_t i = 0; i < parts; i++) {
        std::fill(source.begin(), source.end(), static_cast<unsigned char>(i + 1));
        ASSERT_EQ(hmmMemcpyAsync(static_cast<char*>(all) + i * part, source.data(), part,
                                 hmmMemcpyHostToDevice, stream_.get()),
                  hmmSuccess);
    }
    EXPECT_TRUE(go_) << "nothing waited";
    other.join();
    std::vector<unsigned char> large(part * 5, 77);
    EXPECT_EQ(hmmMemcpyAsync(all, large.data(), large.size(), hmmMemcpyHostToDevice, stream_.get()),
              hmmSuccess);
    EXPECT_TRUE(stream_.idle());
    for (std::size_t i = 0; i < parts; i++)
        EXPECT_EQ(bytes_at(all)[(i + 1) * part - 1], i < 5 ? 77 : i + 1) << i;
    EXPECT_EQ(hmmFree(all), hmmSuccess);
}

TEST_F(CopyOrder, CopiesOfAnotherStreamThatAreCompleteTakeNoSpace) {
    constexpr std::size_t part = 1 << 20;
    constexpr std::size_t parts = 32; ///< fill the staging memory
    const hmm::stream filled;
    std::atomic<bool> filled_goes = false, is_complete = false;
    std::vector<unsigned char> source(part);
    void* target = nullptr;
    ASSERT_EQ(hmmMalloc(&target, part), hmmSuccess);
    hmm::launch(filled, 1, [&](std::size_t) {
        while (!filled_goes)
            _mm_pause();
    });
    for (std::size_t i = 0; i < parts; i++)
        ASSERT_EQ(hmmMemcpyAsync(target, source.data(), part, hmmMemcpyHostToDevice, filled.get()),
                  hmmSuccess);
    hmm::launch(filled, 1, [&](std::size_t) { is_complete = true; });
    filled_goes = true;
    while (!is_complete) // hmmStreamQuery() would free the buffers
        usleep(1000);
    hold();
    expect_no_wait([&] {
        return hmmMemcpyAsync(device_, pageable_.data(), bytes, hmmMemcpyHostToDevice,
                              stream_.get());
    });
    go_ = true;
    hmm::synchronize();
    EXPECT_EQ(hmmFree(target), hmmSuccess);
}

TEST_F(CopyOrder, ADeviceThatFailedEndsTheWait) {
    NEEDS_FAILURES();
    int* volatile nowhere = nullptr;
    hmm::launch(stream_, 1, [to = nowhere](std::size_t) { *to = 1; });
    EXPECT_EQ(
        hmmMemcpyAsync(pageable_.data(), device_, bytes, hmmMemcpyDeviceToHost, stream_.get()),
        hmmErrorIllegalAddress);
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
}

TEST_F(CopyOrder, HostFunctionsMayNotCopy) {
    hmmError_t code = hmmSuccess;
    stream_.call_host([&] {
        code =
            hmmMemcpyAsync(pageable_.data(), device_, bytes, hmmMemcpyDeviceToHost, stream_.get());
    });
    stream_.synchronize();
    EXPECT_EQ(code, hmmErrorNotPermitted);
}

TEST_F(CopyOrder, FromNowhereIsTheDevicesFault) {
    NEEDS_FAILURES();
    void* const hole = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    munmap(hole, page);
    EXPECT_EQ(hmmMemcpyAsync(device_, hole, page, hmmMemcpyHostToDevice, stream_.get()),
              hmmErrorIllegalAddress);
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
}

TEST_F(CopyOrder, FromMemoryThatCannotBeReadIsTheDevicesFault) {
    NEEDS_FAILURES();
    const int file = memfd_create("short", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file, page), 0);
    void* const short_file = mmap(nullptr, 2 * page, PROT_READ, MAP_SHARED, file, 0);
    void* const closed = mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(short_file, MAP_FAILED);
    ASSERT_NE(closed, MAP_FAILED);
    ASSERT_EQ(mprotect(static_cast<char*>(closed) + page, page, PROT_NONE), 0);
    for (void* const from : {short_file, closed}) {
        const auto* const end_of_page = static_cast<char*>(from) + page;
        hmm::stream one;
        EXPECT_NE(hmmMemcpyAsync(device_, end_of_page - 50, 100, hmmMemcpyHostToDevice, one.get()),
                  hmmSuccess);
        EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
        hmm::stream other;
        EXPECT_NE(
            hmmMemcpy2DAsync(device_, 10, from, page, 10, 2, hmmMemcpyHostToDevice, other.get()),
            hmmSuccess);
        EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
        EXPECT_EQ(munmap(from, 2 * page), 0);
    }
    close(file);
}

TEST_F(Copy, BadArgumentsAreErrorsAndCopyNothing) {
    int a = 1, b = 2;
    void* const end = reinterpret_cast<void*>(~std::uintptr_t{0} - 1);
    EXPECT_EQ(hmmMemcpy(&a, &b, 4, static_cast<hmmMemcpyKind>(5)), hmmErrorInvalidMemcpyDirection);
    EXPECT_EQ(hmmMemcpy(&a, &b, 4, static_cast<hmmMemcpyKind>(7)), hmmErrorInvalidMemcpyDirection);
    EXPECT_EQ(hmmMemcpy(nullptr, &b, 4, hmmMemcpyDefault), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemcpy(&a, nullptr, 4, hmmMemcpyDefault), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemcpy(&a, end, 4, hmmMemcpyDefault), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemcpy(&a, &b, SIZE_MAX, hmmMemcpyDefault), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemset(nullptr, 0, 4), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemset(end, 0, 4), hmmErrorInvalidValue);
    const auto nowhere = reinterpret_cast<hmmStream_t>(&a);
    EXPECT_EQ(hmmMemcpyAsync(&a, &b, 4, hmmMemcpyDefault, nowhere), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmMemsetAsync(&a, 0, 4, nowhere), hmmErrorInvalidResourceHandle);
    EXPECT_EQ(hmmMemcpy(nullptr, nullptr, 0, hmmMemcpyHostToDevice), hmmSuccess);
    EXPECT_EQ(hmmMemset(nullptr, 0, 0), hmmSuccess);
    EXPECT_EQ(hmmMemcpy(&a, &b, 0, static_cast<hmmMemcpyKind>(5)), hmmErrorInvalidMemcpyDirection);
    std::vector<int> more(2);
    EXPECT_THROW(hmm::copy(std::span(more), std::span<const int>(&b, 1)), hmm::error);
    hmm::synchronize();
    EXPECT_EQ(a, 1);
}

TEST_F(Copy, FromNowhereIsTheDevicesFault) {
    NEEDS_FAILURES();
    void* const hole = mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::vector<char> to(page);
    ASSERT_NE(hole, MAP_FAILED);
    EXPECT_EQ(hmmMemcpy(to.data(), hole, page, hmmMemcpyDefault), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmMemset(to.data(), 0, page), hmmErrorIllegalAddress) << "it stays until a reset";
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
    EXPECT_EQ(hmmMemset(to.data(), 1, page), hmmSuccess);
    EXPECT_EQ(std::count(to.begin(), to.end(), 1), static_cast<std::ptrdiff_t>(page));
    munmap(hole, page);
}

TEST_F(Copy, OfManagedMemoryThatIsFreedAtOnceIsDone) {
    constexpr std::size_t bytes = 5 << 20;
    std::vector<unsigned char> to(bytes);
    for (int round = 0; round < 5; round++) {
        void* raw = nullptr;
        ASSERT_EQ(hmmMallocManaged(&raw, bytes, hmmMemAttachGlobal), hmmSuccess);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(raw) % (2 << 20), 0u);
        const std::span from(static_cast<unsigned char*>(raw), bytes);
        EXPECT_EQ(std::count(from.begin(), from.end(), 0), static_cast<std::ptrdiff_t>(bytes));
        const hmm::stream in;
        hmm::set_bytes(from, static_cast<std::byte>(round + 1), in);
        hmm::copy(std::span(to), from, in);
        ASSERT_EQ(hmmFree(raw), hmmSuccess);
        EXPECT_EQ(std::count(to.begin(), to.end(), round + 1), static_cast<std::ptrdiff_t>(bytes));
    }
}

TEST_F(Copy, FreeWaitsForKernelsOfAllStreams) {
    void* raw = nullptr;
    ASSERT_EQ(hmmMallocManaged(&raw, 3, hmmMemAttachHost), hmmSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(raw) % 256, 0u);
    auto* const memory = static_cast<std::atomic<unsigned char>*>(raw);
    const hmm::stream apart(hmmStreamNonBlocking);
    std::atomic<bool> go = false;
    hmm::launch(apart, 1, [&, memory](std::size_t) {
        while (!go)
            memory->fetch_add(1);
    });
    std::thread other([&] {
        while (*memory < 100)
            std::this_thread::yield();
        go = true;
    });
    EXPECT_EQ(hmmFree(raw), hmmSuccess); // waits, or the kernel would fault
    EXPECT_TRUE(go);
    other.join();
}

TEST_F(Copy, OnlyMemoryOfTheLibraryIsFreedAndOnce) {
    void* memory = nullptr;
    int own = 0;
    EXPECT_EQ(hmmFree(nullptr), hmmSuccess);
    EXPECT_EQ(hmmFree(&own), hmmErrorInvalidValue);
    ASSERT_EQ(hmmMallocManaged(&memory, 3 * page, hmmMemAttachGlobal), hmmSuccess);
    EXPECT_EQ(hmmFree(static_cast<char*>(memory) + page), hmmErrorInvalidValue);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
    EXPECT_EQ(hmmFree(memory), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(&memory, 0, hmmMemAttachGlobal), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(&memory, 1, 0), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(&memory, 1, 3), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(nullptr, 1, hmmMemAttachGlobal), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMallocManaged(&memory, SIZE_MAX, hmmMemAttachGlobal), hmmErrorMemoryAllocation);
    EXPECT_EQ(hmmMallocManaged(&memory, std::size_t{1} << 46, hmmMemAttachGlobal),
              hmmErrorMemoryAllocation);
}

TEST_F(Copy, MemoryOfADeviceThatFailedIsStillFreed) {
    NEEDS_FAILURES();
    void* memory = nullptr;
    int* volatile nowhere = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, page, hmmMemAttachGlobal), hmmSuccess);
    hmm::launch(1, [to = nowhere](std::size_t) { *to = 1; });
    EXPECT_EQ(hmmFree(memory), hmmErrorIllegalAddress);
    EXPECT_EQ(hmmFree(memory), hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceReset(), hmmSuccess);
}

/// Returns how many bytes of device memory are in use.
std::size_t used() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(hmmMemGetInfo(&free, &total), hmmSuccess);
    return total - free;
}

TEST_F(Copy, ABatchOfPrefetchesGoesWhereItIsTold) {
    NEEDS_PAGES_THAT_MOVE();
    constexpr std::size_t bytes = 1 << 20, count = 4;
    void* memory[count];
    std::size_t sizes[count];
    for (std::size_t i = 0; i < count; i++) {
        ASSERT_EQ(hmmMallocManaged(&memory[i], bytes, hmmMemAttachGlobal), hmmSuccess);
        sizes[i] = bytes;
    }
    const hmmMemLocation device = {hmmMemLocationTypeDevice, 0}, host = {hmmMemLocationTypeHost, 0};
    const std::size_t before = used();
    const std::size_t all[] = {0}, halves[] = {0, 2};
    ASSERT_EQ(hmmMemPrefetchBatchAsync(memory, sizes, count, &device, all, 1, 0, nullptr),
              hmmSuccess);
    hmm::synchronize();
    EXPECT_EQ(used(), before + count * bytes);
    const hmmMemLocation both[] = {host, device};
    ASSERT_EQ(hmmMemPrefetchBatchAsync(memory, sizes, count, both, halves, 2, 0, nullptr),
              hmmSuccess);
    hmm::synchronize();
    EXPECT_EQ(used(), before + count / 2 * bytes);
    for (void* each : memory)
        EXPECT_EQ(hmmFree(each), hmmSuccess);
    EXPECT_EQ(used(), before);
}

/// For setgid(), the C library signals each thread of the program, including
/// the parked threads that make calls for lanes.
TEST_F(Copy, PrefetchesGoOnWhenASignalComesInBetween) {
    NEEDS_PAGES_THAT_MOVE();
    constexpr std::size_t bytes = 64 << 20;
    void* memory = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, bytes, hmmMemAttachGlobal), hmmSuccess);
    std::memset(memory, 1, bytes);
    const std::size_t before = used();
    std::atomic<bool> over = false;
    std::atomic<int> changes = 0;
    std::thread changes_group([&] {
        while (!over && setgid(getgid()) == 0)
            ++changes;
    });
    const hmmMemLocation device = {hmmMemLocationTypeDevice, 0};
    EXPECT_EQ(hmmMemPrefetchAsync(memory, bytes, device, 0, nullptr), hmmSuccess);
    EXPECT_EQ(hmmDeviceSynchronize(), hmmSuccess);
    over = true;
    changes_group.join();
    EXPECT_GT(changes, 0);
    EXPECT_EQ(used(), before + bytes);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
}

TEST_F(Copy, ABatchWithAMistakeMovesNothing) {
    void* memory = nullptr;
    ASSERT_EQ(hmmMallocManaged(&memory, page, hmmMemAttachGlobal), hmmSuccess);
    void* const ranges[] = {memory, memory};
    const std::size_t sizes[] = {page, page}, none[] = {page, 0};
    const hmmMemLocation device = {hmmMemLocationTypeDevice, 0};
    const hmmMemLocation both[] = {device, device};
    const hmmMemLocation wrong[] = {device, {hmmMemLocationTypeDevice, 99}};
    const std::size_t good[] = {0, 1}, late[] = {1}, beyond[] = {0, 2}, twice[] = {0, 0};
    const std::size_t before = used();
    const auto batch = [&](const std::size_t* of, const hmmMemLocation* where,
                           const std::size_t* first, std::size_t locations) {
        return hmmMemPrefetchBatchAsync(ranges, of, 2, where, first, locations, 0, nullptr);
    };
    EXPECT_EQ(batch(none, &device, good, 1), hmmErrorInvalidValue);
    EXPECT_EQ(batch(sizes, wrong, good, 2), hmmErrorInvalidDevice);
    EXPECT_EQ(batch(sizes, &device, late, 1), hmmErrorInvalidValue);
    EXPECT_EQ(batch(sizes, both, beyond, 2), hmmErrorInvalidValue);
    EXPECT_EQ(batch(sizes, both, twice, 2), hmmErrorInvalidValue);
    EXPECT_EQ(batch(sizes, both, good, 3), hmmErrorInvalidValue);
    EXPECT_EQ(batch(sizes, both, good, 0), hmmErrorInvalidValue);
    EXPECT_EQ(batch(nullptr, both, good, 2), hmmErrorInvalidValue);
    void* const no_memory[] = {memory, nullptr};
    EXPECT_EQ(hmmMemPrefetchBatchAsync(no_memory, sizes, 2, both, good, 2, 0, nullptr),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemDiscardBatchAsync(no_memory, sizes, 2, 0, nullptr), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemPrefetchBatchAsync(ranges, sizes, 0, both, good, 1, 0, nullptr),
              hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemPrefetchBatchAsync(ranges, sizes, 2, both, good, 2, 1, nullptr),
              hmmErrorInvalidValue);
    hmm::synchronize();
    EXPECT_EQ(used(), before);
    EXPECT_EQ(hmmFree(memory), hmmSuccess);
}

} // namespace
