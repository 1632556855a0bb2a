#include "common/job/check_fields.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "common/job/fields.h"
#include "common/job/nearest.h"
#include "common/job/shown.h"

namespace weft {
namespace {

using Kind = YamlNode::Kind;

std::string ShownNode(const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      return node.quoted ? '"' + Shown(node.scalar) + '"' : Shown(node.scalar);
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

std::string ShownNumber(double number) {
  std::ostringstream out;
  out.precision(15);
  out << number;
  return out.str();
}

std::string Join(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

bool IsPlain(const YamlNode& node) { return node.kind == Kind::kScalar && !node.quoted; }

std::string_view WithoutPlus(const std::string& text) {
  std::string_view view = text;
  if (view.size() > 1 && view[0] == '+' && view[1] != '-') view.remove_prefix(1);
  return view;
}

bool LooksInteger(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  // A leading zero is octal to some readers and decimal to others.
  if (text.empty() || (text.size() > 1 && text[0] == '0')) return false;
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// NaN and infinities as YAML or C spell them.
bool LooksNonFinite(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  const std::string folded = Folded(text);
  return folded == "nan" || folded == "inf" || folded == "infinity";
}

// A finite number in decimal notation. Out of double's range counts as infinite.
std::optional<double> ToNumber(std::string_view text) {
  std::string_view digits = text;
  if (digits.starts_with('-')) digits.remove_prefix(1);
  if (digits.empty() || !(std::isdigit(static_cast<unsigned char>(digits[0])) || digits[0] == '.')) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end != text.data() + text.size() || error == std::errc::invalid_argument) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small is 0, too large is infinite; from_chars does not say which.
    number = std::strtod(std::string(text).c_str(), nullptr);
  }
  return number;
}

class FieldChecker {
 public:
  FieldChecker(JobSpec* spec, std::vector<JobError>* errors) : spec_(*spec), errors_(*errors) {}

  FieldReadings Check(YamlNode& root) {
    CheckChildren("", root);
    for (const Field& field : JobFields()) {
      if (!field.required || readings_.Given(field.path)) continue;
      // One line for a missing spec is enough.
      if (field.path.starts_with("spec.") && !readings_.Given("spec")) continue;
      Refuse(field.path, 0, "is missing");
    }
    return std::move(readings_);
  }

 private:
  void Refuse(const std::string& path, int line, const std::string& what) {
    readings_.refused.insert(path);
    errors_.push_back({line, std::string(DisplayPath(path)) + ": " + what});
  }

  void CheckChildren(const std::string& path, YamlNode& node) {
    for (auto& [key, child] : node.children) {
      const std::string child_path = path.empty() ? key : path + "." + key;
      const Field* field = key.find('.') == std::string::npos ? FindField(child_path) : nullptr;
      if (field == nullptr) {
        RefuseUnknown(path, key, child.line);
        continue;
      }
      readings_.lines[child_path] = child.line;
      // Of a map that is named, what it holds need not be.
      const bool named = field->cluster_only && !inside_unused_;
      if (named) spec_.unused_here.emplace_back(DisplayPath(child_path));
      inside_unused_ += named ? 1 : 0;
      CheckField(*field, child);
      inside_unused_ -= named ? 1 : 0;
    }
  }

  void RefuseUnknown(const std::string& path, const std::string& key, int line) {
    std::vector<std::string> siblings;
    for (const Field& field : JobFields()) {
      const std::size_t dot = field.path.rfind('.');
      const std::string parent = dot == std::string::npos ? "" : field.path.substr(0, dot);
      if (parent == path) siblings.push_back(dot == std::string::npos ? field.path : field.path.substr(dot + 1));
    }
    const std::string prefix = path.empty() ? "" : path + ".";
    std::string message = "unknown field `" + std::string(DisplayPath(prefix + Shown(key))) + "`";
    if (const std::string nearest = NearestName(key, siblings); !nearest.empty()) {
      message += "; did you mean `" + std::string(DisplayPath(prefix + nearest)) + "`?";
    }
    errors_.push_back({line, message});
  }

  void CheckField(const Field& field, YamlNode& node) {
    switch (field.type) {
      case FieldType::kObject:
        // `worker:` with nothing behind it is an empty map, as Kubernetes takes it.
        if (node.kind == Kind::kNull) return;
        if (node.kind != Kind::kMap) return Refuse(field.path, node.line, ShownNode(node) + " is not a map");
        return CheckChildren(field.path, node);
      case FieldType::kMap:
        if (node.kind != Kind::kMap && node.kind != Kind::kNull) {
          Refuse(field.path, node.line, ShownNode(node) + " is not a map");
        }
        return;
      case FieldType::kList:
        if (node.kind != Kind::kList && node.kind != Kind::kNull) {
          Refuse(field.path, node.line, ShownNode(node) + " is not a list");
        }
        return;
      default:
        break;
    }
    if (node.kind == Kind::kNull) return Refuse(field.path, node.line, "has no value");
    if (const std::optional<FieldValue> value = Read(field, node); value && field.set) field.set(spec_, *value);
  }

  // The value, or nullopt after refusing it.
  std::optional<FieldValue> Read(const Field& field, YamlNode& node) {
    switch (field.type) {
      case FieldType::kBool:
        return ReadBool(field, node);
      case FieldType::kInteger:
        return Lift(ReadInteger(field, field.path, node));
      case FieldType::kNumber:
        return Lift(ReadNumber(field, field.path, node));
      case FieldType::kString:
        return ReadString(field, node);
      case FieldType::kEnum:
        return ReadEnum(field, node);
      case FieldType::kIntegers:
        return Lift(ReadList<std::int64_t>(field, node, [&](const std::string& path, const YamlNode& item) {
          return ReadInteger(field, path, item);
        }));
      case FieldType::kNumbers:
        return Lift(ReadList<double>(
            field, node, [&](const std::string& path, const YamlNode& item) { return ReadNumber(field, path, item); }));
      case FieldType::kPairs:
        return Lift(ReadList<std::pair<std::int64_t, std::int64_t>>(
            field, node, [&](const std::string& path, const YamlNode& item) { return ReadPair(field, path, item); }));
      case FieldType::kObject:
      case FieldType::kMap:
      case FieldType::kList:
        break;
    }
    return std::nullopt;
  }

  template <typename T>
  static std::optional<FieldValue> Lift(std::optional<T> value) {
    if (!value) return std::nullopt;
    return FieldValue(std::move(*value));
  }

  std::optional<FieldValue> ReadBool(const Field& field, const YamlNode& node) {
    if (IsPlain(node)) {
      const std::string& text = node.scalar;
      if (text == "true" || text == "True" || text == "TRUE") return FieldValue(true);
      if (text == "false" || text == "False" || text == "FALSE") return FieldValue(false);
    }
    Refuse(field.path, node.line, ShownNode(node) + " is not true or false");
    return std::nullopt;
  }

  std::optional<std::int64_t> ReadInteger(const Field& field, const std::string& path, const YamlNode& node) {
    const std::string_view text = WithoutPlus(node.scalar);
    if (!IsPlain(node) || !LooksInteger(text)) {
      Refuse(field.path, node.line, path, ShownNode(node) + " is not a whole number");
      return std::nullopt;
    }
    std::int64_t number = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) {
      // Beyond 64 bits; the limits that the field has are nearer.
      const double far = text.starts_with('-') ? -HUGE_VAL : HUGE_VAL;
      if (InLimits(field, path, node, far)) {
        Refuse(field.path, node.line, path, ShownNode(node) + " does not fit into 64 bits");
      }
      return std::nullopt;
    }
    if (!InLimits(field, path, node, static_cast<double>(number))) return std::nullopt;
    return number;
  }

  std::optional<double> ReadNumber(const Field& field, const std::string& path, const YamlNode& node) {
    const std::string_view text = WithoutPlus(node.scalar);
    std::optional<double> number;
    if (IsPlain(node)) number = ToNumber(text);
    if (number ? !std::isfinite(*number) : IsPlain(node) && LooksNonFinite(text)) {
      Refuse(field.path, node.line, path, ShownNode(node) + " is not a finite number");
      return std::nullopt;
    }
    if (!number) {
      Refuse(field.path, node.line, path, ShownNode(node) + " is not a number");
      return std::nullopt;
    }
    if (!InLimits(field, path, node, *number)) return std::nullopt;
    return number;
  }

  std::optional<FieldValue> ReadString(const Field& field, const YamlNode& node) {
    if (node.kind != Kind::kScalar) {
      Refuse(field.path, node.line, ShownNode(node) + " is not a string");
      return std::nullopt;
    }
    const std::string& text = node.scalar;
    const bool boolean = text == "true" || text == "false";
    if (!node.quoted && (boolean || LooksInteger(WithoutPlus(text)) || ToNumber(WithoutPlus(text)))) {
      Refuse(field.path, node.line, ShownNode(node) + " is not a string; write \"" + Shown(text) + "\"");
      return std::nullopt;
    }
    if (std::any_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; })) {
      Refuse(field.path, node.line, ShownNode(node) + " has a control character");
      return std::nullopt;
    }
    const auto length = static_cast<std::int64_t>(text.size());
    if (length < field.min_length) {
      Refuse(field.path, node.line, "is empty");
      return std::nullopt;
    }
    if (length > field.max_length) {
      Refuse(field.path, node.line, ShownNode(node) + " is longer than " + std::to_string(field.max_length) + " bytes");
      return std::nullopt;
    }
    return FieldValue(text);
  }

  std::optional<FieldValue> ReadEnum(const Field& field, YamlNode& node) {
    const auto& choices = field.choices;
    auto it = choices.end();
    if (node.kind == Kind::kScalar) {
      it = std::find(choices.begin(), choices.end(), node.scalar);
      if (it == choices.end() && node.from_override) {
        it = std::find(choices.begin(), choices.end(), LooseName(node.scalar, choices));
      }
    }
    if (it == choices.end()) {
      std::string rule = " is not one of " + Join(choices);
      if (choices.size() == 1) rule = " is not " + choices[0];
      std::string hint;
      if (node.kind == Kind::kScalar && choices.size() > 1) hint = NearestName(node.scalar, choices);
      if (!hint.empty()) hint = "; did you mean " + hint + "?";
      Refuse(field.path, node.line, ShownNode(node) + rule + hint);
      return std::nullopt;
    }
    node.scalar = *it;
    readings_.choices[field.path] = *it;
    return FieldValue(static_cast<std::int64_t>(it - choices.begin()));
  }

  template <typename T, typename ReadItem>
  std::optional<std::vector<T>> ReadList(const Field& field, const YamlNode& node, const ReadItem& read_item) {
    if (node.kind != Kind::kList) {
      Refuse(field.path, node.line, ShownNode(node) + " is not a list");
      return std::nullopt;
    }
    const auto size = static_cast<std::int64_t>(node.items.size());
    if (size < field.min_length || size > field.max_length) {
      Refuse(field.path, node.line,
             std::to_string(size) + " items are " +
                 (size < field.min_length ? "fewer than " + std::to_string(field.min_length)
                                          : "more than " + std::to_string(field.max_length)));
      return std::nullopt;
    }
    std::vector<T> values;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      const std::optional<T> value = read_item(field.path + "[" + std::to_string(i) + "]", node.items[i]);
      // The first wrong item is enough.
      if (!value) return std::nullopt;
      values.push_back(*value);
    }
    return values;
  }

  std::optional<std::pair<std::int64_t, std::int64_t>> ReadPair(const Field& field, const std::string& path,
                                                                const YamlNode& node) {
    if (node.kind != Kind::kList || node.items.size() != 2) {
      Refuse(field.path, node.line, path, ShownNode(node) + " is not a pair");
      return std::nullopt;
    }
    const auto a = ReadInteger(field, path + "[0]", node.items[0]);
    const auto b = ReadInteger(field, path + "[1]", node.items[1]);
    if (!a || !b) return std::nullopt;
    return std::pair(*a, *b);
  }

  bool InLimits(const Field& field, const std::string& path, const YamlNode& node, double number) {
    std::string rule;
    if (field.minimum && (field.minimum_excluded ? number <= *field.minimum : number < *field.minimum)) {
      rule = (field.minimum_excluded ? " is not above " : " is below ") + ShownNumber(*field.minimum);
    } else if (field.maximum && (field.maximum_excluded ? number >= *field.maximum : number > *field.maximum)) {
      rule = (field.maximum_excluded ? " is not below " : " is above ") + ShownNumber(*field.maximum);
    }
    if (rule.empty()) return true;
    Refuse(field.path, node.line, path, ShownNode(node) + rule);
    return false;
  }

  // For an item of a list: `path` leads to it.
  void Refuse(const std::string& field_path, int line, const std::string& path, const std::string& what) {
    readings_.refused.insert(field_path);
    errors_.push_back({line, std::string(DisplayPath(path)) + ": " + what});
  }

  JobSpec& spec_;
  std::vector<JobError>& errors_;
  FieldReadings readings_;
  int inside_unused_ = 0;  // cluster-only fields that enclose the current one
};

}  // namespace

FieldReadings CheckFields(YamlNode& root, JobSpec* spec, std::vector<JobError>* errors) {
  return FieldChecker(spec, errors).Check(root);
}

}  // namespace weft
