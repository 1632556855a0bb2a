#include "common/rundir/digest.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// FIPS 180-4's examples.
TEST(Sha256Test, KnownTexts_GiveTheKnownDigests) {
  EXPECT_EQ(Sha256Of(Bytes("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Of(Bytes("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, Update_InParts_IsTheWhole) {
  Sha256 digest;
  digest.Update(Bytes("a"));
  digest.Update(Bytes(""));
  digest.Update(Bytes("bc"));
  EXPECT_EQ(digest.Finish(), Sha256Of(Bytes("abc")));
}

}  // namespace
}  // namespace weft
