#include "common/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Json = nlohmann::ordered_json;

constexpr const char* kPlan = R"({"strategy":"InterleavedPS","period":2,"iteration_us":1000,
  "groups":[{"index":0,"layers":["c","b","a"],"slot_us":100},{"index":1,"layers":["z"],"slot_us":50}],
  "shards":[{"group":0,"server":0,"first":0,"count":9}]})";

// A worker's iteration of 1 ms with a transfer that starts 10 us after its plan and takes 80 us.
std::string Line(int iteration, int rank) {
  const Json line = {{"iteration", iteration},
                     {"epoch", 1},
                     {"rank", rank},
                     {"start_ns", 1'000'000'000 + int64_t{1'000'000} * iteration},
                     {"iteration_us", 1000.0},
                     {"forward_us", 300.0},
                     {"stall_us", 20.0},
                     {"communication_us", 50.0},
                     {"group_stall_us", {20.0, 0.0}},
                     {"loss", 2.0},
                     {"accuracy", 0.5},
                     {"transfers", Json::array({{{"group", iteration % 2},
                                                 {"slot", 1},
                                                 {"server", 0},
                                                 {"round", iteration / 2},
                                                 {"planned_start_us", 100.0},
                                                 {"start_us", 110.0},
                                                 {"granted_us", 115.0},
                                                 {"transfer_us", 80.0},
                                                 {"push_bytes", 400},
                                                 {"pull_bytes", 300},
                                                 {"staleness_wait_us", 0.0},
                                                 {"overrun", iteration == 4}}})}};
  return line.dump() + "\n";
}

std::string Evaluation(int iteration, double accuracy) {
  return Json({{"iteration", iteration}, {"epoch", 1}, {"evaluation", {{"loss", 0.5}, {"accuracy", accuracy}}}})
             .dump() +
         "\n";
}

class ReportTest : public testing::Test {
 protected:
  void SetUp() override {
    WriteBytes(folder_ / "job.yaml", "metadata: {name: small}\n");
    WriteBytes(folder_ / "plan.json", kPlan);
    WriteBytes(folder_ / "summary.json", R"({"job":"small","exit_code":0})");
    std::string metrics;
    for (int iteration = 1; iteration <= 20; ++iteration) metrics += Line(iteration, 0) + Line(iteration, 1);
    metrics += Evaluation(10, 0.5) + Evaluation(20, 0.75);
    WriteBytes(folder_ / "metrics.jsonl", metrics);
  }

  Json Read() {
    const Result<Json> run = ReadRun(folder_.path());
    EXPECT_TRUE(run.ok()) << run.status();
    return run.ok() ? *run : Json();
  }
  std::vector<std::string> Notes() { return Read()["notes"].get<std::vector<std::string>>(); }

  TemporaryFolder folder_;
};

// The data as a browser takes them out of the page.
Json DataOf(const std::string& html) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const std::size_t from = html.find(open) + open.size();
  return Json::parse(html.substr(from, html.find("</script", from) - from));
}

TEST_F(ReportTest, WholeRun_HasItsCurvesEvaluationsAndSlots) {
  const Json run = Read();
  EXPECT_THAT(run["notes"], IsEmpty());
  const Json& metrics = run["metrics"];
  EXPECT_EQ(metrics["iterations"], 20);
  EXPECT_EQ(metrics["curves"]["iteration"].size(), 20u);
  EXPECT_EQ(metrics["evaluations"].size(), 2u);
  EXPECT_EQ(metrics["evaluations"][0]["accuracy"], 0.5);
  EXPECT_NEAR(metrics["evaluations"][0]["seconds"].get<double>(), 0.010, 1e-6);
  EXPECT_EQ(metrics["group_stall_us"], Json({20.0, 0.0}));
  EXPECT_EQ(metrics["workers"].size(), 2u);
  EXPECT_FALSE(run["plan"].contains("shards"));
  EXPECT_EQ(run["plan"]["groups"][0]["layers"], (Json{{"count", 3}, {"first", "c"}, {"last", "a"}}));
}

TEST_F(ReportTest, Period_HasTheTransfersOfItsIterationsFromItsStart) {
  const Json periods = Read()["metrics"]["periods"];
  ASSERT_EQ(periods.size(), 3u);
  const Json& last = periods.back();
  EXPECT_EQ(last["first_iteration"], 17);
  EXPECT_EQ(last["last_iteration"], 18);
  EXPECT_EQ(last["length_us"], 2000.0);
  EXPECT_EQ(last["iterations"].size(), 4u);
  ASSERT_EQ(last["transfers"].size(), 4u);
  EXPECT_EQ(last["transfer_columns"].size(), last["transfers"][0].size());
  // rank, group, slot, server, round, planned, start, granted, transfer, push, pull, staleness wait, overrun
  EXPECT_EQ(last["transfers"][0], Json({0, 1, 1, 0, 8, 100.0, 110.0, 115.0, 80.0, 400, 300, 0.0, false}));
  EXPECT_EQ(last["transfers"][2][5], 1100.0);
  EXPECT_EQ(periods[0]["first_iteration"], 5);
}

TEST_F(ReportTest, MissingAndBrokenFiles_AreNamedAndTheRestIsShown) {
  std::filesystem::remove(folder_ / "summary.json");
  WriteBytes(folder_ / "plan.json", "{\"strategy\":");
  EXPECT_THAT(Notes(), ElementsAre("summary.json is missing", "plan.json is not a JSON object"));
  EXPECT_EQ(Read()["metrics"]["iterations"], 20);
  std::filesystem::remove(folder_ / "metrics.jsonl");
  std::filesystem::remove(folder_ / "plan.json");
  EXPECT_THAT(Notes(), ElementsAre("summary.json is missing", "plan.json is missing", "metrics.jsonl is missing"));
}

TEST_F(ReportTest, TornAndForeignLines_AreCountedAndLeftOut) {
  const std::string whole = Line(21, 0);
  WriteBytes(folder_ / "metrics.jsonl", Line(1, 0) +
                                            "[1]\n{\"a\":1}\n{\"iteration\":\"x\",\"rank\":1,\"iteration_us\":2}\n" +
                                            whole.substr(0, whole.size() / 2));
  EXPECT_EQ(Read()["metrics"]["iterations"], 1);
  EXPECT_THAT(Notes(), ElementsAre("4 lines of metrics.jsonl can't be read and are left out"));
  // Cut behind the transfers' start, and in a number.
  for (const std::size_t length : {whole.find("transfers") + 20, whole.find("loss") + 3}) {
    WriteBytes(folder_ / "metrics.jsonl", Line(1, 0) + whole.substr(0, length));
    EXPECT_THAT(Notes(), ElementsAre("1 line of metrics.jsonl can't be read and are left out"));
  }
}

TEST_F(ReportTest, ValuesOfOtherTypes_DoNoHarm) {
  WriteBytes(folder_ / "plan.json", R"({"strategy":7,"period":"x","groups":{"a":1}})");
  WriteBytes(folder_ / "summary.json", R"({"iteration_seconds":[],"groups":3})");
  WriteBytes(folder_ / "metrics.jsonl",
             R"({"iteration":1,"rank":-5,"iteration_us":"a","start_ns":1e300,"group_stall_us":{"a":1},"transfers":3}
{"iteration":9223372036854775807,"rank":99999999999,"iteration_us":1e308,"start_ns":-1e308,"transfers":[null,[]]}
{"iteration":3,"evaluation":4,"model_variance":"x"}
)");
  EXPECT_THAT(RenderReport(Json::array({Read()})), HasSubstr("Weft report"));
  WriteBytes(folder_ / "plan.json", R"({"strategy":"MergedPS","period":4294967296,"groups":[1,{"layers":[]}]})");
  EXPECT_THAT(RenderReport(Json::array({Read()})), HasSubstr("Weft report"));
}

TEST_F(ReportTest, HostileText_StaysText) {
  const std::string hostile = "</script><script>alert(1)</script><!--<script>\xff";
  WriteBytes(folder_ / "job.yaml", hostile);
  const std::string html = RenderReport(Json::array({Read()}));
  EXPECT_THAT(html, Not(HasSubstr("alert(1)</script>")));
  const std::string read = DataOf(html)["runs"][0]["job"];
  EXPECT_THAT(read, HasSubstr("</script><script>alert(1)</script><!--<script>"));
}

TEST_F(ReportTest, Page_AsksNobodyForAnything) {
  const std::string html = RenderReport(Json::array({Read()}));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* reference : {"<script src", "<link rel=\"stylesheet\"", "@import", "sourceMappingURL", "{{"}) {
    EXPECT_THAT(html, Not(HasSubstr(reference)));
  }
  EXPECT_THAT(html, HasSubstr("Chart.js Contributors"));  // each page is a copy, and carries the licence
  EXPECT_THAT(html, HasSubstr("WITHOUT WARRANTY OF ANY KIND"));
}

TEST_F(ReportTest, LongRun_MakesASmallPage) {
  std::string metrics;
  for (int iteration = 1; iteration <= 30'000; ++iteration) metrics += Line(iteration, 0);
  for (int i = 1; i <= 10'000; ++i) metrics += Evaluation(i, 0.5);
  WriteBytes(folder_ / "metrics.jsonl", metrics);
  const Json run = Read();
  EXPECT_LE(run["metrics"]["curves"]["iteration"].size(), 1000u);
  EXPECT_LE(run["metrics"]["evaluations"].size(), 2001u);
  EXPECT_EQ(run["metrics"]["evaluations"].back()["iteration"], 10'000);
  EXPECT_LT(run.dump().size(), 500'000u);
}

TEST_F(ReportTest, SeveralRuns_StandInOnePageInTheirOrder) {
  const TemporaryFolder other;
  WriteBytes(other / "job.yaml", "metadata: {name: other}\n");
  const std::string path = folder_ / "page.html";
  ASSERT_EQ(WriteReport(std::array{other.path(), folder_.path()}, path), OkStatus());
  const Json data = DataOf(ReadBytes(path));
  ASSERT_EQ(data["runs"].size(), 2u);
  EXPECT_EQ(data["runs"][0]["job"], "metadata: {name: other}\n");
  EXPECT_EQ(data["runs"][1]["metrics"]["iterations"], 20);
}

TEST_F(ReportTest, WhatIsNoRunDirectory_IsRefusedByName) {
  const TemporaryFolder empty;
  EXPECT_EQ(WriteReport(std::array{folder_.path(), empty.path()}, folder_ / "page.html"),
            InvalidArgumentError(empty.path() + ": holds no run: it has no job.yaml"));
  EXPECT_EQ(ReadRun(folder_ / "none").status(), InvalidArgumentError(folder_ / "none: No such file or directory"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "page.html"));
  EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
}

}  // namespace
}  // namespace weft
