#include "cli/command.h"

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

void ReportError(const std::string& message) {
  std::string line = "weft: " + message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  std::fputs(line.c_str(), stderr);
}

}  // namespace weft
