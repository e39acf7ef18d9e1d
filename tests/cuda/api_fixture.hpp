// SPDX-License-Identifier: MIT
// Fixture and helpers for the tests of CUDA's calls.
#pragma once

#include "device_fixture.hpp"

#include <cuda_runtime.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

/// Expects that the call returns the error, and that cudaGetLastError() returns it once.
#define EXPECT_REFUSED(call, error)                                                                \
    do {                                                                                           \
        EXPECT_EQ(call, error) << #call;                                                           \
        EXPECT_EQ(cudaPeekAtLastError(), error) << #call;                                          \
        EXPECT_EQ(cudaGetLastError(), error) << #call;                                             \
        EXPECT_EQ(cudaGetLastError(), cudaSuccess) << #call;                                       \
    } while (false)

#define EXPECT_DONE(call) EXPECT_EQ(call, cudaSuccess) << #call << ": " << hmmGetLastErrorDetail()
#define ASSERT_DONE(call) ASSERT_EQ(call, cudaSuccess) << #call << ": " << hmmGetLastErrorDetail()

/// For tests that pass numbers outside of an enumeration's range.
#define NEEDS_VALUES_OF_NO_ENUMERATION()                                                           \
    if (has_sanitizer) GTEST_SKIP() << "UBSan ends the program at such a number"

/// Resets the device after each test, and expects that the test left no error.
class OnCudaDevice : public testing::Test {
  protected:
    ~OnCudaDevice() override {
        EXPECT_EQ(cudaGetLastError(), cudaSuccess);
        cudaDeviceReset();
    }

    /// Queues function(argument) as device code.
    static cudaError_t run(hmmRangeFunction_t function, void* argument,
                           cudaStream_t stream = nullptr) {
        return static_cast<cudaError_t>(
            hmmLaunchRange(function, argument, 1, nullptr, reinterpret_cast<hmmStream_t>(stream)));
    }
    static int number_of_devices() {
        int count = 0;
        EXPECT_DONE(cudaGetDeviceCount(&count));
        return count;
    }

    static constexpr int no_such_device = 77;
};

/// A stream that is blocked until release(). Then it sets numbers to 2.
class held_stream {
  public:
    explicit held_stream(int* numbers = nullptr, int count = 0) : numbers_(numbers), count_(count) {
        EXPECT_DONE(cudaStreamCreate(&stream_));
        const auto wait = [](void* raw, uint64_t, uint64_t) {
            auto& self = *static_cast<held_stream*>(raw);
            while (!self.go_)
                continue;
            for (int i = 0; i < self.count_; i++)
                self.numbers_[i] = 2;
        };
        EXPECT_EQ(hmmLaunchRange(wait, this, 1, nullptr, reinterpret_cast<hmmStream_t>(stream_)),
                  hmmSuccess);
    }
    held_stream(const held_stream&) = delete;
    held_stream& operator=(const held_stream&) = delete;
    ~held_stream() {
        if (other_.joinable()) other_.join();
        release();
        EXPECT_DONE(cudaStreamDestroy(stream_));
    }

    cudaStream_t get() const { return stream_; }
    void release() {
        go_ = true;
        EXPECT_DONE(cudaStreamSynchronize(stream_));
    }
    /// Releases the stream from another thread once the caller sleeps.
    void release_later() {
        other_ = std::thread([this, caller = gettid()] {
            EXPECT_TRUE(falls_asleep(caller));
            go_ = true;
        });
    }

  private:
    cudaStream_t stream_ = nullptr;
    int* numbers_;
    int count_;
    std::atomic<bool> go_ = false;
    std::thread other_;
};

/// Calls copy(to, from, stream) with 16 numbers on the stack, and expects that
/// the call has read its source when it returns.
template <class Copy>
void expect_source_taken(int* to, Copy copy) {
    int source[16];
    std::fill_n(source, 16, 1);
    held_stream stream;
    copy(to, source, stream.get());
    EXPECT_EQ(cudaStreamQuery(stream.get()), cudaErrorNotReady) << "the call has waited";
    EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady);
    std::fill_n(source, 16, 3);
    stream.release();
    EXPECT_EQ(to[0] + to[15], 2);
}

/// Expects that a copy to the stack is complete when the call returns.
template <class Copy>
void expect_complete(int* from, Copy copy) {
    int target[16] = {};
    std::fill_n(from, 16, 1);
    held_stream stream(from, 16);
    stream.release_later();
    copy(target, from, stream.get());
    EXPECT_EQ(target[0] + target[15], 4);
}
