// Reads typed fields of a JSON object and names the path of what is wrong. Internal to common/plan: it includes the
// JSON library.
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "common/plan/names.h"
#include "common/status.h"

namespace weft::plan_json {

inline constexpr double kMaxMicroseconds = 1e12;  // eleven days
inline constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

// INVALID_ARGUMENT with the line and column when `text` is not JSON, or not an object.
Result<nlohmann::json> ParseObject(std::string_view text);

// A value's text for a message, cut to a few characters.
std::string Shown(const nlohmann::json& value);

// A view of one object. Each getter stores the field, or remembers the first error; `status()` tells it. A path is ""
// for the top, "layers[3]" below.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string path);

  const Status& status() const { return status_; }
  std::string PathOf(std::string_view key) const;
  bool Has(const char* key) const { return status_.ok() && object_.contains(key); }

  // Remembers an error when the object has a field that is none of these.
  void Only(std::initializer_list<const char*> keys);

  void Number(const char* key, double lowest, double highest, double* out);  // finite, in [lowest, highest]
  void Time(const char* key, double* out, double lowest = 0);                // in [lowest, kMaxMicroseconds]
  void Integer(const char* key, std::int64_t lowest, std::int64_t highest, std::int64_t* out);
  void Integer(const char* key, int lowest, int highest, int* out);
  void Text(const char* key, std::string* out);
  // The array under `key`; null after an error.
  const nlohmann::json* Array(const char* key);

  template <typename E>
  void Enum(const char* key, E* out) {
    std::string text;
    Text(key, &text);
    if (!status_.ok()) return;
    if (const auto value = FromName<E>(text)) {
      *out = *value;
    } else {
      Fail(key, Shown(text) + " is none of " + AllNames<E>());
    }
  }

  void Fail(std::string_view key, const std::string& rule);

 private:
  const nlohmann::json* Find(const char* key);

  const nlohmann::json& object_;
  const std::string path_;
  Status status_;
};

}  // namespace weft::plan_json
