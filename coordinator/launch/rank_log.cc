#include "coordinator/launch/rank_log.h"

#include <algorithm>
#include <sstream>
#include <vector>

namespace weft {
namespace {

constexpr std::size_t kMostCharacters = 200;

std::string Trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1).substr(0, kMostCharacters);
}

bool HoldsAny(const std::string& line, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) { return line.find(word) != std::string::npos; });
}

}  // namespace

std::string TellingLine(std::string_view log, bool own_lines) {
  // The more telling first.
  std::vector<std::vector<std::string>> kinds = {{"what():"}, {"Error: ", "errno", "system limit"}};
  if (own_lines) kinds.push_back({" error worker-", " error server-", " error agent"});
  for (const std::vector<std::string>& words : kinds) {
    std::istringstream lines{std::string(log)};
    for (std::string line; std::getline(lines, line);) {
      if (HoldsAny(line, words)) return Trimmed(line);
    }
  }
  return "";
}

}  // namespace weft
