// SPDX-License-Identifier: MIT
// Annotations: what the runtime passes to the modules, and which section ends.
#include "memory_fixture.hpp"

namespace {

class Annotation : public MemoryOverFakes {
  protected:
    static const std::vector<hmmrt_annotate>& told() { return kernel.policy.annotations; }
};

TEST_F(Annotation, MarkHasItsText) {
    hmm::mark("here");
    ASSERT_EQ(told().size(), 1u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_MARK));
    EXPECT_STREQ(told()[0].text, "here");
    EXPECT_EQ(told()[0].addr, 0u);
    EXPECT_EQ(told()[0].len, 0u);
    EXPECT_EQ(told()[0].since, 0u);
}

TEST_F(Annotation, LongTextIsCut) {
    const std::string fits(HMMRT_EVENT_TEXT_BYTES - 1, 'x');
    hmm::mark(fits.c_str());
    hmm::mark((fits + "y").c_str());
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].text, fits);
    EXPECT_EQ(told()[1].text, fits);
}

TEST_F(Annotation, TextHasNoControlCharacters) {
    hmm::mark("a\nb\x1b[2J\x7f\xc3\xa9");
    ASSERT_EQ(told().size(), 1u);
    EXPECT_STREQ(told()[0].text, "a?b?[2J?\xc3\xa9");
    hmm::mark("\x9b"
              "2J\xc2\x9b"
              "2J\xe2\x80\xa8\xed\xa0\x80\xc3");
    EXPECT_STREQ(told()[1].text, "?2J??2J???????");
}

TEST_F(Annotation, TextIsCutBetweenCharacters) {
    const std::string fits(HMMRT_EVENT_TEXT_BYTES - 2, 'x');
    hmm::mark((fits + "\xc3\xa9").c_str());
    hmm::mark((fits.substr(1) + "\xc3\xa9z").c_str());
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].text, fits);
    EXPECT_EQ(told()[1].text, fits.substr(1) + "\xc3\xa9");
}

TEST_F(Annotation, SectionIsToldAtItsEndTheInnermostFirst) {
    {
        const hmm::section outer("outer");
        const hmm::section inner("inner");
        EXPECT_TRUE(told().empty());
    }
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_SECTION));
    EXPECT_STREQ(told()[0].text, "inner");
    EXPECT_STREQ(told()[1].text, "outer");
    EXPECT_GT(told()[1].since, 0u);
    EXPECT_GE(told()[0].since, told()[1].since) << "the outer one began first";
}

TEST_F(Annotation, SectionsAreThoseOfTheThread) {
    const hmm::section here("here");
    std::thread([] { EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue); }).join();
    EXPECT_TRUE(told().empty());
}

TEST_F(Annotation, SectionsInsideOfTooManyAreNotToldAndEndAllTheSame) {
    for (int i = 0; i < 64; i++)
        ASSERT_EQ(hmmRangePush("told"), hmmSuccess);
    EXPECT_EQ(hmmRangePush("not told"), hmmErrorInvalidConfiguration);
    EXPECT_EQ(hmmRangePush("not told"), hmmErrorInvalidConfiguration);
    for (int i = 0; i < 66; i++)
        EXPECT_EQ(hmmRangePop(), hmmSuccess);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue);
    ASSERT_EQ(told().size(), 64u);
    for (const hmmrt_annotate& each : told())
        EXPECT_STREQ(each.text, "told");
}

void recurse(int depth) {
    if (depth == 0) return;
    const hmm::section each("told");
    recurse(depth - 1);
}

TEST_F(Annotation, SectionsOfARecursionEndInTheirOrder) {
    recurse(66);
    EXPECT_EQ(told().size(), 64u);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue) << "none is left";
    forget_errors();
}

TEST_F(Annotation, NameHasTheBytesOfItsMemory) {
    hmm::name(memory().subspan(3, 7), "grid");
    EXPECT_EQ(hmmMemSetName(memory().data(), 1, nullptr), hmmSuccess);
    hmm::name(std::vector<int>(), "nothing");
    ASSERT_EQ(told().size(), 2u);
    EXPECT_EQ(told()[0].kind, static_cast<std::uint32_t>(HMMRT_ANNOTATE_NAME));
    EXPECT_EQ(told()[0].addr, address(3));
    EXPECT_EQ(told()[0].len, 7u);
    EXPECT_STREQ(told()[0].text, "grid");
    EXPECT_STREQ(told()[1].text, "");
}

TEST_F(Annotation, WithoutATextIsRefused) {
    for (const char* none : {static_cast<const char*>(nullptr), ""}) {
        EXPECT_EQ(hmmMark(none), hmmErrorInvalidValue);
        EXPECT_EQ(hmmRangePush(none), hmmErrorInvalidValue);
    }
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue) << "none has begun";
    EXPECT_TRUE(told().empty());
}

TEST_F(Annotation, ErrorsOfTheKernelAreToldAndTheSectionHasEnded) {
    kernel.policy.annotation_error = ENOTTY;
    EXPECT_EQ(hmmMark("here"), hmmErrorInsufficientDriver);
    EXPECT_EQ(hmmRangePush("section"), hmmSuccess);
    EXPECT_EQ(hmmRangePop(), hmmErrorInsufficientDriver);
    EXPECT_EQ(hmmRangePop(), hmmErrorInvalidValue);
    EXPECT_EQ(hmmMemSetName(memory().data(), 1, "name"), hmmErrorInsufficientDriver);
}

} // namespace
