#include "common/plan/json_reader.h"

#include <algorithm>

namespace weft::plan_json {

using nlohmann::json;

Result<json> ParseObject(std::string_view text) {
  try {
    json value = json::parse(text);
    if (!value.is_object()) return InvalidArgumentError("not a JSON object");
    return value;
  } catch (const json::parse_error& error) {
    const std::size_t at = std::min(error.byte > 0 ? error.byte - 1 : 0, text.size());
    const std::string_view before = text.substr(0, at);
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
    return InvalidArgumentError("not JSON: line " + std::to_string(line) + ", column " + std::to_string(column));
  } catch (const json::exception&) {
    return InvalidArgumentError("not JSON: a number is out of range");
  }
}

std::string Shown(const json& value) {
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

Fields::Fields(const json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) status_ = InvalidArgumentError(path_ + ": " + Shown(object_) + " is not an object");
}

std::string Fields::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

void Fields::Fail(std::string_view key, const std::string& rule) {
  if (status_.ok()) status_ = InvalidArgumentError(PathOf(key) + ": " + rule);
}

void Fields::Only(std::initializer_list<const char*> keys) {
  if (!status_.ok()) return;
  for (const auto& item : object_.items()) {
    const bool known = std::any_of(keys.begin(), keys.end(), [&](const char* key) { return item.key() == key; });
    if (known) continue;
    std::string names;
    for (const char* key : keys) names += (names.empty() ? "" : ", ") + std::string(key);
    const std::string shown = Shown(item.key());  // escaped, in quotes
    Fail(shown.substr(1, shown.size() - 2), "is no field; there are " + names);
    return;
  }
}

const json* Fields::Find(const char* key) {
  if (!status_.ok()) return nullptr;
  const auto found = object_.find(key);
  if (found == object_.end()) {
    Fail(key, "is missing");
    return nullptr;
  }
  return &*found;
}

void Fields::Number(const char* key, double lowest, double highest, double* out) {
  const json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_number()) return Fail(key, Shown(*value) + " is not a number");
  const double number = value->get<double>();
  if (!std::isfinite(number)) return Fail(key, Shown(*value) + " is not finite");
  if (number < lowest) return Fail(key, Shown(*value) + " is below " + (lowest == 0 ? "0" : Shown(lowest)));
  if (number > highest) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", highest);
    return Fail(key, Shown(*value) + " is above " + text);
  }
  *out = number;
}

void Fields::Time(const char* key, double* out, double lowest) { Number(key, lowest, kMaxMicroseconds, out); }

void Fields::Integer(const char* key, std::int64_t lowest, std::int64_t highest, std::int64_t* out) {
  const json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_number()) return Fail(key, Shown(*value) + " is not a number");
  // 4e6 is a float to the parser and an integer to whoever wrote it.
  const double number = value->get<double>();
  if (number != std::floor(number)) return Fail(key, Shown(*value) + " is not a whole number");
  if (number < static_cast<double>(lowest)) return Fail(key, Shown(*value) + " is below " + std::to_string(lowest));
  if (number > static_cast<double>(highest)) return Fail(key, Shown(*value) + " is above " + std::to_string(highest));
  *out = value->is_number_float() ? static_cast<std::int64_t>(number) : value->get<std::int64_t>();
}

void Fields::Integer(const char* key, int lowest, int highest, int* out) {
  std::int64_t wide = *out;
  Integer(key, std::int64_t{lowest}, std::int64_t{highest}, &wide);
  *out = static_cast<int>(wide);
}

void Fields::Text(const char* key, std::string* out) {
  const json* value = Find(key);
  if (value == nullptr) return;
  if (!value->is_string()) return Fail(key, Shown(*value) + " is not a text");
  *out = value->get<std::string>();
}

const json* Fields::Array(const char* key) {
  const json* value = Find(key);
  if (value == nullptr) return nullptr;
  if (!value->is_array()) {
    Fail(key, Shown(*value) + " is not a list");
    return nullptr;
  }
  return value;
}

}  // namespace weft::plan_json
