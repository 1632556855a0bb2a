#include "tests/house/arrows.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <sstream>

#include "tests/house/tree.h"

namespace weft::house {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBelow = "/...";

std::vector<std::string> SplitWords(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), std::istream_iterator<std::string>()};
}

// "agent/core" lies in "agent/...", and so does "agent" itself.
bool LiesIn(const std::string& folder, const std::string& pattern) {
  if (!pattern.ends_with(kBelow)) return folder == pattern;
  const std::string top = pattern.substr(0, pattern.size() - kBelow.size());
  return folder == top || folder.starts_with(top + "/");
}

// What the file may include, or null when no line speaks of it: the file's own line, its folder's, or the nearest
// folder/... above it.
const std::vector<std::string>* AllowedFor(const Arrows& arrows, const fs::path& file) {
  if (const auto found = arrows.allowed.find(file.string()); found != arrows.allowed.end()) return &found->second;
  if (const auto found = arrows.allowed.find(file.parent_path().string()); found != arrows.allowed.end()) {
    return &found->second;
  }
  for (fs::path folder = file.parent_path(); !folder.empty(); folder = folder.parent_path()) {
    const auto found = arrows.allowed.find(folder.string() + std::string(kBelow));
    if (found != arrows.allowed.end()) return &found->second;
  }
  return nullptr;
}

// The library that `header` is guarded by, or "".
std::string LibraryOf(const Arrows& arrows, const std::string& header) {
  for (const auto& [library, headers] : arrows.libraries) {
    for (const std::string& guarded : headers) {
      if (guarded.ends_with('/') ? header.starts_with(guarded) : header == guarded) return library;
    }
  }
  return "";
}

bool IsFileFromRoot(const fs::path& root, const std::string& include) {
  for (const std::string_view generated : {".grpc.pb.h", ".pb.h"}) {
    if (include.ends_with(generated)) {
      return fs::exists(root / (include.substr(0, include.size() - generated.size()) + ".proto"));
    }
  }
  return fs::exists(root / include);
}

bool MayIncludeOwn(const std::vector<std::string>& allowed, const fs::path& file, const std::string& include) {
  const std::string folder = fs::path(include).parent_path().string();
  if (folder == file.parent_path()) return true;
  return std::any_of(allowed.begin(), allowed.end(),
                     [&](const std::string& item) { return item == include || LiesIn(folder, item); });
}

}  // namespace

Result<Arrows> ParseArrows(std::string_view text) {
  Arrows arrows;
  std::vector<std::string>* items = nullptr;
  std::vector<std::pair<std::string, int>> used_libraries;
  int number = 0;
  const auto error = [&](const std::string& message) {
    return InvalidArgumentError("line " + std::to_string(number) + ": " + message);
  };
  for (std::string line : SplitLines(std::string(text))) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::string rest = line;
    if (!std::isspace(static_cast<unsigned char>(line.front()))) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) return error("no colon in '" + line + "'");
      constexpr std::string_view kLibrary = "library ";
      const bool is_library = line.starts_with(kLibrary);
      const std::size_t start = is_library ? kLibrary.size() : 0;
      const std::string name = line.substr(start, colon - start);
      const auto [position, is_new] = (is_library ? arrows.libraries : arrows.allowed).try_emplace(name);
      if (!is_new) return error("'" + name + "' has a line already");
      items = &position->second;
      rest = line.substr(colon + 1);
    }
    if (items == nullptr) return error("nothing to go on from");
    for (const std::string& item : SplitWords(rest)) {
      items->push_back(item);
      if (item.starts_with('<')) used_libraries.emplace_back(item, number);
    }
  }
  for (const auto& [library, used_at] : used_libraries) {
    number = used_at;
    if (!arrows.libraries.contains(library)) return error("library " + library + " is not defined");
  }
  return arrows;
}

std::vector<std::string> FindWrongIncludes(const Arrows& arrows, const fs::path& root) {
  static const std::regex kInclude(R"(^\s*#\s*include\s*(["<])([^">]+)[">])");
  std::vector<std::string> wrong;
  for (const fs::path& file : ListFiles(root)) {
    if (file.extension() != ".h" && file.extension() != ".cc") continue;
    const std::vector<std::string>* allowed = AllowedFor(arrows, file);
    if (allowed == nullptr) {
      wrong.push_back(file.string() + ": its folder is not named in arrows.txt");
      continue;
    }
    int number = 0;
    for (const std::string& line : SplitLines(ReadText(root / file))) {
      ++number;
      std::smatch match;
      if (!std::regex_search(line, match, kInclude)) continue;
      const std::string include = match[2];
      const std::string place = file.string() + ":" + std::to_string(number) + ": ";
      // "gtest/gtest.h" is a library's, however it is quoted.
      const std::string library = LibraryOf(arrows, include);
      if (match[1] == "\"" && library.empty()) {
        if (!IsFileFromRoot(root, include)) {
          wrong.push_back(place + "\"" + include + "\" is not a file from the repository's root");
        } else if (!MayIncludeOwn(*allowed, file, include)) {
          wrong.push_back(place + "may not include \"" + include + "\"");
        }
      } else if (!library.empty() && std::find(allowed->begin(), allowed->end(), library) == allowed->end()) {
        wrong.push_back(place + "may not include <" + include + ">");
      }
    }
  }
  return wrong;
}

}  // namespace weft::house
