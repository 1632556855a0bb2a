// A YAML document as a small tree of our own, with the line of every value. The parser bounds what a file may cost
// (size, depth, number of values after anchors are expanded) and refuses what would be read in two ways (a key given
// twice, several documents, own tags).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

inline constexpr std::size_t kMaxYamlBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 64;
inline constexpr int kMaxYamlNodes = 100'000;

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 0;                     // 1-based; 0: not from the file
  std::string scalar;               // kScalar
  bool quoted = false;              // kScalar: a string whatever it looks like
  bool from_override = false;       // given on the command line, where enum values are taken in any case
  std::vector<YamlNode> items;      // kList
  std::vector<YamlEntry> children;  // kMap, in the file's order, each key once

  // The child of that name, or null when there is none or this is no map.
  YamlNode* Find(std::string_view key);
  const YamlNode* Find(std::string_view key) const;
};

// Not a std::pair, which Clang 16 can't hold inside of its own second.
struct YamlEntry {
  std::string key;
  YamlNode value;
};

struct YamlError {
  int line = 0;
  std::string message;
};

// Fills `root` with the one document in `text`. On an error fills `error` and returns false: not YAML, over a limit
// above, no or several documents, a key twice in one map, a key that is no scalar, a tag other than !!str, an alias
// inside the value it names. The message goes on from the text's name: "is empty".
bool ParseYaml(std::string_view text, YamlNode* root, YamlError* error);

// Parsing the text again gives the same tree, but for lines. Comments are not kept.
std::string EmitYaml(const YamlNode& root);

}  // namespace weft
