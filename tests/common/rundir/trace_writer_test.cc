#include "common/rundir/trace_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/common/temporary_folder.h"

namespace weft {
namespace {

using nlohmann::json;

TraceEvent Event(const std::string& name, double ts_us) {
  return {.name = name, .pid = 2, .tid = 1, .ts_us = ts_us, .dur_us = 12.5};
}

json Parse(const TemporaryFolder& folder) { return json::parse(ReadBytes(folder / "trace.json")); }

TEST(TraceWriterTest, Close_LeavesAnArrayOfEvents) {
  const TemporaryFolder folder;
  auto writer = TraceWriter::Open(folder / "trace.json");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_EQ(writer->NameProcess(2, "worker 1"), OkStatus());
  ASSERT_EQ(writer->NameThread(2, 1, "transfers"), OkStatus());
  TraceEvent event = Event("push \"fc1\",\n", 1000.25);
  event.args = {{"group", std::int64_t{3}}, {"bytes", 4096.0}, {"state", "late"}};
  ASSERT_EQ(writer->Write(event), OkStatus());
  ASSERT_EQ(writer->Close(), OkStatus());

  const json trace = Parse(folder);
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace[0], json::parse(R"({"name":"process_name","ph":"M","pid":2,"args":{"name":"worker 1"}})"));
  EXPECT_EQ(trace[1], json::parse(R"({"name":"thread_name","ph":"M","pid":2,"tid":1,"args":{"name":"transfers"}})"));
  EXPECT_EQ(trace[2], json::parse(R"({"name":"push \"fc1\",\n","ph":"X","pid":2,"tid":1,"ts":1000.25,"dur":12.5,
                                      "args":{"group":3,"bytes":4096.0,"state":"late"}})"));
  EXPECT_EQ(trace[3]["ph"], "M");
}

TEST(TraceWriterTest, Open_ClosedTornOrEmptyTrace_GoesOnBehindItsWholeEvents) {
  const TemporaryFolder folder;
  const auto add = [&folder](const std::string& name, bool close) {
    auto writer = TraceWriter::Open(folder / "trace.json");
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_EQ(writer->Write(Event(name, 1)), OkStatus());
    if (close) {
      ASSERT_EQ(writer->Close(), OkStatus());
    }
  };
  add("first", false);
  const std::string killed = ReadBytes(folder / "trace.json");
  EXPECT_EQ(json::parse(killed.substr(0, killed.rfind(',')) + "]").size(), 1u);
  for (const std::string torn : {"", "[", "[{\"na"}) {
    WriteBytes(folder / "trace.json", torn);
    add("first", true);
    EXPECT_EQ(Parse(folder).size(), 2u);
  }
  add("second", false);
  WriteBytes(folder / "trace.json", ReadBytes(folder / "trace.json") + "{\"name\":\"tor");
  add("third", true);
  const json trace = Parse(folder);
  ASSERT_EQ(trace.size(), 4u);
  EXPECT_EQ(trace[0]["name"], "first");
  EXPECT_EQ(trace[1]["name"], "second");
  EXPECT_EQ(trace[2]["name"], "third");
}

TEST(TraceWriterTest, Write_PastTheLimit_CountsWhatIsLeftOut) {
  const TemporaryFolder folder;
  auto writer = TraceWriter::Open(folder / "trace.json", 1000);
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < 50; ++i) ASSERT_EQ(writer->Write(Event("e", i)), OkStatus());
  EXPECT_GT(writer->dropped(), 30);
  const std::int64_t dropped = writer->dropped();
  ASSERT_EQ(writer->Close(), OkStatus());
  const json trace = Parse(folder);
  EXPECT_EQ(static_cast<std::int64_t>(trace.size()), 50 - dropped + 1);
  EXPECT_EQ(trace.back()["args"]["labels"], std::to_string(dropped) + " events left out");
}

}  // namespace
}  // namespace weft
