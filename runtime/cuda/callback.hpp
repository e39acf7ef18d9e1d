// SPDX-License-Identifier: MIT
// Stream callbacks that receive errors of their own interface.
#pragma once

#include "convert.hpp"

#include <memory>
#include <new>

namespace hmmcuda {

/// A callback of the program, called once. error_of() converts the error for
/// it.
template <class Callback, auto error_of>
struct callback_call {
    Callback callback;
    void* user_data;

    static void run(hmmStream_t stream, hmmError_t status, void* self) {
        const std::unique_ptr<callback_call> call(static_cast<callback_call*>(self));
        call->callback(reinterpret_cast<cudaStream_t>(stream), error_of(status), call->user_data);
    }
};

/// hmmStreamAddCallback() for such a callback.
template <class Callback, auto error_of>
hmmError_t add_callback(cudaStream_t stream, Callback callback, void* user_data, unsigned flags) {
    using call_type = callback_call<Callback, error_of>;
    if (callback == nullptr) return hmmStreamAddCallback(to_hmm(stream), nullptr, nullptr, flags);
    std::unique_ptr<call_type> call(new (std::nothrow) call_type{callback, user_data});
    if (!call) return hmmErrorMemoryAllocation;
    const hmmError_t code = hmmStreamAddCallback(to_hmm(stream), call_type::run, call.get(), flags);
    // The stream now owns the call.
    if (code == hmmSuccess) static_cast<void>(call.release());
    return code;
}

} // namespace hmmcuda
