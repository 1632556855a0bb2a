#include "common/job/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/parse.h"

namespace weft {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

constexpr char kJob[] = R"(apiVersion: weft.dev/v1alpha1
kind: TrainingJob
metadata: {name: job}
spec:
  model: {name: lenet}
  data: {path: /data}
  worker: {replicas: 4}
)";

std::string ParentOf(const std::string& path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

// What has to be chosen for the field to be allowed; its own choice behind those of what holds it, which it narrows.
std::vector<std::string> Selections(const Field& field) {
  std::vector<std::string> overrides;
  for (const Field* at = &field; at != nullptr; at = FindField(ParentOf(at->path))) {
    if (at->only_with) overrides.push_back(at->only_with->selector + "=" + at->only_with->values[0]);
  }
  std::reverse(overrides.begin(), overrides.end());
  return overrides;
}

std::vector<std::string> ErrorsWith(const Field& field, const std::string& value) {
  std::vector<std::string> overrides = Selections(field);
  overrides.push_back(field.path + "=" + value);
  std::vector<std::string> messages;
  for (const JobError& error : ParseJob(kJob, overrides).errors) messages.push_back(error.message);
  return messages;
}

std::string Text(double number) {
  std::ostringstream out;
  out.precision(15);
  out << number;
  return out.str();
}

TEST(FieldsTest, Table_IsConsistent) {
  std::set<std::string> seen = {""};
  for (const Field& field : JobFields()) {
    EXPECT_TRUE(seen.contains(ParentOf(field.path))) << field.path << " stands before the object that holds it";
    EXPECT_TRUE(seen.insert(field.path).second) << field.path << " stands twice";
    EXPECT_EQ(FindField(field.path), &field);
    EXPECT_TRUE(field.doc.ends_with('.')) << field.path << ": the doc is no sentence";
    if (field.type == FieldType::kEnum) {
      EXPECT_THAT(field.choices, Not(IsEmpty())) << field.path;
    }
    if (field.type == FieldType::kString || field.type == FieldType::kIntegers || field.type == FieldType::kNumbers ||
        field.type == FieldType::kPairs) {
      EXPECT_GT(field.max_length, 0) << field.path << " has no limit to its length";
    }
    if (field.only_with) {
      const Field* selector = FindField(field.only_with->selector);
      ASSERT_NE(selector, nullptr) << field.path;
      for (const std::string& value : field.only_with->values) EXPECT_THAT(selector->choices, Contains(value));
    }
  }
}

// A default that is a value is taken by the field and changes nothing.
TEST(FieldsTest, Defaults_AreValid) {
  for (const Field& field : JobFields()) {
    if (field.default_text.empty() || field.default_text.starts_with('(')) continue;
    for (const std::string& message : ErrorsWith(field, field.default_text)) {
      EXPECT_FALSE(message.starts_with(std::string(DisplayPath(field.path)) + ":")) << message;
    }
  }
}

// Both limits of every number: the value beyond is refused with the limit, the limit itself is not unless excluded.
TEST(FieldsTest, EveryNumber_IsHeldWithinItsLimits) {
  int limits = 0;
  for (const Field& field : JobFields()) {
    const bool integer = field.type == FieldType::kInteger;
    if (!integer && field.type != FieldType::kNumber) continue;
    const std::string path(DisplayPath(field.path));
    if (field.minimum) {
      ++limits;
      const std::string limit = Text(*field.minimum);
      const std::string rule = (field.minimum_excluded ? " is not above " : " is below ") + limit;
      const std::string beyond = Text(integer ? *field.minimum - 1 : *field.minimum - 0.5);
      EXPECT_THAT(ErrorsWith(field, beyond), Contains(path + ": " + beyond + rule));
      const std::vector<std::string> at_limit = ErrorsWith(field, limit);
      EXPECT_EQ(std::count(at_limit.begin(), at_limit.end(), path + ": " + limit + rule), field.minimum_excluded);
    }
    if (field.maximum) {
      ++limits;
      const std::string limit = Text(*field.maximum);
      const std::string rule = (field.maximum_excluded ? " is not below " : " is above ") + limit;
      const std::string beyond = Text(integer ? *field.maximum + 1 : *field.maximum + 0.5);
      EXPECT_THAT(ErrorsWith(field, beyond), Contains(path + ": " + beyond + rule));
      const std::vector<std::string> at_limit = ErrorsWith(field, limit);
      EXPECT_EQ(std::count(at_limit.begin(), at_limit.end(), path + ": " + limit + rule), field.maximum_excluded);
    }
    for (const char* value : {".nan", ".inf", "-.INF", "nan", "1e999"}) {
      const std::string rule = integer ? " is not a whole number" : " is not a finite number";
      EXPECT_THAT(ErrorsWith(field, value), Contains(path + ": " + value + rule));
    }
  }
  EXPECT_GT(limits, 60);
}

TEST(FieldsTest, EveryString_HasALongest) {
  for (const Field& field : JobFields()) {
    if (field.type != FieldType::kString) continue;
    const auto longest = static_cast<std::size_t>(field.max_length);
    const std::string too_long(longest + 1, 'a');
    const std::string rule = " is longer than " + std::to_string(longest) + " bytes";
    const std::string shown = too_long.size() > 60 ? std::string(60, 'a') + "…" : too_long;
    EXPECT_THAT(ErrorsWith(field, too_long), Contains(std::string(DisplayPath(field.path)) + ": " + shown + rule));
    for (const std::string& message : ErrorsWith(field, std::string(longest, 'a'))) {
      EXPECT_FALSE(message.starts_with(std::string(DisplayPath(field.path)) + ":")) << message;
    }
  }
}

TEST(FieldsTest, EveryEnum_TakesItsChoicesAndNoOther) {
  for (const Field& field : JobFields()) {
    if (field.type != FieldType::kEnum) continue;
    const std::string start = std::string(DisplayPath(field.path)) + ": ";
    for (const std::string& choice : field.choices) {
      for (const std::string& message : ErrorsWith(field, choice)) {
        EXPECT_EQ(message.find(" is not one of "), std::string::npos) << message;
      }
    }
    const std::vector<std::string> refused = ErrorsWith(field, "none-such");
    EXPECT_TRUE(std::any_of(refused.begin(), refused.end(), [&](const std::string& message) {
      return message.starts_with(start + "none-such is not ");
    })) << field.path;
  }
}

}  // namespace
}  // namespace weft
