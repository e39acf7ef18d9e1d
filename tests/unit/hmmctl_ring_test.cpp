// SPDX-License-Identifier: MIT
// hmmctl's reader of event rings, on rings in ordinary memory.
#include "hmmctl_failure.hpp"

#include "event_ring.hpp"

#include <cstring>
#include <vector>

using namespace hmmctl;

namespace {

constexpr std::uint32_t events = 64, data_bytes = 4096;

/// A ring as the kernel makes it. Events may be longer than in the version that hmmctl knows.
class fake_ring {
  public:
    explicit fake_ring(std::uint32_t event_bytes = sizeof(hmmrt_event))
        : memory_((data_bytes + events * event_bytes) / sizeof(std::uint64_t)) {
        header().events = events;
        header().event_bytes = event_bytes;
        header().data_bytes = data_bytes;
        header().version = HMMRT_UAPI_VERSION;
    }

    hmmrt_event_ring& header() { return *reinterpret_cast<hmmrt_event_ring*>(memory_.data()); }
    void* at() { return memory_.data(); }
    std::size_t bytes() const { return memory_.size() * sizeof(std::uint64_t); }

    void write(std::uint64_t serial) {
        hmmrt_event event = {};
        event.serial = serial;
        event.type = HMMRT_EVENT_MAP;
        std::memcpy(reinterpret_cast<char*>(memory_.data()) + data_bytes +
                        header().head % events * header().event_bytes,
                    &event, sizeof(event));
        header().head++;
    }

  private:
    std::vector<std::uint64_t> memory_;
};

std::vector<std::uint64_t> serials(ring_reader& reader) {
    std::vector<hmmrt_event> got;
    const std::size_t number = reader.read(got);
    EXPECT_EQ(number, got.size());
    std::vector<std::uint64_t> found;
    for (const hmmrt_event& event : got) {
        EXPECT_EQ(event.type, HMMRT_EVENT_MAP);
        found.push_back(event.serial);
    }
    return found;
}

TEST(HmmctlRing, IsReadInOrderAcrossItsEnd) {
    for (const std::uint64_t start : {0ull, 61ull, ~0ull - 2}) {
        fake_ring ring;
        ring.header().head = ring.header().tail = start;
        ring_reader reader(ring.at(), ring.bytes());
        EXPECT_TRUE(serials(reader).empty());
        for (std::uint64_t i = 1; i <= 5; i++)
            ring.write(i);
        EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
        EXPECT_EQ(ring.header().tail, start + 5) << "the kernel gets the space back";
        EXPECT_TRUE(serials(reader).empty());
    }
}

TEST(HmmctlRing, MayBeFull) {
    fake_ring ring;
    ring_reader reader(ring.at(), ring.bytes());
    for (std::uint64_t i = 0; i < events; i++)
        ring.write(i);
    const std::vector<std::uint64_t> got = serials(reader);
    ASSERT_EQ(got.size(), events);
    EXPECT_EQ(got.back(), events - 1);
}

TEST(HmmctlRing, KeepsTheDistanceOfLongerEvents) {
    fake_ring ring(sizeof(hmmrt_event) + 24);
    ring_reader reader(ring.at(), ring.bytes());
    for (std::uint64_t i = 1; i <= 3; i++)
        ring.write(i);
    EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST(HmmctlRing, SaysWhatWasDropped) {
    fake_ring ring;
    const ring_reader reader(ring.at(), ring.bytes());
    ring.header().dropped[HMMRT_EVENT_MAP] = 3;
    ring.header().dropped[63] = 4;
    EXPECT_EQ(reader.dropped()[HMMRT_EVENT_MAP], 3u);
    EXPECT_EQ(sum_of(reader.dropped()), 7u);
}

TEST(HmmctlRing, ThatHasMoreThanItCanIsRefused) {
    for (const std::uint64_t head : {std::uint64_t{events + 1}, ~std::uint64_t{0}}) {
        fake_ring ring;
        ring_reader reader(ring.at(), ring.bytes());
        ring.header().head = head;
        std::vector<hmmrt_event> got;
        EXPECT_TRUE(mentions(failure_of([&] { reader.read(got); }),
                             {"event ring", "corrupted", "more events"}));
        EXPECT_TRUE(got.empty());
    }
}

/// The reader keeps the values that it validated: later changes of the header do not redirect its
/// reads.
TEST(HmmctlRing, WithALaterChangeOfItsSizesIsReadAsItWasOpened) {
    fake_ring ring;
    ring_reader reader(ring.at(), ring.bytes());
    ring.write(1);
    ring.header().events = 1u << 31;
    ring.header().event_bytes = 1u << 30;
    ring.header().data_bytes = ~0u;
    EXPECT_EQ(serials(reader), (std::vector<std::uint64_t>{1}));
}

struct damage {
    const char* name;
    void (*inflict)(hmmrt_event_ring&);
};

class HmmctlRingWith : public testing::TestWithParam<damage> {};

TEST_P(HmmctlRingWith, AWrongHeaderIsRefused) {
    fake_ring ring;
    GetParam().inflict(ring.header());
    EXPECT_NE(failure_of([&] { ring_reader(ring.at(), ring.bytes()); }), "");
}

constexpr damage damages[] = {
    {"NoEvents", [](hmmrt_event_ring& ring) { ring.events = 0; }},
    {"EventsThatAreNoPowerOfTwo", [](hmmrt_event_ring& ring) { ring.events = 63; }},
    {"TooManyEventsForItsSize", [](hmmrt_event_ring& ring) { ring.events = 128; }},
    {"TooManyEvents", [](hmmrt_event_ring& ring) { ring.events = 1u << 31; }},
    {"ShortEvents", [](hmmrt_event_ring& ring) { ring.event_bytes = 128; }},
    {"EventsWithoutSize", [](hmmrt_event_ring& ring) { ring.event_bytes = 0; }},
    {"EventsBeyondTheEnd", [](hmmrt_event_ring& ring) { ring.event_bytes += 8; }},
    {"HugeEvents", [](hmmrt_event_ring& ring) { ring.event_bytes = 0xfffffff8; }},
    {"DataInTheHeader", [](hmmrt_event_ring& ring) { ring.data_bytes = 8; }},
    {"DataBeyondTheEnd", [](hmmrt_event_ring& ring) { ring.data_bytes = 0xfffffff8; }},
    {"MisalignedData", [](hmmrt_event_ring& ring) { ring.data_bytes -= 4; }},
    {"AnotherVersion", [](hmmrt_event_ring& ring) { ring.version++; }},
};

INSTANTIATE_TEST_SUITE_P(, HmmctlRingWith, testing::ValuesIn(damages),
                         [](const auto& of) { return of.param.name; });

TEST(HmmctlRing, ThatIsTooSmallForItsHeaderIsRefused) {
    fake_ring ring;
    EXPECT_NE(failure_of([&] { ring_reader(ring.at(), sizeof(hmmrt_event_ring) - 1); }), "");
}

} // namespace
