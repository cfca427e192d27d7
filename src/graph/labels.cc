#include "graph/labels.h"

#include <algorithm>
#include <array>

#include "graph/nodes.h"

namespace headrace {
namespace {

constexpr std::array<const char*, 6> kHidden = {"ctx_group",       "lr_mult",      "wd_mult",
                                                "force_mirroring", "mirror_stage", "profiler_scope"};

}  // namespace

bool is_node_attr(const std::string& key) noexcept {
  return key.size() > 4 && key.starts_with("__") && key.ends_with("__");
}

std::string stored_key(const std::string& key) {
  return std::find(kHidden.begin(), kHidden.end(), key) == kHidden.end() ? key : "__" + key + "__";
}

Symbol::Texts shown_attrs(const Symbol::Texts& stored) {
  Symbol::Texts shown = stored;
  for (const char* key : kHidden)
    if (auto found = stored.find(stored_key(key)); found != stored.end()) shown.emplace(key, found->second);
  return shown;
}

std::string field_names(const OpDef& op) {
  std::string names;
  for (const FieldInfo& field : op.schema->fields) names += (names.empty() ? "" : ", ") + std::string(field.name);
  return names.empty() ? "none" : names;
}

size_t input_count(const OpDef& op, const Attrs& attrs) {
  return op.input_count ? op.input_count(attrs) : op.inputs.size() - op.optional_inputs;
}

NDArray missing_input(const Node& node, size_t i, const Symbol::Texts& attrs, const Symbol::Texts& node_attrs) {
  const OpDef& op = *node.op;
  Symbol::Texts texts;
  const bool auxiliary = i < 32 && ((op.mutates >> i) & 1u);
  if (auxiliary)
    texts["__init__"] = op.inputs[i].ends_with("var") ? "[\"one\", {}]" : "[\"zero\", {}]";
  else
    texts = attrs;
  texts.insert(node_attrs.begin(), node_attrs.end());
  return Symbol::variable(node.label->name + "_" + op.inputs[i], texts).outputs()[0];
}

}  // namespace headrace
