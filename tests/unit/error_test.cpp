// SPDX-License-Identifier: MIT
#include "hmm/hmm_runtime.h"
#include "messages.hpp"

#include <string>

namespace {

constexpr hmmError_t all_errors[] = {
    hmmSuccess,
    hmmErrorInvalidValue,
    hmmErrorMemoryAllocation,
    hmmErrorInitializationError,
    hmmErrorInvalidConfiguration,
    hmmErrorInvalidMemcpyDirection,
    hmmErrorInsufficientDriver,
    hmmErrorDevicesUnavailable,
    hmmErrorNoDevice,
    hmmErrorInvalidDevice,
    hmmErrorPeerAccessUnsupported,
    hmmErrorInvalidResourceHandle,
    hmmErrorNotReady,
    hmmErrorIllegalAddress,
    hmmErrorPeerAccessAlreadyEnabled,
    hmmErrorPeerAccessNotEnabled,
    hmmErrorAssert,
    hmmErrorHostMemoryAlreadyRegistered,
    hmmErrorHostMemoryNotRegistered,
    hmmErrorIllegalInstruction,
    hmmErrorLaunchFailure,
    hmmErrorNotPermitted,
    hmmErrorNotSupported,
    hmmErrorUnknown,
    hmmErrorSystemCall,
    hmmErrorDeviceLost,
    hmmErrorForkedProcess,
};

TEST(Error, EveryCodeHasItsNameAndASentence) {
    for (const hmmError_t code : all_errors) {
        const std::string name = hmmGetErrorName(code);
        EXPECT_EQ(name.rfind("hmm", 0), 0u) << code;
        EXPECT_FALSE(std::string(hmmGetErrorString(code)).empty()) << name;
    }
    EXPECT_STREQ(hmmGetErrorName(hmmErrorIllegalAddress), "hmmErrorIllegalAddress");
}

TEST(Error, AnUnknownCodeIsNotNull) {
    EXPECT_STREQ(hmmGetErrorName(static_cast<hmmError_t>(4711)), "unrecognized error code");
    EXPECT_STREQ(hmmGetErrorString(static_cast<hmmError_t>(4711)), "unrecognized error code");
}

TEST(Error, NoDeviceSaysWhatToDo) {
    const std::string text = hmmGetErrorString(hmmErrorNoDevice);
    EXPECT_TRUE(mentions(text, {"modprobe hmmrt_simgpu", "tools/vm"}));
}

} // namespace
