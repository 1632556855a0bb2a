// The fields of a TrainingJob, as one table: what a file may hold, of which type, within which limits, what stands for
// an absent one, and where it goes in a JobSpec. The checks (parse.h), the reference in docs/ and the cluster's schema
// all come from it. What binds several fields at once is in parse.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/job/job_spec.h"

namespace weft {

enum class FieldType {
  kObject,  // a map whose keys are in the table
  kMap,     // a map with any content, not looked into
  kList,    // a list with any content, not looked into
  kBool,
  kInteger,
  kNumber,  // finite
  kString,
  kEnum,      // one of `choices`, spelled so
  kIntegers,  // lists
  kNumbers,
  kPairs,  // of integers: [[0, 1], [1, 2]]
};

// The value of a field as read: an enum as the index of its choice.
using FieldValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                std::vector<std::pair<std::int64_t, std::int64_t>>>;

struct Field {
  std::string path;  // in full: "spec.worker.replicas"
  FieldType type = FieldType::kObject;
  std::string doc;  // what it is, its unit, what a choice has as a consequence

  bool required = false;
  bool cluster_only = false;  // has a meaning only on a cluster; holds for all below it
  // Allowed only when the field `selector` (a full path, an enum) has one of `values`.
  struct OnlyWith {
    std::string selector;
    std::vector<std::string> values;
  };
  std::optional<OnlyWith> only_with;

  // Of a number, or of each number in a list.
  std::optional<double> minimum;
  std::optional<double> maximum;
  bool minimum_excluded = false;
  bool maximum_excluded = false;
  std::int64_t min_length = 0;  // bytes of a string, items of a list
  std::int64_t max_length = 0;
  std::vector<std::string> choices;

  std::string default_text;  // as YAML; in words in parentheses where it depends on other fields; empty: none

  // Puts the value into the spec. Empty for what a JobSpec does not keep.
  std::function<void(JobSpec&, const FieldValue&)> set;
};

// In the order of the reference; each field after the object that holds it.
const std::vector<Field>& JobFields();

// Null when there is none.
const Field* FindField(std::string_view path);

// "worker.replicas" for "spec.worker.replicas"; other paths as they are.
std::string_view DisplayPath(std::string_view path);

}  // namespace weft
