// Writes headrace/operators.hpp: one inline function for every public name in the catalogue. Usage:
// generate_operators FILE
//
// Inputs and required attributes become parameters, the other attributes the fields of an options struct.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "op/catalogue.h"

namespace headrace {
namespace {

constexpr char kHead[] =
    R"(// The operators as functions, by MXNet's names: headrace::nd, headrace::np, headrace::npx. Made from the catalogue by
// tools/generate_operators.cc. Functions return at once; their results are computed later. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headrace/axes.hpp"
#include "headrace/invoke.hpp"
)";

const std::set<std::string> kKeywords = {
    "alignas",  "and",     "asm",     "auto",     "bool",     "break",  "case",     "catch",    "char",   "class",
    "const",    "default", "delete",  "do",       "double",   "else",   "enum",     "explicit", "export", "extern",
    "false",    "float",   "for",     "friend",   "goto",     "if",     "inline",   "int",      "long",   "mutable",
    "new",      "not",     "or",      "operator", "private",  "public", "register", "return",   "short",  "signed",
    "sizeof",   "static",  "struct",  "switch",   "this",     "throw",  "true",     "try",      "typeid", "union",
    "unsigned", "using",   "virtual", "void",     "volatile", "while",  "xor"};

std::string identifier(const std::string& name) { return kKeywords.contains(name) ? name + "_" : name; }

// "batch_dot" becomes "BatchDot".
std::string pascal_case(const std::string& name) {
  std::string result;
  bool upper = true;
  for (char c : name) {
    if (c != '_') result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = c == '_';
  }
  return result;
}

std::string comment(const std::string& text, const char* indent) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\\')) line.pop_back();
    result += fmt::format("{}//{}{}\n", indent, line.empty() ? "" : " ", line);
    begin = end + 1;
  }
  return result;
}

std::string type_of(const FieldInfo& field) {
  // In the order of FieldKind; numbers are doubles in C++.
  static const char* const kTypes[] = {"bool",  "int64_t", "double",       "double", "std::string",
                                       "DType", "Shape",   "OptionalInts", "Doubles"};
  std::string type = kTypes[static_cast<size_t>(field.kind)];
  if (field.nullable && field.kind == FieldKind::kShape) return "Axes";
  return field.nullable ? "std::optional<" + type + ">" : type;
}

// Large values are passed by reference.
std::string parameter_type(const FieldInfo& field) {
  bool is_small = field.kind <= FieldKind::kNumber || field.kind == FieldKind::kDType;
  return is_small ? type_of(field) : "const " + type_of(field) + "&";
}

struct Literal {
  std::string operator()(std::monostate) const { return "std::nullopt"; }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("\"{}\"", value); }
  std::string operator()(DType value) const { return fmt::format("static_cast<DType>({})", static_cast<int>(value)); }
  std::string operator()(const Shape& value) const { return fmt::format("{{{}}}", fmt::join(value, ", ")); }
  std::string operator()(const Doubles& value) const { return fmt::format("{{{}}}", fmt::join(value, ", ")); }
  std::string operator()(const OptionalInts& value) const {
    std::string list;
    for (const auto& item : value)
      list += (list.empty() ? "" : ", ") + (item ? std::to_string(*item) : std::string("std::nullopt"));
    return "{" + list + "}";
  }
};

// The number of arrays of a variadic call follows from the call, and what only files know does too.
bool is_implied(const OpDef& op, const FieldInfo& field) {
  return field.of_files || (op.variadic && std::string_view(field.name) == "num_args");
}

std::string options_struct(const OpDef& op, const std::string& name) {
  std::string fields;
  for (const FieldInfo& field : op.schema->fields) {
    if (field.required || is_implied(op, field)) continue;
    std::string choices = field.choices ? fmt::format("\nOne of {}.", field.choices) : "";
    fields += comment(field.doc + choices, "  ");
    fields += fmt::format("  {} {} = {};\n", type_of(field), identifier(field.name),
                          std::visit(Literal(), field.get(op.default_attrs->data())));
  }
  return fields.empty() ? "" : fmt::format("\nstruct {} {{\n{}}};\n", name, fields);
}

std::string function(const OpDef& op, const std::string& name, const std::string& options, bool is_np) {
  const auto& names = is_np && !op.np_inputs.empty() ? op.np_inputs : op.inputs;
  std::vector<std::string> parameters, inputs, attrs;
  bool has_required = std::any_of(op.schema->fields.begin(), op.schema->fields.end(),
                                  [](const FieldInfo& field) { return field.required; });
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    std::string input = identifier(names[std::min(i, names.size() - 1)]);
    bool optional = !op.variadic && !has_required && i + op.optional_inputs >= op.inputs.size();
    parameters.push_back(op.variadic ? fmt::format("const std::vector<NDArray>& {}", input)
                                     : fmt::format("const NDArray& {}{}", input, optional ? " = {}" : ""));
    inputs.push_back(input);
    if (op.variadic) break;
  }
  for (const FieldInfo& field : op.schema->fields) {
    if (is_implied(op, field)) continue;
    std::string own = identifier(field.name);
    if (field.required) parameters.push_back(fmt::format("{} {}", parameter_type(field), own));
    attrs.push_back(fmt::format("{{\"{}\", {}{}}}", field.name, field.required ? "" : "options.", own));
  }
  if (!options.empty()) parameters.push_back(fmt::format("const {}& options = {{}}", options));
  bool is_single = !op.output_count && (op.visible_outputs ? op.visible_outputs : op.outputs) == 1;
  // As in Python, np's results may be views of the arguments, and nd's never are.
  const char* const callee = is_np ? "invoke" : "invoke_apart";
  std::string call = op.variadic ? fmt::format(
                                       "const std::vector<Option> attributes{{{}}};\n  return headrace::{}(\"{}\", "
                                       "std::span<const NDArray>({}), attributes)",
                                       fmt::join(attrs, ", "), callee, op.name, inputs[0])
                                 : fmt::format("return headrace::{}(\"{}\", {{{}}}, {{{}}})", callee, op.name,
                                               fmt::join(inputs, ", "), fmt::join(attrs, ", "));
  return fmt::format("\n{}inline {} {}({}) {{\n  {}{};\n}}\n", comment(op.doc, ""),
                     is_single ? "NDArray" : "std::vector<NDArray>", identifier(name), fmt::join(parameters, ", "),
                     call, is_single ? "[0]" : "");
}

// The text of each namespace ("nd::random"), from the public names "nd.random.shuffle".
std::map<std::string, std::string> namespaces() {
  std::map<std::string, std::string> texts;
  for (const OpDef& op : catalogue().all()) {
    std::map<std::string, std::string> structs;  // of this operator, by namespace
    for (const std::string& path : op.python) {
      size_t dot = path.rfind('.');
      std::string scope = path.substr(0, dot), name = path.substr(dot + 1);
      if (!scope.starts_with("n") || scope.starts_with("ndarray") || scope.find('_') != std::string::npos) continue;
      for (size_t at; (at = scope.find('.')) != std::string::npos;) scope.replace(at, 1, "::");
      std::string& text = texts[scope];
      if (auto [known, is_new] = structs.try_emplace(scope, pascal_case(name) + "Options"); is_new) {
        std::string options = options_struct(op, known->second);
        if (options.empty()) known->second.clear();
        text += options;
      }
      text += function(op, name, structs[scope], path.starts_with("np"));
    }
  }
  return texts;
}

}  // namespace
}  // namespace headrace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: generate_operators FILE\n";
    return 2;
  }
  std::string header = headrace::kHead;
  for (const auto& [scope, text] : headrace::namespaces())
    header += fmt::format("\nnamespace headrace::{} {{\n{}\n}}  // namespace headrace::{}\n", scope, text, scope);
  std::ifstream old(argv[1]);
  // An unchanged file keeps its time, so that nothing is compiled anew for it.
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == header) return 0;
  return std::ofstream(argv[1]) << header << std::flush ? 0 : 1;
}
