#include "tests/house/text.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "tests/house/tree.h"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

// The lines of a Markdown file, with those of code blocks and `code` made empty.
std::vector<std::string> ProseLines(const std::string& text) {
  static const std::regex kCode("`[^`]*`");
  std::vector<std::string> lines = SplitLines(text);
  bool in_block = false;
  for (std::string& line : lines) {
    const bool is_fence = line.starts_with("```");
    if (is_fence) in_block = !in_block;
    line = in_block || is_fence ? "" : std::regex_replace(line, kCode, "");
  }
  return lines;
}

// The anchors that a Markdown viewer gives the headings: lower case, spaces as hyphens, no punctuation.
std::set<std::string> Anchors(const std::string& text) {
  std::set<std::string> anchors;
  bool in_block = false;
  for (const std::string& line : SplitLines(text)) {
    if (line.starts_with("```")) in_block = !in_block;
    const std::size_t level = line.find_first_not_of('#');
    if (in_block || level == 0 || level == std::string::npos || line[level] != ' ') continue;
    std::string anchor;
    for (const char raw : line.substr(level + 1)) {
      const auto c = static_cast<unsigned char>(raw);
      if (std::isalnum(c) || c >= 0x80 || c == '-' || c == '_') anchor += static_cast<char>(std::tolower(c));
      if (c == ' ') anchor += '-';
    }
    anchors.insert(anchor);
  }
  return anchors;
}

bool Leads(const fs::path& root, const fs::path& file, const std::string& target) {
  const std::size_t hash = target.find('#');
  const std::string path = target.substr(0, hash);
  const fs::path to = path.empty() ? root / file : root / file.parent_path() / path;
  if (!fs::exists(to)) return false;
  if (hash == std::string::npos || to.extension() != ".md") return true;
  return Anchors(ReadText(to)).contains(target.substr(hash + 1));
}

}  // namespace

std::vector<std::string> FindBrokenLinks(const fs::path& root) {
  static const std::regex kLink(R"(\]\(([^)\s]+)(\s+"[^"]*")?\))");
  static const std::regex kScheme("^[a-z]+:");
  std::vector<std::string> broken;
  for (const fs::path& file : ListFiles(root)) {
    if (file.extension() != ".md") continue;
    int number = 0;
    for (const std::string& line : ProseLines(ReadText(root / file))) {
      ++number;
      for (auto link = std::sregex_iterator(line.begin(), line.end(), kLink); link != std::sregex_iterator(); ++link) {
        const std::string target = (*link)[1];
        if (std::regex_search(target, kScheme) || Leads(root, file, target)) continue;
        broken.push_back(file.string() + ":" + std::to_string(number) + ": leads nowhere: " + target);
      }
    }
  }
  return broken;
}

std::vector<std::string> FindWords(const fs::path& root, const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const fs::path& file : ListFiles(root)) {
    const std::string text = ReadText(root / file);
    if (text.find('\0') != std::string::npos) continue;
    int number = 0;
    for (const std::string& line : SplitLines(text)) {
      ++number;
      for (const std::string& word : words) {
        if (line.find(word) == std::string::npos) continue;
        found.push_back(file.string() + ":" + std::to_string(number) + ": has '" + word + "'");
      }
    }
  }
  return found;
}

}  // namespace weft::house
