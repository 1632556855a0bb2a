#include "common/job/overrides.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/job/fields.h"
#include "common/job/nearest.h"
#include "common/job/shown.h"

namespace weft {
namespace {

using Kind = YamlNode::Kind;

void MarkFromOverride(YamlNode& node) {
  node.from_override = true;
  node.line = 0;
  for (YamlNode& item : node.items) MarkFromOverride(item);
  for (auto& [key, child] : node.children) MarkFromOverride(child);
}

// The names in "a.b.c", with `spec` in front unless the path begins at the document's root. Empty when a name is.
std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> names;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view name = path.substr(0, dot);
    if (name.empty()) return {};
    if (names.empty() && name != "apiVersion" && name != "kind" && name != "metadata" && name != "status" &&
        name != "spec") {
      names.emplace_back("spec");
    }
    names.emplace_back(name);
    if (dot == std::string_view::npos) return names;
    path.remove_prefix(dot + 1);
  }
}

Status ParseValue(const std::string& text, YamlNode* value) {
  if (text.empty()) {
    value->kind = Kind::kScalar;
    value->quoted = true;
  } else if (YamlError error; !ParseYaml(text, value, &error)) {
    return InvalidArgumentError(Shown(text) + " " + error.message);
  }
  MarkFromOverride(*value);
  return OkStatus();
}

const YamlNode* FindNode(const YamlNode& root, std::string_view path) {
  const YamlNode* node = &root;
  for (const std::string& name : SplitPath(path)) {
    node = node->Find(name);
    if (node == nullptr) return nullptr;
  }
  return node;
}

void Remove(YamlNode& root, std::string_view path) {
  YamlNode* node = &root;
  std::vector<std::string> names = SplitPath(path);
  const std::string last = names.back();
  names.pop_back();
  for (const std::string& name : names) node = node->Find(name);
  std::erase_if(node->children, [&](const auto& child) { return child.key == last; });
}

bool HasOverride(const YamlNode& node) {
  return node.from_override || std::any_of(node.items.begin(), node.items.end(), HasOverride) ||
         std::any_of(node.children.begin(), node.children.end(),
                     [](const YamlEntry& child) { return HasOverride(child.value); });
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr char kStrategyType[] = "spec.strategy.type";
constexpr char kOptimizerType[] = "spec.training.optimizer.type";

}  // namespace

std::vector<Dropped> DropOthersSettings(YamlNode* root) {
  std::vector<Dropped> all;
  for (const char* selector : {kStrategyType, kOptimizerType}) {
    const YamlNode* type = FindNode(*root, selector);
    if (type == nullptr || !type->from_override || type->kind != Kind::kScalar) continue;
    Dropped dropped{.selector = std::string(DisplayPath(selector)),
                    .type = LooseName(type->scalar, FindField(selector)->choices),
                    .paths = {}};
    if (dropped.type.empty()) continue;
    const auto drop = [&](const std::string& path) {
      const YamlNode* node = FindNode(*root, path);
      if (node == nullptr || HasOverride(*node)) return;
      Remove(*root, path);
      dropped.paths.emplace_back(DisplayPath(path));
    };
    for (const Field& field : JobFields()) {
      if (!field.only_with || field.only_with->selector != selector) continue;
      if (!Contains(field.only_with->values, dropped.type)) drop(field.path);
    }
    if (selector == kStrategyType) {
      if (!Contains(FindField("spec.strategy.parameterServer")->only_with->values, dropped.type)) {
        drop("spec.server");
      } else if (const YamlNode* servers = FindNode(*root, "spec.server.replicas");
                 servers != nullptr && servers->scalar == "0") {
        drop("spec.server.replicas");
      }
    }
    if (!dropped.paths.empty()) all.push_back(std::move(dropped));
  }
  return all;
}

Status ApplyOverride(const std::string& assignment, YamlNode* root) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgumentError(Shown(assignment) + " is not path=value");
  }
  const std::string path = assignment.substr(0, equals);
  const std::vector<std::string> names = SplitPath(path);
  if (names.empty() || names.size() > static_cast<std::size_t>(kMaxYamlDepth)) {
    return InvalidArgumentError(Shown(path) + " is not a path");
  }
  YamlNode value;
  WEFT_RETURN_IF_ERROR(ParseValue(assignment.substr(equals + 1), &value).WithContext(Shown(path)));

  YamlNode* node = root;
  std::string way;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = i + 1 == names.size();
    if (node->kind == Kind::kNull) {
      if (value.kind == Kind::kNull) return OkStatus();
      node->kind = Kind::kMap;
    }
    if (node->kind != Kind::kMap) return InvalidArgumentError(Shown(path) + ": " + Shown(way) + " is not a map");
    if (last && value.kind == Kind::kNull) {
      std::erase_if(node->children, [&](const auto& child) { return child.key == names[i]; });
      return OkStatus();
    }
    YamlNode* child = node->Find(names[i]);
    if (child == nullptr) {
      node->children.push_back({.key = names[i], .value = {}});
      child = &node->children.back().value;
    }
    way += (way.empty() ? "" : ".") + names[i];
    node = child;
  }
  *node = std::move(value);
  return OkStatus();
}

}  // namespace weft
