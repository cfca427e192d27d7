// Products of multi-head attention over projections that lie side by side: (time, batch, heads * parts * head size),
// where the parts of self-attention are queries, keys and values, and those of an encoder are keys and values.

#include <cmath>

#include "base/check.h"
#include "headrace/arithmetic.hpp"
#include "op/invoke.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;

struct HeadsAttrs {
  int64_t heads = 1;
  static constexpr auto kFields =
      fields(field(&HeadsAttrs::heads, "heads", "Number of heads.").required().between(1, kMostInt));
};

void check_three_axes(const NDArray& array, const char* what, const char* name) {
  check(array.ndim() == 3, ErrorKind::kRuntime, "{}: {} must have 3 axes, got shape {}", name, what,
        to_string(array.shape()));
}

// The parts of projections of shape (time, batch, heads * parts * size), each as (batch, heads, time, size) in the same
// memory.
std::vector<NDArray> parts_of(const NDArray& projections, const char* what, int64_t parts, int64_t heads,
                              const char* name) {
  check_three_axes(projections, what, name);
  const Shape& shape = projections.shape();
  check(shape[2] % (heads * parts) == 0, ErrorKind::kRuntime,
        "{}: the last axis of {} {} must be a multiple of {} ({} heads of {} parts)", name, what, to_string(shape),
        heads * parts, heads, parts);
  const Shape split{shape[0], shape[1], heads, parts, shape[2] / (heads * parts)};
  const NDArray seen = call("_reshape_to", {projections}, {{"shape", split}});
  const OpDef& cut = find_op("SliceChannel");
  std::vector<NDArray> result = invoke_all(
      cut, attrs_of(cut, {{"num_outputs", parts}, {"axis", int64_t{3}}, {"squeeze_axis", true}}), {&seen, 1});
  for (NDArray& part : result) part = call("transpose", {part}, {{"axes", Shape{1, 2, 0, 3}}});
  return result;
}

// (batch * heads, query time, key time), scaled by 1 / sqrt(size).
NDArray scores(const NDArray& queries, const NDArray& keys) {
  const double scale = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, queries.shape()[3])));
  const NDArray scaled = queries * scale;
  const NDArray product = call("_batched_product", {scaled, keys}, {{"transpose_b", true}});
  const Shape& s = product.shape();
  return call("_reshape_to", {product}, {{"shape", Shape{s[0] * s[1], s[2], s[3]}}});
}

// attention (batch * heads, query time, key time) times values: (query time, batch, heads * size).
NDArray mixed(const NDArray& attention, const NDArray& values, const char* name) {
  check_three_axes(attention, "attention", name);
  const Shape &a = attention.shape(), &v = values.shape();
  check(a[0] == v[0] * v[1] && a[2] == v[2], ErrorKind::kRuntime,
        "{}: attention must have shape ({}, query time, {}): batch * heads and the time of the values; got {}", name,
        v[0] * v[1], v[2], to_string(a));
  const NDArray weights = call("_reshape_to", {attention}, {{"shape", Shape{v[0], v[1], a[1], a[2]}}});
  const NDArray product = call("_batched_product", {weights, values});
  const NDArray by_time = call("transpose", {product}, {{"axes", Shape{2, 0, 1, 3}}});
  return call("_reshape_to", {by_time}, {{"shape", Shape{a[1], v[0], v[1] * v[3]}}});
}

// Without the last elements of the last axis, which are too few for every head to have one more.
NDArray evenly_shared(const NDArray& projections, int64_t parts) {
  if (projections.ndim() != 3 || projections.shape()[2] < parts) return projections;
  const int64_t rest = projections.shape()[2] % parts;
  if (rest == 0) return projections;
  return call("slice_axis", {projections},
              {{"axis", int64_t{2}}, {"begin", int64_t{0}}, {"end", projections.shape()[2] - rest}});
}

std::vector<NDArray> self_scores(Arrays in, const HeadsAttrs& a) {
  const auto parts =
      parts_of(evenly_shared(in[0], a.heads * 3), "queries_keys_values", 3, a.heads, "interleaved_matmul_selfatt_qk");
  return {scores(parts[0], parts[1])};
}

std::vector<NDArray> self_values(Arrays in, const HeadsAttrs& a) {
  const char* name = "interleaved_matmul_selfatt_valatt";
  const NDArray values = parts_of(in[0], "queries_keys_values", 3, a.heads, name)[2];
  check(in[1].ndim() != 3 || in[1].shape()[1] == values.shape()[2], ErrorKind::kRuntime,
        "{}: attention {} must have the time of queries_keys_values {} in its last two axes", name,
        to_string(in[1].shape()), to_string(in[0].shape()));
  return {mixed(in[1], values, name)};
}

std::vector<NDArray> encoder_scores(Arrays in, const HeadsAttrs& a) {
  const char* name = "interleaved_matmul_encdec_qk";
  const NDArray queries = parts_of(in[0], "queries", 1, a.heads, name)[0];
  const NDArray keys = parts_of(in[1], "keys_values", 2, a.heads, name)[0];
  const Shape &q = in[0].shape(), &kv = in[1].shape();
  check(q[1] == kv[1] && 2 * q[2] == kv[2], ErrorKind::kRuntime,
        "{}: keys_values must have the batch of the queries {} and twice their last axis, got {}", name, to_string(q),
        to_string(kv));
  return {scores(queries, keys)};
}

std::vector<NDArray> encoder_values(Arrays in, const HeadsAttrs& a) {
  const char* name = "interleaved_matmul_encdec_valatt";
  return {mixed(in[1], parts_of(in[0], "keys_values", 2, a.heads, name)[1], name)};
}

OpDef attention(const char* name, std::string doc, std::vector<std::string> inputs,
                std::vector<NDArray> (*compose)(Arrays, const HeadsAttrs&), std::vector<SampleArray> sample) {
  return general<HeadsAttrs>({.name = std::string("_contrib_interleaved_matmul_") + name,
                              .python = {std::string("nd.contrib.interleaved_matmul_") + name},
                              .doc = std::move(doc) + " Raises MXNetError for shapes that do not fit.",
                              .inputs = std::move(inputs),
                              .compose = compose,
                              .samples = {Sample(std::move(sample), make_attrs(HeadsAttrs{.heads = 2}))}});
}

}  // namespace

Operators attention_operators() {
  return {
      attention("selfatt_qk",
                "Scaled products of queries and keys: (time, batch, heads * 3 * size) gives (batch * heads, time, "
                "time). Each head has its query, key and value side by side; scores are divided by sqrt(size).",
                {"queries_keys_values"}, self_scores, {uniform({3, 2, 12})}),
      attention("selfatt_valatt",
                "Values weighted by attention: (time, batch, heads * 3 * size) and (batch * heads, time, time) give "
                "(time, batch, heads * size).",
                {"queries_keys_values", "attention"}, self_values, {uniform({3, 2, 12}), uniform({4, 3, 3})}),
      attention("encdec_qk",
                "Scaled products of queries (query time, batch, heads * size) and keys of keys_values (key time, "
                "batch, heads * 2 * size): (batch * heads, query time, key time), divided by sqrt(size).",
                {"queries", "keys_values"}, encoder_scores, {uniform({2, 2, 4}), uniform({3, 2, 8})}),
      attention("encdec_valatt",
                "Values of keys_values (key time, batch, heads * 2 * size) weighted by attention (batch * heads, query "
                "time, key time): (query time, batch, heads * size).",
                {"keys_values", "attention"}, encoder_values, {uniform({3, 2, 8}), uniform({4, 2, 3})}),
  };
}

}  // namespace headrace
