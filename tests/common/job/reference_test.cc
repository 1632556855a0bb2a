// docs/reference/trainingjob.md is made from the table of fields. With WEFT_REGENERATE set in the environment it is
// written anew instead of compared.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "common/job/fields.h"

namespace weft {
namespace {

constexpr char kReference[] = "docs/reference/trainingjob.md";

constexpr char kIntroduction[] = R"(# TrainingJob

What a person asks for: one YAML file, the same for `weft run` on a laptop and for a cluster. `weft validate FILE` names
everything that is wrong with one. [A whole example](../../examples/fashion-mnist.yaml) trains LeNet on Fashion-MNIST.

- Paths below are from `spec` on, as they stand in messages and in `--set path=value`. `--set` takes a path with `spec.`
  too, the value as YAML, an enum in any case and with or without hyphens; `null` takes a field out.
  `--set strategy.type=…` drops what the file holds for strategies of another family, servers too, and says so in a line;
  `--set training.optimizer.type=…` does so with the other optimizer's.
- A field that is not here is refused, as is one that belongs to another choice than the one made ("only with").
- A file holds one document of at most 1 MiB, nested at most 64 deep. Paths of files are taken from the folder in which
  `weft` runs.
- What `data.path` has to hold, by format, stands in the [quick start](../quick-start.md#train-on-your-own-data).
- Fields marked *cluster* are accepted everywhere and have a meaning on a cluster only; `weft run` names those it finds.

Besides the limits of single fields: `worker.replicas` lies within `worker.minReplicas` and `worker.maxReplicas`; a
parameter-server strategy needs a server and the others take none; the topology can be made of `worker.replicas` nodes
(`weft topology` tells which can, and what they are like); α + β stays below 2 (α is β / K where it is not given,
K the fewest workers there may be, at least 2); `Text` goes with `transformer` and `Synthetic` with `replay`, and with
nothing else; a transformer's width is a multiple of its heads; `warmupEpochs` is at most `epochs`.

This page is made from the table in `common/job/fields.cc` (`WEFT_REGENERATE=1 build/release/tests/job_test`).

)";

std::string Number(double number) {
  std::ostringstream out;
  out.precision(15);
  out << number;
  return out.str();
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += (joined.empty() ? "`" : ", `") + word + "`";
  return joined;
}

std::string TypeOf(const Field& field) {
  switch (field.type) {
    case FieldType::kObject:
    case FieldType::kMap:
      return "map";
    case FieldType::kList:
      return "list";
    case FieldType::kBool:
      return "boolean";
    case FieldType::kInteger:
      return "integer";
    case FieldType::kNumber:
      return "number";
    case FieldType::kString:
      return "string";
    case FieldType::kEnum:
      return Join(field.choices);
    case FieldType::kIntegers:
      return "list of integers";
    case FieldType::kNumbers:
      return "list of numbers";
    case FieldType::kPairs:
      return "list of pairs of integers";
  }
  return "";
}

std::string LimitsOf(const Field& field) {
  std::string limits;
  const auto add = [&limits](const std::string& text) { limits += (limits.empty() ? "" : ", ") + text; };
  if (field.minimum) add((field.minimum_excluded ? "above " : "from ") + Number(*field.minimum));
  if (field.maximum) add((field.maximum_excluded ? "below " : "to ") + Number(*field.maximum));
  const std::string unit = field.type == FieldType::kString ? " bytes" : " items";
  if (field.min_length > 0) add("at least " + std::to_string(field.min_length) + unit);
  if (field.max_length > 0) add("at most " + std::to_string(field.max_length) + unit);
  return limits;
}

std::string DefaultOf(const Field& field) {
  if (field.required) return "**required**";
  const std::string& text = field.default_text;
  if (text.empty() || text.starts_with('(')) return text;
  return "`" + text + "`";
}

std::string Reference() {
  std::string page = kIntroduction;
  page += "| field | type | limits | default | meaning |\n|---|---|---|---|---|\n";
  for (const Field& field : JobFields()) {
    std::string meaning = field.doc;
    if (field.only_with) {
      meaning += " Only with `" + std::string(DisplayPath(field.only_with->selector)) + "` " +
                 Join(field.only_with->values) + ".";
    }
    if (field.cluster_only) meaning += " *cluster*";
    page += "| `" + std::string(DisplayPath(field.path)) + "` | " + TypeOf(field) + " | " + LimitsOf(field) + " | " +
            DefaultOf(field) + " | " + meaning + " |\n";
  }
  return page;
}

TEST(ReferenceTest, Page_IsWhatTheTableSays) {
  if (std::getenv("WEFT_REGENERATE") != nullptr) std::ofstream(kReference) << Reference();
  std::ostringstream page;
  page << std::ifstream(kReference).rdbuf();
  EXPECT_EQ(page.str(), Reference());
}

}  // namespace
}  // namespace weft
