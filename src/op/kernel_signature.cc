#include "op/kernel_signature.h"

#include <algorithm>
#include <regex>
#include <string>
#include <utility>

#include "base/check.h"

namespace headrace {
namespace {

constexpr std::pair<std::string_view, DType> kTypes[] = {
    {"float", DType::kFloat32},   {"double", DType::kFloat64},
    {"__half", DType::kFloat16},  {"half", DType::kFloat16},
    {"int", DType::kInt32},       {"int32_t", DType::kInt32},
    {"int64_t", DType::kInt64},   {"int16_t", DType::kInt16},
    {"int8_t", DType::kInt8},     {"char", DType::kInt8},
    {"uint8_t", DType::kUint8},   {"uint16_t", DType::kUint16},
    {"uint32_t", DType::kUint32}, {"uint64_t", DType::kUint64},
    {"bool", DType::kBool},       {"__nv_bfloat16", DType::kBfloat16}};

std::string names_of_types() {
  std::string names;
  for (const auto& [name, dtype] : kTypes) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

KernelParameter parse_parameter(const std::string& text) {
  static const std::regex kForm(R"(\s*(const\s+)?(\w+)\s*(\*?)\s*(\w*)\s*)");
  std::smatch found;
  check(std::regex_match(text, found, kForm) && found[2] != "const", ErrorKind::kValue,
        "get_kernel: a parameter is written (const) type (*) (name), such as const float *x, but the signature has "
        "'{}'",
        text);
  const std::string name = found[2];
  const auto* const type = std::ranges::find(kTypes, name, [](const auto& known) { return known.first; });
  check(type != std::end(kTypes), ErrorKind::kType, "get_kernel: '{}' has a type that no array has; there are {}", text,
        names_of_types());
  return {.dtype = type->second, .is_array = found[3].length() > 0, .is_const = found[1].matched};
}

}  // namespace

std::vector<KernelParameter> parse_kernel_signature(std::string_view signature) {
  std::vector<KernelParameter> parameters;
  if (signature.find_first_not_of(" \t\n") == std::string_view::npos) return parameters;
  for (size_t begin = 0; begin <= signature.size();) {
    const size_t end = std::min(signature.find(',', begin), signature.size());
    parameters.push_back(parse_parameter(std::string(signature.substr(begin, end - begin))));
    begin = end + 1;
  }
  return parameters;
}

}  // namespace headrace
