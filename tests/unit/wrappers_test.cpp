// SPDX-License-Identifier: MIT
// The C++ interface: owners of memory, attributes.
#include "memory_fixture.hpp"

#include "hmm/attributes.hpp"
#include "hmm/managed_memory.hpp"

#include <vector>

namespace {

using Wrappers = MemoryOverFakes;

TEST_F(Wrappers, ManagedMemoryIsGivenBackByItsLastOwner) {
    const int* where = nullptr;
    {
        hmm::managed_memory<int> first(1000);
        hmm::managed_memory<int> second = std::move(first);
        EXPECT_TRUE(first.get().empty());
        ASSERT_EQ(second.get().size(), 1000u);
        EXPECT_EQ(second.get()[999], 0);
        where = second.get().data();
        EXPECT_EQ(hmm::attributes(where).type, hmmMemoryTypeManaged);
    }
    EXPECT_EQ(hmm::attributes(where).type, hmmMemoryTypeUnregistered);
    EXPECT_THROW(hmm::managed_memory<int>(0), hmm::error);
    EXPECT_THROW(hmm::managed_memory<int>(SIZE_MAX / 2), hmm::error);
}

TEST_F(Wrappers, AttributesAreThoseOfAllPages) {
    hmm::advise(memory(), hmm::read_mostly);
    hmm::advise(memory(), hmm::preferred(hmm::device(1))); // whose id is 2
    hmm::advise(memory(), hmm::accessed_by(hmm::device(1)));
    hmm::advise(memory(), hmm::accessed_by(hmm::host));
    hmm::prefetch(memory(), hmm::numa_node(7));
    hmm::synchronize();
    const auto found = hmm::attributes(memory());
    EXPECT_TRUE(found.read_mostly);
    EXPECT_EQ(found.preferred.type, hmmMemLocationTypeDevice);
    EXPECT_EQ(found.preferred.id, 1);
    EXPECT_EQ(found.last_prefetch.type, hmmMemLocationTypeHostNuma);
    EXPECT_EQ(found.last_prefetch.id, 7);
    EXPECT_EQ(found.accessed_by, (std::vector{1, hmmCpuDeviceId}));
    EXPECT_THROW(hmm::attributes(std::span(static_cast<char*>(hole()), page)), hmm::error);
}

TEST_F(Wrappers, AttributesOfWhatWasNeverAdvisedAreNone) {
    for (const auto& found : {hmm::attributes(memory()), hmm::attributes(memory().first(0))}) {
        EXPECT_FALSE(found.read_mostly);
        EXPECT_EQ(found.preferred.type, hmmMemLocationTypeInvalid);
        EXPECT_EQ(found.last_prefetch.type, hmmMemLocationTypeInvalid);
        EXPECT_TRUE(found.accessed_by.empty());
    }
}

} // namespace
