#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>
#include <string>

#include "tests/cli/run_weft.h"

namespace weft {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string FileWith(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "weft_topology_command_" + name;
  std::ofstream(path) << text;
  return path;
}

std::string ReadAll(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

nlohmann::json Json(const std::string& arguments) {
  const CommandOutcome outcome = RunWeft("topology " + arguments + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

TEST(TopologyCommandTest, Ring_IsTold) {
  const CommandOutcome outcome = RunWeft("topology ring --nodes 4");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("Ring\nnodes    4\nedges    4\ndegree   2\nlambda2  2\nrho_min  2\nrho_max  2\n"));
  EXPECT_EQ(outcome.err, "");
}

TEST(TopologyCommandTest, Json_HasFactsAndNeighbours) {
  const nlohmann::json ring = Json("Ring --nodes 6");
  EXPECT_EQ(ring["topology"], "Ring");
  EXPECT_EQ(ring["nodes"], 6);
  EXPECT_EQ(ring["edges"], 6);
  EXPECT_NEAR(ring["lambda2"].get<double>(), 2 - 2 * std::cos(2 * std::numbers::pi / 6), 1e-9);
  EXPECT_EQ(ring["rho_min"], 2);
  EXPECT_EQ(ring["rho_max"], 2);
  EXPECT_EQ(ring["neighbours"][0], (std::vector<int>{1, 5}));
}

TEST(TopologyCommandTest, SeedThatIsNone_IsRefused) {
  for (const std::string seed : {"-1", "18446744073709551616", "1.5", "x"}) {
    const CommandOutcome outcome = RunWeft("topology random-regular --nodes 8 --degree 3 --seed " + seed);
    EXPECT_EQ(outcome.exit_code, 2) << seed;
    EXPECT_THAT(outcome.err, HasSubstr("--seed: " + seed + " is not within [0, 18446744073709551615]"));
  }
  EXPECT_EQ(RunWeft("topology random-regular --nodes 8 --degree 3 --seed 18446744073709551615").exit_code, 0);
}

TEST(TopologyCommandTest, MostNodes_HoldTheClosedForm) {
  EXPECT_NEAR(Json("hypercube --nodes 1024")["lambda2"].get<double>(), 2, 1e-9);
  EXPECT_NEAR(Json("complete --nodes 1024")["lambda2"].get<double>(), 1024, 1e-9);
  EXPECT_NEAR(Json("torus --nodes 1024")["lambda2"].get<double>(), 2 - 2 * std::cos(2 * std::numbers::pi / 32), 1e-9);
}

TEST(TopologyCommandTest, Names_AreTakenInAnyCaseWithAndWithoutHyphens) {
  for (const std::string name : {"random-regular", "RandomRegular", "RANDOMREGULAR"}) {
    EXPECT_EQ(Json(name + " --nodes 8 --degree 3")["topology"], "RandomRegular");
  }
  EXPECT_EQ(Json("hyper-cube --nodes 8")["lambda2"].get<double>() - 2 < 1e-9, true);
  EXPECT_EQ(Json("dragonfly --nodes 36")["rho_max"], 5);
}

TEST(TopologyCommandTest, RandomRegular_FollowsItsSeed) {
  const std::string command = "random-regular --nodes 16 --degree 3 --seed ";
  EXPECT_EQ(Json(command + "5"), Json(command + "5"));
  EXPECT_NE(Json(command + "5"), Json(command + "6"));
}

TEST(TopologyCommandTest, EdgeList_IsTakenInlineAndFromAFile) {
  const nlohmann::json star = Json("edge-list --edges 0-1,0-2,0-3");
  EXPECT_EQ(star["nodes"], 4);
  EXPECT_EQ(star["rho_max"], 3);
  EXPECT_EQ(Json("edge-list --nodes 4 --edges '[[0, 1], [0, 2], [0, 3]]'"), star);
  EXPECT_EQ(Json("EdgeList --edges " + FileWith("star.txt", "# a star\n0-1\n 0 2 # two\n\n0 - 3\n")), star);
  EXPECT_EQ(Json("EdgeList --edges " + FileWith("star.json", "[[0,1],\n[0,2],[0,3]]\n")), star);
}

TEST(TopologyCommandTest, Picture_OfASmallGraph_NamesEveryNode) {
  const CommandOutcome torus = RunWeft("topology torus --nodes 12");
  EXPECT_THAT(torus.out, HasSubstr("  0 -  1 -  2 -  3 -\n  |    |    |    |\n  4 -  5"));
  const std::string complete = RunWeft("topology complete --nodes 12").out;
  for (int node = 0; node < 12; ++node) EXPECT_THAT(complete, ContainsRegex("[ \n]" + std::to_string(node) + "[ \n]"));
  EXPECT_THAT(RunWeft("topology ring --nodes 20").out, HasSubstr("\n 0 \\#.................#\n 1 #\\#....."));
  EXPECT_THAT(RunWeft("topology ring --nodes 65").out, HasSubstr("--dot and --svg only"));
}

TEST(TopologyCommandTest, Dot_IsGraphvizsLanguage) {
  EXPECT_EQ(RunWeft("topology ring --nodes 3 --dot").out,
            "graph weft {\n  layout=circo;\n  node [shape=circle, fontname=\"sans-serif\"];\n  0;\n  1;\n  2;\n"
            "  0 -- 1;\n  0 -- 2;\n  1 -- 2;\n}\n");
}

// A folder with a `dot` in it, for PATH.
std::string FolderWithDot(const std::string& name, const std::string& script) {
  const std::string folder = testing::TempDir() + "weft_topology_path_" + name;
  mkdir(folder.c_str(), 0755);
  const std::string program = folder + "/dot";
  std::ofstream(program) << "#!/bin/sh\n" << script;
  chmod(program.c_str(), 0755);
  return folder;
}

TEST(TopologyCommandTest, Svg_IsWhatGraphvizDraws) {
  // As `dot -Tsvg -o OUT IN` is called: the drawing holds what it was given.
  setenv("PATH", (FolderWithDot("draws", "cat \"$4\" > \"$3\"\n") + ":/usr/bin:/bin").c_str(), 1);
  const std::string file = testing::TempDir() + "weft_topology.svg";
  const CommandOutcome outcome = RunWeft("topology ring --nodes 3 --svg " + file);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("lambda2  3\n"));
  EXPECT_EQ(ReadAll(file), RunWeft("topology ring --nodes 3 --dot").out);
}

TEST(TopologyCommandTest, Svg_GraphvizFails_IsOneLineAndLeavesTheFile) {
  setenv("PATH", (FolderWithDot("fails", "echo no fonts >&2\necho more >&2\nexit 3\n") + ":/usr/bin:/bin").c_str(), 1);
  const std::string file = FileWith("kept.svg", "kept");
  const CommandOutcome outcome = RunWeft("topology ring --nodes 3 --svg " + file);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "weft: --svg: Graphviz ended with exit code 3: no fonts\n");
  EXPECT_EQ(ReadAll(file), "kept");
}

TEST(TopologyCommandTest, Svg_WithoutGraphviz_SaysSo) {
  setenv("PATH", testing::TempDir().c_str(), 1);
  const CommandOutcome outcome = RunWeft("topology ring --nodes 3 --svg " + testing::TempDir() + "none.svg");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(outcome.err, "weft: --svg: drawing needs Graphviz (dot or neato), which is not in PATH\n");
}

struct Refused {
  const char* arguments;
  const char* message;
};

class TopologyRefusalTest : public testing::TestWithParam<Refused> {};

TEST_P(TopologyRefusalTest, BadInput_IsOneLine) {
  const CommandOutcome outcome = RunWeft(std::string("topology ") + GetParam().arguments);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().message));
  EXPECT_THAT(outcome.err, MatchesRegex("weft: [^\n]*\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, TopologyRefusalTest,
    testing::Values(Refused{"hypercube --nodes 3", "weft: Hypercube needs a power of two nodes, not 3\n"},
                    Refused{"ring --nodes 1", "weft: Ring needs 2 nodes or more, not 1\n"},
                    Refused{"torus --nodes 8", "weft: Torus needs a x b nodes with a and b 3 or more, not 8\n"},
                    Refused{"rnig --nodes 8",
                            "rnig is not one of Complete, Ring, Torus, Hypercube, RandomRegular, Dragonfly, "
                            "EdgeList; did you mean Ring?\n"},
                    Refused{"ring", "--nodes is missing"},
                    Refused{"ring --nodes 0", "--nodes: 0 nodes are not 1 to 1024"},
                    Refused{"ring --nodes 1000000000", "--nodes: 1000000000 nodes are not 1 to 1024"},
                    Refused{"ring --nodes many", "--nodes"},
                    Refused{"ring --nodes 4 --degree 2", "--degree is only for RandomRegular"},
                    Refused{"random-regular --nodes 4", "--degree is missing, which RandomRegular needs"},
                    Refused{"random-regular --nodes 5 --degree 3", "--degree: 3 times 5 nodes is odd"},
                    Refused{"random-regular --nodes 4 --degree -1", "--degree: -1 is below 1"},
                    Refused{"ring --nodes 4 --edges 0-1", "--edges is only for EdgeList"},
                    Refused{"edge-list --nodes 4", "--edges is missing, which EdgeList needs"},
                    Refused{"edge-list --edges 0-1,2-3", "--edges: the graph falls apart into {0, 1} and {2, 3}\n"},
                    Refused{"edge-list --nodes 2 --edges 0-1,1-2", "--edges: 1-2 names a node that is not in 0 .. 1"},
                    Refused{"edge-list --edges 0-1,2", "--edges: 2 is not an edge such as 0-1"},
                    Refused{"edge-list --edges 0-99999999999", "--edges: 0-99999999999 is not an edge"},
                    Refused{"edge-list --edges 0-2000000000", "0-2000000000 names a node"},
                    Refused{"edge-list --edges '[[0,1],[1]]'", "--edges: [1] is not an edge such as [0, 1]"},
                    Refused{"edge-list --edges '[[0,1'", "--edges: [[0,1 is not a list of pairs"},
                    Refused{"edge-list --edges '[]'", "--edges: there is no edge in it"},
                    Refused{"edge-list --edges /nowhere/edges", "--edges: "},
                    Refused{"ring --nodes 4 --json --dot", "--json and --dot exclude each other"},
                    Refused{"", "NAME is required"}));

}  // namespace
}  // namespace weft
