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
  std::vector<std::vector<std::string>> kinds = {
      {"weft-remote-shell: "}, {"what():"}, {"Error: ", "errno", "system limit"}};
  if (own_lines) kinds.push_back({" error worker-", " error server-", " error agent"});
  for (const std::vector<std::string>& words : kinds) {
    std::istringstream lines{std::string(log)};
    for (std::string line; std::getline(lines, line);) {
      if (HoldsAny(line, words)) return Trimmed(line);
    }
  }
  return "";
}

std::string DescribeLostHost(std::string_view log, const std::vector<std::string>& hosts, int workers) {
  // "  Remote daemon: [[47741,0],2] on node 10.213.0.2", of Open MPI's help-errmgr-base.txt.
  const std::string on_node = " on node ";
  std::istringstream lines{std::string(log)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t node = line.find(on_node);
    if (node == std::string::npos || !Trimmed(line).starts_with("Remote daemon:")) continue;
    const std::string address = Trimmed(line.substr(node + on_node.size()));
    const auto host = std::ranges::find(hosts, address);
    if (host == hosts.end()) continue;
    const auto rank = static_cast<int>(host - hosts.begin());
    return "host " + std::to_string(rank) + " (" + address + ") can't be reached any more: " +
           (rank < workers ? "worker " + std::to_string(rank) : "server " + std::to_string(rank - workers));
  }
  return "";
}

}  // namespace weft
