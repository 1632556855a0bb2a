#include "cli/command.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <cstdio>

namespace weft {

int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kNotFound:
    case StatusCode::kOutOfRange:
    case StatusCode::kDataLoss:
      return kExitBadInput;
    default:
      return kExitFailure;
  }
}

int ReportStatus(const Status& status) {
  if (!status.ok()) ReportError(status.message());
  return ExitCodeOf(status);
}

void AddSeedOption(CLI::App& command, std::uint64_t* seed, const std::string& what) {
  command.add_option("--seed", *seed, what)->capture_default_str()->check([](const std::string& text) {
    const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const bool fits = text.size() < 20 || (text.size() == 20 && text <= "18446744073709551615");
    return digits && fits ? std::string() : text + " is not within [0, 18446744073709551615]";
  });
}

void ReportError(const std::string& message) {
  std::string line = "weft: " + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace weft
