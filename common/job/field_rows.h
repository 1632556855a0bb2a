// How the table of fields is written: a row a field, so that a line reads as a sentence. For the files that hold the
// table.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/job/fields.h"

namespace weft {

inline constexpr std::int64_t kMaxPathLength = 4096;

// The place of a field in a JobSpec, const or not.
#define WEFT_AT(member) [](auto& spec) -> auto& { return spec.member; }

template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
std::string ToText(const T& value) {
  std::ostringstream out;
  if constexpr (std::same_as<T, bool>) {
    out << (value ? "true" : "false");
  } else {
    out << value;
  }
  return out.str();
}
inline std::string ToText(const std::string& value) { return value.empty() ? "" : value; }
template <typename T>
std::string ToText(const std::optional<T>& value) {
  return value ? ToText(*value) : "";
}
template <typename T>
std::string ToText(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + ToText(value);
  return values.empty() ? "" : "[" + text + "]";
}

// A line of the table in the making. Each method returns the row, so that a line reads as a sentence.
struct Row {
  Field field;

  Row Range(double minimum, double maximum) && {
    field.minimum = minimum;
    field.maximum = maximum;
    return std::move(*this);
  }
  Row AtLeast(double minimum) && {
    field.minimum = minimum;
    return std::move(*this);
  }
  Row Above(double minimum) && {
    field.minimum = minimum;
    field.minimum_excluded = true;
    return std::move(*this);
  }
  Row AtMost(double maximum) && {
    field.maximum = maximum;
    return std::move(*this);
  }
  Row Below(double maximum) && {
    field.maximum = maximum;
    field.maximum_excluded = true;
    return std::move(*this);
  }
  Row Length(std::int64_t minimum, std::int64_t maximum) && {
    field.min_length = minimum;
    field.max_length = maximum;
    return std::move(*this);
  }
  Row Required() && {
    field.required = true;
    field.default_text.clear();
    return std::move(*this);
  }
  Row ClusterOnly() && {
    field.cluster_only = true;
    return std::move(*this);
  }
  Row OnlyWith(std::string selector, std::vector<std::string> values) && {
    field.only_with = {std::move(selector), std::move(values)};
    return std::move(*this);
  }
  Row Default(std::string text) && {
    field.default_text = std::move(text);
    return std::move(*this);
  }
};

inline Row Plain(FieldType type, std::string path, std::string doc) {
  Row row;
  row.field.path = std::move(path);
  row.field.type = type;
  row.field.doc = std::move(doc);
  return row;
}

inline Row Object(std::string path, std::string doc) {
  return Plain(FieldType::kObject, std::move(path), std::move(doc));
}
inline Row Map(std::string path, std::string doc) { return Plain(FieldType::kMap, std::move(path), std::move(doc)); }
inline Row List(std::string path, std::string doc) { return Plain(FieldType::kList, std::move(path), std::move(doc)); }

// A scalar or list that the spec keeps at `at`: its type says the field's, its value in JobSpec{} is the default.
template <typename At>
Row Value(std::string path, At at, std::string doc) {
  using Member = std::remove_cvref_t<decltype(at(std::declval<JobSpec&>()))>;
  static const JobSpec kDefaults;
  Row row = Plain(FieldType::kObject, std::move(path), std::move(doc));
  Field& field = row.field;
  field.default_text = ToText(at(kDefaults));
  if constexpr (std::same_as<Member, bool>) {
    field.type = FieldType::kBool;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<bool>(value); };
  } else if constexpr (std::integral<Member>) {
    field.type = FieldType::kInteger;
    if constexpr (sizeof(Member) < sizeof(std::int64_t)) {
      field.maximum = static_cast<double>(std::numeric_limits<Member>::max());
    }
    field.set = [at](JobSpec& spec, const FieldValue& value) {
      at(spec) = static_cast<Member>(std::get<std::int64_t>(value));
    };
  } else if constexpr (std::same_as<Member, std::optional<int>>) {
    field.type = FieldType::kInteger;
    field.maximum = static_cast<double>(std::numeric_limits<int>::max());
    field.set = [at](JobSpec& spec, const FieldValue& value) {
      at(spec) = static_cast<int>(std::get<std::int64_t>(value));
    };
  } else if constexpr (std::same_as<Member, double> || std::same_as<Member, std::optional<double>>) {
    field.type = FieldType::kNumber;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<double>(value); };
  } else if constexpr (std::same_as<Member, std::string>) {
    field.type = FieldType::kString;
    field.max_length = kMaxPathLength;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<std::string>(value); };
  } else if constexpr (std::same_as<Member, std::vector<double>>) {
    field.type = FieldType::kNumbers;
    field.set = [at](JobSpec& spec, const FieldValue& value) { at(spec) = std::get<std::vector<double>>(value); };
  } else {
    static_assert(std::same_as<Member, std::vector<int>>);
    field.type = FieldType::kIntegers;
    field.set = [at](JobSpec& spec, const FieldValue& value) {
      at(spec).clear();
      for (const std::int64_t item : std::get<std::vector<std::int64_t>>(value)) {
        at(spec).push_back(static_cast<int>(item));
      }
    };
  }
  return row;
}

// `choices` in the order of the enum's values.
template <typename At>
Row Enum(std::string path, At at, std::vector<std::string> choices, std::string doc) {
  using Member = std::remove_cvref_t<decltype(at(std::declval<JobSpec&>()))>;
  static const JobSpec kDefaults;
  Row row = Plain(FieldType::kEnum, std::move(path), std::move(doc));
  row.field.default_text = choices.at(static_cast<std::size_t>(at(kDefaults)));
  row.field.choices = std::move(choices);
  row.field.set = [at](JobSpec& spec, const FieldValue& value) {
    at(spec) = static_cast<Member>(std::get<std::int64_t>(value));
  };
  return row;
}

// One that the spec does not keep.
inline Row FreeEnum(std::string path, std::vector<std::string> choices, std::string doc) {
  Row row = Plain(FieldType::kEnum, std::move(path), std::move(doc));
  row.field.choices = std::move(choices);
  return row;
}
inline Row FreeString(std::string path, std::int64_t max_length, std::string doc) {
  Row row = Plain(FieldType::kString, std::move(path), std::move(doc));
  row.field.max_length = max_length;
  return row;
}
inline Row FreeInteger(std::string path, std::string doc) {
  return Plain(FieldType::kInteger, std::move(path), std::move(doc));
}
inline Row FreeBool(std::string path, std::string doc) {
  return Plain(FieldType::kBool, std::move(path), std::move(doc));
}

// The rows of spec.strategy (strategy_fields.cc).
void AddStrategy(std::vector<Row>& rows);

}  // namespace weft
