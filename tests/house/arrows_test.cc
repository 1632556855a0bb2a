#include "tests/house/arrows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/house/scratch_tree.h"
#include "tests/house/tree.h"

namespace weft::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view kRules =
    "library <mpi>: mpi.h\n"
    "library <eigen>: Eigen/\n"
    "common:\n"
    "core: common/status.h\n"
    "model: common <eigen>\n"
    "model/main.cc: core\n"
    "transport: common\n"
    "  <mpi>\n"
    "tests/...: tests/... core common\n";

// The folders that the rules name, with two headers in common.
class Tree : public ScratchTree {
 public:
  Tree() {
    Write("common/status.h", "");
    Write("common/log.h", "");
  }
  std::vector<std::string> WrongIncludes() const { return FindWrongIncludes(ParseArrows(kRules).value(), root()); }
};

TEST(ArrowsTest, TheRepository_HasNoForbiddenInclude) {
  const Result<Arrows> arrows = ParseArrows(ReadText("tests/house/arrows.txt"));
  ASSERT_TRUE(arrows.ok()) << arrows.status();
  EXPECT_THAT(FindWrongIncludes(*arrows, "."), IsEmpty());
}

TEST(ArrowsTest, AllowedIncludes_PassInEveryForm) {
  const Tree tree;
  tree.Write("core/a.h", "#pragma once\n#include <vector>\n#include \"common/status.h\"\n");
  tree.Write("core/a.cc", "#include \"core/a.h\"\n");
  tree.Write("model/a.cc", "#include <Eigen/Core>\n#include \"common/log.h\"\n");
  tree.Write("transport/a.cc", "#include <mpi.h>\n");
  tree.Write("tests/core/a_test.cc", "#include \"core/a.h\"\n#include \"tests/core/helper.h\"\n");
  tree.Write("tests/core/helper.h", "");
  EXPECT_THAT(tree.WrongIncludes(), IsEmpty());
}

TEST(ArrowsTest, AnIncludeOfAFolderThatIsNotAllowed_IsFoundWithItsPlace) {
  const Tree tree;
  tree.Write("model/a.h", "");
  tree.Write("common/a.h", "#pragma once\n\n  #  include \"model/a.h\"  // up\n");
  EXPECT_THAT(tree.WrongIncludes(), ElementsAre("common/a.h:3: may not include \"model/a.h\""));
}

TEST(ArrowsTest, AnotherFileOfAFolderWithOneFileAllowed_IsFound) {
  const Tree tree;
  tree.Write("core/a.cc", "#include \"common/log.h\"\n");
  EXPECT_THAT(tree.WrongIncludes(), ElementsAre("core/a.cc:1: may not include \"common/log.h\""));
}

TEST(ArrowsTest, AGuardedLibraryOutsideOfItsFolder_IsFound) {
  const Tree tree;
  tree.Write("core/a.cc", "#include <mpi.h>\n#include <Eigen/Dense>\n");
  tree.Write("tests/core/a_test.cc", "#include \"mpi.h\"\n");
  EXPECT_THAT(tree.WrongIncludes(),
              ElementsAre("core/a.cc:1: may not include <mpi.h>", "core/a.cc:2: may not include <Eigen/Dense>",
                          "tests/core/a_test.cc:1: may not include <mpi.h>"));
}

TEST(ArrowsTest, AnIncludeThatIsNotFromTheRoot_IsFound) {
  const Tree tree;
  tree.Write("core/a.h", "");
  tree.Write("core/a.cc", "#include \"a.h\"\n");
  EXPECT_THAT(tree.WrongIncludes(), ElementsAre(HasSubstr("core/a.cc:1: \"a.h\" is not a file")));
}

TEST(ArrowsTest, AFolderWithoutALine_IsFound) {
  const Tree tree;
  tree.Write("core/deep/a.cc", "");
  EXPECT_THAT(tree.WrongIncludes(), ElementsAre(HasSubstr("core/deep/a.cc: its folder is not named")));
}

TEST(ArrowsTest, AFileWithALineOfItsOwn_DoesNotInheritItsFolders) {
  const Tree tree;
  tree.Write("core/a.h", "");
  tree.Write("model/main.cc", "#include \"core/a.h\"\n#include <Eigen/Core>\n");
  EXPECT_THAT(tree.WrongIncludes(), ElementsAre("model/main.cc:2: may not include <Eigen/Core>"));
}

TEST(ParseArrowsTest, BadLines_AreRefusedWithTheirNumber) {
  EXPECT_EQ(ParseArrows("common:\ncore common\n").status(), InvalidArgumentError("line 2: no colon in 'core common'"));
  EXPECT_EQ(ParseArrows("core:\ncore: common\n").status(), InvalidArgumentError("line 2: 'core' has a line already"));
  EXPECT_EQ(ParseArrows("core: <mpi>\n").status(), InvalidArgumentError("line 1: library <mpi> is not defined"));
  EXPECT_EQ(ParseArrows("  common\n").status(), InvalidArgumentError("line 1: nothing to go on from"));
}

}  // namespace
}  // namespace weft::house
