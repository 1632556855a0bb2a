#include <gtest/gtest.h>

#include <string>

#include "common/plan/json.h"

namespace weft {
namespace {

std::string ErrorOf(const std::string& text) {
  const Result<Timeline> timeline = ParseTimeline(text);
  EXPECT_FALSE(timeline.ok()) << text;
  if (timeline.ok()) return "";
  EXPECT_EQ(timeline.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(timeline.status().message().find('\n'), std::string::npos);
  return timeline.status().message();
}

std::string Layer(const std::string& fields) { return R"({"layers":[{)" + fields + "}]}"; }

TEST(ParseTimeline, BackwardStartsNotGiven_FollowFromTheSums) {
  const Result<Timeline> timeline = ParseTimeline(R"({"optimizer_us": 4, "layers": [
    {"name": "a", "bytes": 4000, "forward_us": 5, "backward_us": 10},
    {"name": "b", "bytes": 0, "forward_us": 1, "backward_us": 2.5},
    {"name": "c", "bytes": 8, "forward_us": 3, "backward_us": 6}]})");
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->layers[2].backward_start_us, 0);
  EXPECT_EQ(timeline->layers[1].backward_start_us, 6);
  EXPECT_EQ(timeline->layers[0].backward_start_us, 8.5);
  EXPECT_EQ(timeline->end_us, 18.5);
  EXPECT_EQ(timeline->compute_us(), 9 + 18.5 + 4);
  EXPECT_EQ(timeline->total_bytes(), 4008);
}

TEST(ParseTimeline, BackwardStartsGiven_AreKept) {
  const Result<Timeline> timeline = ParseTimeline(R"({"layers": [
    {"name": "a", "bytes": 4, "forward_us": 5, "backward_us": 10, "backward_start_us": 20},
    {"name": "b", "bytes": 4, "forward_us": 1, "backward_us": 2, "backward_start_us": 3}]})");
  ASSERT_TRUE(timeline.ok()) << timeline.status();
  EXPECT_EQ(timeline->layers[1].backward_start_us, 3);
  EXPECT_EQ(timeline->end_us, 30);
}

TEST(TimelineJson, RoundTrip_GivesTheSameBits) {
  Timeline timeline;
  timeline.optimizer_us = 0.1;
  timeline.layers = {{.name = "x\"y", .bytes = 12, .forward_us = 1.0 / 3, .backward_us = 0.7, .backward_start_us = 0.3},
                     {.name = "z", .bytes = 0, .forward_us = 2, .backward_us = 1e-9, .backward_start_us = 0.1}};
  timeline.end_us = 1.5;
  const std::string text = TimelineToJson(timeline);
  const Result<Timeline> read = ParseTimeline(text);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(TimelineToJson(*read), text);
  EXPECT_EQ(read->layers[0].forward_us, timeline.layers[0].forward_us);
  EXPECT_EQ(read->layers[0].name, "x\"y");
  EXPECT_EQ(read->end_us, 1.5);
}

TEST(ParseTimeline, BadInput_NamesPlaceValueAndRule) {
  const std::string good = R"("name":"a","bytes":4,"forward_us":1,"backward_us":2)";
  ASSERT_TRUE(ParseTimeline(Layer(good)).ok());
  EXPECT_EQ(ErrorOf(""), "not JSON: line 1, column 1");
  EXPECT_EQ(ErrorOf("{\n \"layers\": [NaN]}"), "not JSON: line 2, column 13");
  EXPECT_EQ(ErrorOf("7"), "not a JSON object");
  EXPECT_EQ(ErrorOf("{}"), "layers: is missing");
  EXPECT_EQ(ErrorOf(R"({"layers":[]})"), "layers: is empty");
  EXPECT_EQ(ErrorOf(R"({"layers":{}})"), "layers: {} is not a list");
  EXPECT_EQ(ErrorOf(R"({"layers":[3]})"), "layers[0]: 3 is not an object");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":4,"forward_us":-1,"backward_us":2)")),
            "layers[0].forward_us: -1 is below 0");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":4,"forward_us":1,"backward_us":null)")),
            "layers[0].backward_us: null is not a number");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":4,"forward_us":1,"backward_us":1e999)")),
            "not JSON: a number is out of range");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":4,"forward_us":1,"backward_us":1e13)")),
            "layers[0].backward_us: 10000000000000.0 is above 1e+12");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":-4,"forward_us":1,"backward_us":2)")),
            "layers[0].bytes: -4 is below 0");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":4.5,"forward_us":1,"backward_us":2)")),
            "layers[0].bytes: 4.5 is not a whole number");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"a","bytes":1e300,"forward_us":1,"backward_us":2)")),
            "layers[0].bytes: 1e+300 is above 1125899906842624");
  EXPECT_EQ(ErrorOf(Layer(R"("bytes":4,"forward_us":1,"backward_us":2)")), "layers[0].name: is missing");
  EXPECT_EQ(ErrorOf(Layer(R"("name":"","bytes":4,"forward_us":1,"backward_us":2)")), "layers[0].name: is empty");
  EXPECT_EQ(ErrorOf(Layer(good + R"(,"backward_strat_us":3)")),
            "layers[0].backward_strat_us: is no field; there are name, bytes, forward_us, backward_us, "
            "backward_start_us");
  EXPECT_EQ(ErrorOf(R"({"layers":[{)" + good + "},{" + good + "}]}"), "layers[0].name: \"a\" is there twice");
  EXPECT_EQ(ErrorOf(R"({"optimizer_us":-1,"layers":[{)" + good + "}]}"), "optimizer_us: -1 is below 0");
  EXPECT_EQ(ErrorOf(R"({"end_us":1,"layers":[{"backward_start_us":2,)" + good + "}]}"),
            "end_us: 1.0 is before the last backward starts, 2.0");
}

TEST(ParseTimeline, BackwardOutOfOrder_IsRefused) {
  EXPECT_EQ(ErrorOf(R"({"layers": [
    {"name": "a", "bytes": 4, "forward_us": 5, "backward_us": 10, "backward_start_us": 2},
    {"name": "b", "bytes": 4, "forward_us": 1, "backward_us": 2, "backward_start_us": 3}]})"),
            "layers[0].backward_start_us: 2.0 is before that of layers[1], which comes first in backward");
}

TEST(ParseTimeline, CutAnywhere_IsRefused) {
  const std::string good = Layer(R"("name":"a","bytes":4,"forward_us":1,"backward_us":2)");
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_FALSE(ParseTimeline(good.substr(0, size)).ok()) << size;
}

}  // namespace
}  // namespace weft
