#include "cli/edge_text.h"

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/job/shown.h"

namespace weft {
namespace {

using Edges = std::vector<std::pair<int, int>>;

constexpr std::size_t kMaxEdges = 1'000'000;
constexpr std::string_view kSpace = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<int> ToNode(std::string_view text) {
  int node = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), node);
  if (error != std::errc() || end != text.data() + text.size() || node < 0) return std::nullopt;
  return node;
}

Result<std::pair<int, int>> ParseEdge(std::string_view text) {
  const std::size_t first_end = text.find_first_not_of("0123456789");
  if (first_end != std::string_view::npos) {
    std::string_view rest = Trimmed(text.substr(first_end));
    if (rest.starts_with('-')) rest = Trimmed(rest.substr(1));
    const std::optional<int> a = ToNode(text.substr(0, first_end));
    const std::optional<int> b = ToNode(rest);
    if (a && b) return std::pair(*a, *b);
  }
  return InvalidArgumentError(Shown(text) + " is not an edge such as 0-1");
}

Result<Edges> ParseJsonEdges(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto is_node = [](const nlohmann::json& value) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<int>::max();
  };
  if (!json.is_array()) return InvalidArgumentError(Shown(text) + " is not a list of pairs such as [[0, 1], [1, 2]]");
  Edges edges;
  for (const nlohmann::json& item : json) {
    if (!item.is_array() || item.size() != 2 || !is_node(item[0]) || !is_node(item[1])) {
      return InvalidArgumentError(Shown(item.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) +
                                  " is not an edge such as [0, 1]");
    }
    edges.emplace_back(item[0].get<int>(), item[1].get<int>());
  }
  return edges;
}

Result<Edges> ParseLines(std::string_view text) {
  Edges edges;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const std::string_view item = line.substr(0, line.find(','));
      line.remove_prefix(std::min(line.size(), item.size() + 1));
      if (Trimmed(item).empty()) continue;
      WEFT_ASSIGN_OR_RETURN(const auto edge, ParseEdge(Trimmed(item)));
      edges.push_back(edge);
    }
  }
  return edges;
}

}  // namespace

Result<Edges> ParseEdges(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = first != std::string_view::npos && text[first] == '[';
  WEFT_ASSIGN_OR_RETURN(Edges edges, json ? ParseJsonEdges(text) : ParseLines(text));
  if (edges.empty()) return InvalidArgumentError("there is no edge in it");
  if (edges.size() > kMaxEdges) {
    return InvalidArgumentError(std::to_string(edges.size()) + " edges are more than " + std::to_string(kMaxEdges));
  }
  return edges;
}

}  // namespace weft
