// SPDX-License-Identifier: MIT
// Devices that use each other's memory.
#include "memory_fixture.hpp"

#include "hmm/peer.hpp"

namespace {

using Peer = MemoryOverFakes;

TEST_F(Peer, AccessIsAskedForByNumber) {
    EXPECT_TRUE(hmm::can_access(hmm::device(0), hmm::device(1)));
    EXPECT_FALSE(hmm::can_access(hmm::device(0), hmm::device(0)));
    kernel.memory.peers_possible = false;
    EXPECT_FALSE(hmm::can_access(hmm::device(1), hmm::device(0)));
    int can = 0;
    EXPECT_EQ(hmmDeviceCanAccessPeer(&can, -1, 0), hmmErrorInvalidDevice);
}

TEST_F(Peer, AccessIsEnabledAndDisabledOnce) {
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmErrorPeerAccessNotEnabled);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmSuccess);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmErrorPeerAccessAlreadyEnabled);
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmSuccess);
    EXPECT_EQ(hmmDeviceDisablePeerAccess(1), hmmErrorPeerAccessNotEnabled);
}

TEST_F(Peer, AccessIsOfOneDirection) {
    const hmm::peer_access there(hmm::device(0), hmm::device(1));
    const hmm::scoped_device other(hmm::device(1));
    EXPECT_EQ(hmmDeviceDisablePeerAccess(0), hmmErrorPeerAccessNotEnabled);
}

TEST_F(Peer, OwnersEndTheAccess) {
    {
        hmm::peer_access first(hmm::device(1), hmm::device(0));
        const hmm::peer_access second = std::move(first);
        EXPECT_THROW(static_cast<void>(hmm::peer_access(hmm::device(1), hmm::device(0))),
                     hmm::error);
    }
    const hmm::peer_access again(hmm::device(1), hmm::device(0));
}

TEST_F(Peer, WrongArgumentsAreRefused) {
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 1), hmmErrorInvalidValue);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(0, 0), hmmErrorInvalidDevice);
    EXPECT_EQ(hmmDeviceEnablePeerAccess(7, 0), hmmErrorInvalidDevice);
    kernel.memory.peers_possible = false;
    EXPECT_EQ(hmmDeviceEnablePeerAccess(1, 0), hmmErrorPeerAccessUnsupported);
}

} // namespace
