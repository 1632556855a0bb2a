#include "common/job/yaml_tree.h"

#include <yaml-cpp/emitter.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "common/job/shown.h"

namespace weft {
namespace {

using Kind = YamlNode::Kind;

// Thrown through yaml-cpp and caught in ParseYaml: the only way to stop its parser.
class Refusal : public YAML::ParserException {
 public:
  using ParserException::ParserException;
};

int CountNodes(const YamlNode& node) {
  int count = 1;
  for (const YamlNode& item : node.items) count += CountNodes(item);
  for (const auto& [key, child] : node.children) count += CountNodes(child);
  return count;
}

// Builds the tree from the parser's events, without recursion: `open_` is the path from the root to the value that
// comes next.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlNode* root) : root_(root) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add(mark, anchor, YamlNode{}); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto it = anchors_.find(anchor);
    if (it == anchors_.end()) throw Refusal(mark, "has an alias inside the value that it names");
    YamlNode copy = it->second;
    nodes_ += CountNodes(copy) - 1;
    Add(mark, 0, std::move(copy));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    // "?" is a plain scalar, "!" a quoted one.
    node.quoted = tag != "?" && !tag.empty();
    if (node.quoted && tag != "!" && tag != "tag:yaml.org,2002:str") {
      throw Refusal(mark, "has the tag " + Shown(tag) + ", which is not taken");
    }
    const bool null =
        !node.quoted && (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL");
    node.kind = null ? Kind::kNull : Kind::kScalar;
    node.scalar = null ? "" : value;
    Add(mark, anchor, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    YamlNode node;
    YAML::anchor_t anchor;
    std::optional<std::string> key;  // read, its value not yet
    int key_line = 0;
    std::set<std::string> keys;  // all so far
  };

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    if (!tag.empty() && tag != "?" && tag != "!")
      throw Refusal(mark, "has the tag " + Shown(tag) + ", which is not taken");
    if (static_cast<int>(open_.size()) >= kMaxYamlDepth) {
      throw Refusal(mark, "is nested deeper than " + std::to_string(kMaxYamlDepth));
    }
    YamlNode node;
    node.kind = kind;
    node.line = mark.line + 1;
    open_.push_back({std::move(node), anchor, std::nullopt, 0, {}});
  }

  void Close() {
    OpenNode done = std::move(open_.back());
    open_.pop_back();
    YAML::Mark mark;
    mark.line = done.node.line - 1;
    Add(mark, done.anchor, std::move(done.node));
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode node) {
    if (++nodes_ > kMaxYamlNodes) throw Refusal(mark, "has more than " + std::to_string(kMaxYamlNodes) + " values");
    node.line = mark.line + 1;
    if (anchor != 0) anchors_[anchor] = node;
    if (open_.empty()) {
      *root_ = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.kind == Kind::kList) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (node.kind != Kind::kScalar) throw Refusal(mark, "has a key that is not a name");
      if (!parent.keys.insert(node.scalar).second)
        throw Refusal(mark, "has the key `" + Shown(node.scalar) + "` twice");
      parent.key = node.scalar;
      parent.key_line = node.line;
    } else {
      // A map or list begins on the line after its key; the key's line is the one to point at.
      node.line = parent.key_line;
      parent.node.children.push_back({.key = std::move(*parent.key), .value = std::move(node)});
      parent.key.reset();
    }
  }

  YamlNode* const root_;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  int nodes_ = 0;
};

void Emit(YAML::Emitter& out, const YamlNode& node) {
  switch (node.kind) {
    case Kind::kNull:
      out << YAML::Null;
      return;
    case Kind::kScalar:
      if (node.quoted) {
        out << YAML::DoubleQuoted << node.scalar;
      } else {
        out << node.scalar;
      }
      return;
    case Kind::kList:
      out << YAML::BeginSeq;
      for (const YamlNode& item : node.items) Emit(out, item);
      out << YAML::EndSeq;
      return;
    case Kind::kMap:
      out << YAML::BeginMap;
      for (const auto& [key, child] : node.children) {
        out << YAML::Key << key << YAML::Value;
        Emit(out, child);
      }
      out << YAML::EndMap;
      return;
  }
}

}  // namespace

YamlNode* YamlNode::Find(std::string_view key) {
  for (auto& [name, child] : children) {
    if (name == key) return &child;
  }
  return nullptr;
}

const YamlNode* YamlNode::Find(std::string_view key) const { return const_cast<YamlNode*>(this)->Find(key); }

bool ParseYaml(std::string_view text, YamlNode* root, YamlError* error) {
  if (text.size() > kMaxYamlBytes) {
    *error = {0, "is larger than " + std::to_string(kMaxYamlBytes) + " bytes"};
    return false;
  }
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(root);
    if (!parser.HandleNextDocument(builder)) {
      *error = {0, "is empty"};
      return false;
    }
    YamlNode second;
    TreeBuilder second_builder(&second);
    if (parser.HandleNextDocument(second_builder)) {
      *error = {second.line, "holds more than one document"};
      return false;
    }
    return true;
  } catch (const Refusal& refusal) {
    *error = {refusal.mark.line + 1, refusal.msg};
  } catch (const YAML::Exception& exception) {
    *error = {exception.mark.is_null() ? 0 : exception.mark.line + 1, "is not YAML: " + Shown(exception.msg)};
  }
  return false;
}

std::string EmitYaml(const YamlNode& root) {
  YAML::Emitter out;
  Emit(out, root);
  return std::string(out.c_str(), out.size()) + "\n";
}

}  // namespace weft
