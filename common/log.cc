#include "common/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdio>
#include <memory>

namespace weft {
namespace {

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& component) {
  auto logger = std::make_shared<spdlog::logger>(component, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  const std::string name = component.empty() ? "" : component + " ";
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ %l " + name + "%v",
                                                                    spdlog::pattern_time_type::utc));
  logger->flush_on(spdlog::level::info);
  return logger;
}

std::shared_ptr<spdlog::logger>& Logger() {
  static std::shared_ptr<spdlog::logger> logger = MakeLogger("");
  return logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

// A value with a space, a quote or an equals sign is quoted, so that a line can be split again.
void AppendValue(std::string& line, const std::string& value) {
  if (!value.empty() && value.find_first_of(" \"=\n") == std::string::npos) {
    line += value;
    return;
  }
  line += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') line += '\\';
    if (c == '\n') {
      line += "\\n";
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

LogField::LogField(std::string_view k, double v) : key(k) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", v);
  value = text.data();
}

void InitializeLog(std::string_view component, LogLevel lowest) {
  Logger() = MakeLogger(std::string(component));
  Logger()->set_level(ToSpdlog(lowest));
}

void Log(LogLevel level, std::string_view message, std::initializer_list<LogField> fields) {
  std::string line(message);
  for (const LogField& field : fields) {
    line += ' ';
    line += field.key;
    line += '=';
    AppendValue(line, field.value);
  }
  Logger()->log(ToSpdlog(level), "{}", line);
}

}  // namespace weft
