// Structured logs: a constant message and key/value pairs, on standard error.
//   LogInfo("plan made", {{"period", plan.period}, {"groups", plan.groups.size()}});
// prints `2026-01-31T10:00:00.123Z INFO worker-1 plan made period=4 groups=9`. An error is logged once, at its first
// cause. Thread-safe.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weft {

struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, const std::string& v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  template <std::integral T>
  LogField(std::string_view k, T v) : key(k), value(std::to_string(v)) {}
  LogField(std::string_view k, double v);

  std::string_view key;
  std::string value;
};

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// `component` stands before each message: "worker-1", "coordinator".
void InitializeLog(std::string_view component, LogLevel lowest);

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields);
inline void LogDebug(std::string_view m, std::initializer_list<LogField> f = {}) { Log(LogLevel::kDebug, m, f); }
inline void LogInfo(std::string_view m, std::initializer_list<LogField> f = {}) { Log(LogLevel::kInfo, m, f); }
inline void LogWarning(std::string_view m, std::initializer_list<LogField> f = {}) { Log(LogLevel::kWarning, m, f); }
inline void LogError(std::string_view m, std::initializer_list<LogField> f = {}) { Log(LogLevel::kError, m, f); }

}  // namespace weft
