#include "tests/house/tree.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace weft::house {
namespace fs = std::filesystem;

std::vector<fs::path> ListFiles(const fs::path& root) {
  static const std::set<std::string> kSkipped = {"build", "runs"};
  std::vector<fs::path> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::recursive_directory_iterator(); ++entry) {
    const std::string name = entry->path().filename().string();
    if (entry->is_directory()) {
      if ((entry.depth() == 0 && kSkipped.contains(name)) || (name.starts_with('.') && name != ".ci")) {
        entry.disable_recursion_pending();
      }
    } else if (entry->is_regular_file() && name != ".git") {  // a linked work tree's .git is a file
      files.push_back(entry->path().lexically_relative(root));
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> SplitLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace weft::house
