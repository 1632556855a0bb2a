#include "common/job/nearest.h"

#include <algorithm>
#include <cctype>

namespace weft {
namespace {

constexpr std::size_t kLongestName = 256;

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Optimal string alignment distance, three rows of the table at a time.
std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Folded(std::string_view text) {
  std::string folded;
  for (const char c : text) {
    if (c != '-' && c != '_') folded += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return folded;
}

std::string LooseName(std::string_view name, const std::vector<std::string>& names) {
  const std::string folded = Folded(name);
  for (const std::string& known : names) {
    if (Folded(known) == folded) return known;
  }
  return "";
}

std::string NearestName(std::string_view name, const std::vector<std::string>& names) {
  if (name.size() > kLongestName) return "";
  const std::string wanted = Lower(name);
  std::size_t best = std::max<std::size_t>(2, name.size() / 3) + 1;
  std::string nearest;
  for (const std::string& candidate : names) {
    const std::size_t distance = Distance(wanted, Lower(candidate));
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace weft
