#include "tests/house/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/scratch_tree.h"

namespace weft::house {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LinksTest, TheRepository_HasNoBrokenLink) { EXPECT_THAT(FindBrokenLinks("."), IsEmpty()); }

TEST(LinksTest, GoodLinks_Pass) {
  const ScratchTree tree;
  tree.Write("README.md", "[a](docs/a.md), [b](docs/a.md#two-words), [c](https://example.org/x) [d](#top)\n# Top\n");
  tree.Write("docs/a.md", "## Two `words`!\n[up](../README.md) ![p](p.svg \"a picture\")\n");
  tree.Write("docs/p.svg", "");
  EXPECT_THAT(FindBrokenLinks(tree.root()), IsEmpty());
}

TEST(LinksTest, MissingFilesAndHeadings_AreFoundWithTheirPlace) {
  const ScratchTree tree;
  tree.Write("docs/a.md", "# A\n[x](b.md) and [y](a.md#c)\n![z](z.svg)\n");
  EXPECT_THAT(FindBrokenLinks(tree.root()),
              ElementsAre("docs/a.md:2: leads nowhere: b.md", "docs/a.md:2: leads nowhere: a.md#c",
                          "docs/a.md:3: leads nowhere: z.svg"));
}

TEST(LinksTest, Code_IsNotRead) {
  const ScratchTree tree;
  tree.Write("a.md", "`v[i](j)`\n```\n[x](b.md)\n# no heading\n```\n[y](#no-heading)\n");
  EXPECT_THAT(FindBrokenLinks(tree.root()), ElementsAre("a.md:6: leads nowhere: #no-heading"));
}

TEST(WordsTest, TheRepository_HasNoPathOfADevelopersMachine) {
  // Put together here, so that this file passes too.
  EXPECT_THAT(FindWords(".", {std::string("/wor") + "k/", std::string("/home") + "/", std::string("TO") + "DO"}),
              IsEmpty());
}

TEST(WordsTest, AWord_IsFoundWithItsPlaceInTextOnly) {
  const ScratchTree tree;
  tree.Write("a/b.txt", "one\ntwo three\n");
  tree.Write("a/binary", std::string("two\0", 4));
  tree.Write("build/c.txt", "two\n");
  EXPECT_THAT(FindWords(tree.root(), {"two"}), ElementsAre("a/b.txt:2: has 'two'"));
}

}  // namespace
}  // namespace weft::house
