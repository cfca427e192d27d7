// Graphs as csr matrices: element (u, v) is the number of the edge from u to v. Their edges, and parts of them.

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/dtype_dispatch.h"
#include "op/formula/transfer.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "op/sparse_context.h"
#include "ops/families.h"
#include "ops/sparse/graph.h"

namespace headrace {
namespace {

using enum StorageKind;

// --- edges -----------------------------------------------------------------------------------------------------------

void infer_edges(Infer& i, const NoAttrs&) {
  i.require(i.shape(0).size() == 2 && i.shape(1).size() == 1 && i.shape(1) == i.shape(2), ErrorKind::kRuntime,
            "a matrix and two vectors of one length are needed, got shapes {}, {} and {}", to_string(i.shape(0)),
            to_string(i.shape(1)), to_string(i.shape(2)));
  i.output(i.shape(1), i.dtype(0));
}

std::vector<int64_t> integers_of(const View& vector) {
  std::vector<int64_t> numbers(static_cast<size_t>(vector.size()));
  load_function(vector.dtype(), ComputeType::kInt64)(numbers.data(), vector.data(), 1, vector.size());
  return numbers;
}

void find_edges(SparseContext& c, const NoAttrs&) {
  const SparseParts& graph = c.parts(0);
  const std::vector<int64_t> from = integers_of(c.input(1)), to = integers_of(c.input(2));
  dispatch(c.output().dtype(), [&]<class T>() {
    T* out = SparseContext::data<T>(c.output());
    for (size_t k = 0; k < from.size(); ++k) {
      const int64_t u = require_vertex(c, from[k], c.input(0).shape()[0]);
      const int64_t *begin = graph.index() + graph.row_begin()[u], *end = graph.index() + graph.row_begin()[u + 1];
      const int64_t* found = std::find(begin, end, to[k]);
      out[k] = found == end ? static_cast<T>(-1) : graph.values_as<T>()[found - graph.index()];
    }
  });
}

OpDef edge_id() {
  return general<NoAttrs>(
      {.name = "_contrib_edge_id",
       .python = {"nd.contrib.edge_id"},
       .doc = "The elements (u[i], v[i]) of a csr matrix; -1 where none is stored. Raises MXNetError for other arrays "
              "and shapes, IndexError, when the result is read, for a row that is not there.",
       .inputs = {"data", "u", "v"},
       .infer = infer_edges,
       .kernel = refuse_dense_graph<NoAttrs>,
       .storage_forms = {{{kCsr, kDense, kDense}, {kDense}, find_edges}},
       .unsampled = "takes sparse arrays alone; tests/python/ops/test_graphs.py"});
}

void mark_edges(SparseContext& c, const NoAttrs&) {
  const SparseParts& graph = c.parts(0);
  SparseParts marked = c.make(0, graph.count());
  std::copy_n(graph.row_begin(), c.input(0).shape()[0] + 1, marked.row_begin());
  std::copy_n(graph.index(), graph.count(), marked.index());
  std::fill_n(marked.values_as<float>(), graph.count(), 1.0F);
  c.set(0, std::move(marked));
}

OpDef adjacency() {
  return general<NoAttrs>(
      {.name = "_contrib_dgl_adjacency",
       .python = {"nd.contrib.dgl_adjacency"},
       .doc = "The int64 csr matrix with 1 for every stored element, as float32. Raises MXNetError for other arrays.",
       .infer =
           [](Infer& i, const NoAttrs&) {
             require_int64(i, 0);
             i.output(i.shape(0), DType::kFloat32);
           },
       .kernel = refuse_dense_graph<NoAttrs>,
       .storage_forms = {{{kCsr}, {kCsr}, mark_edges}},
       .unsampled = "takes sparse arrays alone; tests/python/ops/test_graphs.py"});
}

// --- parts -----------------------------------------------------------------------------------------------------------

// The rows `vertices` of a graph, with the columns that `numbers` has; what is stored gets numbers from 0 on in `fresh`
// and keeps its value in `kept`.
struct Part {
  std::vector<int64_t> row_begin{0}, columns, values;

  void add_row(const SparseParts& graph, int64_t row, const std::unordered_map<int64_t, int64_t>& numbers) {
    for (int64_t k = graph.row_begin()[row]; k < graph.row_begin()[row + 1]; ++k) {
      const auto found = numbers.find(graph.index()[k]);
      if (found == numbers.end()) continue;
      columns.push_back(found->second);
      values.push_back(graph.values_as<int64_t>()[k]);
    }
    row_begin.push_back(static_cast<int64_t>(columns.size()));
  }

  void store(SparseContext& c, size_t output, bool keeps_values) const {
    SparseParts parts = c.make(output, static_cast<int64_t>(columns.size()));
    std::ranges::copy(row_begin, parts.row_begin());
    std::ranges::copy(columns, parts.index());
    for (size_t k = 0; k < values.size(); ++k)
      parts.values_as<int64_t>()[k] = keeps_values ? values[k] : static_cast<int64_t>(k);
    c.set(output, std::move(parts));
  }
};

std::unordered_map<int64_t, int64_t> numbered(const int64_t* vertices, int64_t count) {
  std::unordered_map<int64_t, int64_t> numbers;
  for (int64_t k = 0; k < count; ++k) numbers.emplace(vertices[k], k);
  return numbers;
}

struct SubgraphAttrs {
  int64_t num_args = 2;
  bool return_mapping = false;
  static constexpr auto kFields =
      fields(field(&SubgraphAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs(),
             field(&SubgraphAttrs::return_mapping, "return_mapping",
                   "Whether to give every part a second time, with the numbers that the edges had.")
                 .required());
};

void infer_subgraphs(Infer& i, const SubgraphAttrs& a) {
  const size_t sets = require_sets(i, 1);
  require_graph(i, 0);
  for (size_t copy = 0; copy < (a.return_mapping ? 2u : 1u); ++copy)
    for (size_t k = 1; k <= sets; ++k) {
      require_vector(i, k);
      i.output({i.size(k), i.size(k)}, DType::kInt64);
    }
}

void cut_subgraphs(SparseContext& c, const SubgraphAttrs& a) {
  const size_t sets = c.input_count() - 1;
  for (size_t k = 0; k < sets; ++k) {
    const auto* vertices = SparseContext::data<int64_t>(c.input(k + 1));
    const int64_t count = c.input(k + 1).size();
    check(std::is_sorted(vertices, vertices + count), ErrorKind::kValue,
          "{}: The input vertex list has to be sorted: input {} is not", c.name(), k + 1);
    const auto numbers = numbered(vertices, count);
    Part part;
    for (int64_t v = 0; v < count; ++v)
      part.add_row(c.parts(0), require_vertex(c, vertices[v], c.input(0).shape()[0]), numbers);
    part.store(c, k, false);
    if (a.return_mapping) part.store(c, k + sets, true);
  }
}

OpDef subgraph() {
  using A = SubgraphAttrs;
  std::vector<StorageForm> forms;
  for (size_t sets = 1; sets <= kMostSets; ++sets)
    for (const bool maps : {false, true}) {
      std::vector<StorageKind> inputs(sets + 1, kDense);
      inputs[0] = kCsr;
      forms.push_back({std::move(inputs), std::vector<StorageKind>(maps ? 2 * sets : sets, kCsr), cut_subgraphs,
                       [maps](const A& a) { return a.return_mapping == maps; }});
    }
  return general<A>(
      {.name = "_contrib_dgl_subgraph",
       .python = {"nd.contrib.dgl_subgraph"},
       .doc = "For each sorted vector of vertices the part of a graph, an int64 csr matrix, that joins them: rows and "
              "columns are places in the vector, and edges are numbered from 0 on. With return_mapping the same parts "
              "follow with the numbers that the edges have in the graph. Raises MXNetError for other arrays; when the "
              "result is read, ValueError for vertices out of order and IndexError for one that is not there.",
       .inputs = {"graph", "data"},
       .variadic = true,
       .output_count =
           [](const A& a) {
             return static_cast<size_t>(std::max<int64_t>(a.num_args - 1, 0)) * (a.return_mapping ? 2 : 1);
           },
       .infer = infer_subgraphs,
       .kernel = refuse_dense_graph<A>,
       .storage_forms = std::move(forms),
       .unsampled = "takes sparse arrays alone; tests/python/ops/test_graphs.py"});
}

struct CompactAttrs {
  int64_t num_args = 2;
  bool return_mapping = false;
  Shape graph_sizes;
  static constexpr auto kFields =
      fields(field(&CompactAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs(),
             field(&CompactAttrs::return_mapping, "return_mapping",
                   "Whether to give every graph a second time, with the numbers that the edges had.")
                 .required(),
             field(&CompactAttrs::graph_sizes, "graph_sizes", "Number of vertices of each graph.").required());
};

void infer_compact(Infer& i, const CompactAttrs& a) {
  const size_t graphs = i.input_count() / 2;
  i.require(i.input_count() % 2 == 0 && graphs >= 1 && graphs <= kMostSets && a.graph_sizes.size() == graphs,
            ErrorKind::kRuntime,
            "as many graphs as vectors and graph_sizes are needed, from 1 to {}; got {} arrays and {}", kMostSets,
            i.input_count(), to_string(a.graph_sizes));
  for (size_t k = 0; k < graphs; ++k) {
    require_int64(i, k);
    require_vector(i, k + graphs);
    i.require(i.shape(k).size() == 2 && i.size(k + graphs) == i.shape(k)[0] + 1 && a.graph_sizes[k] >= 0 &&
                  a.graph_sizes[k] <= i.shape(k)[0] && a.graph_sizes[k] <= i.shape(k)[1],
              ErrorKind::kRuntime,
              "a graph of {} vertices or more and a vector of one number more than it has rows are needed, got shapes "
              "{} and {}",
              a.graph_sizes[k], to_string(i.shape(k)), to_string(i.shape(k + graphs)));
  }
  for (size_t copy = 0; copy < (a.return_mapping ? 2u : 1u); ++copy)
    for (int64_t size : a.graph_sizes) i.output({size, size}, DType::kInt64);
}

void compact(SparseContext& c, const CompactAttrs& a) {
  const size_t graphs = c.input_count() / 2;
  for (size_t k = 0; k < graphs; ++k) {
    const auto* vertices = SparseContext::data<int64_t>(c.input(k + graphs));
    const int64_t size = a.graph_sizes[k];
    check(vertices[c.input(k + graphs).size() - 1] == size, ErrorKind::kValue,
          "{}: graph {} has {} vertices, as the last number of its vector says, but graph_sizes has {}", c.name(), k,
          vertices[c.input(k + graphs).size() - 1], size);
    const auto numbers = numbered(vertices, size);
    Part part;
    for (int64_t row = 0; row < size; ++row) part.add_row(c.parts(k), row, numbers);
    check(static_cast<int64_t>(part.columns.size()) == c.parts(k).count(), ErrorKind::kValue,
          "{}: graph {} has edges to vertices that its vector does not name, or rows behind the first {}", c.name(), k,
          size);
    part.store(c, k, false);
    if (a.return_mapping) part.store(c, k + graphs, true);
  }
}

OpDef graph_compact() {
  using A = CompactAttrs;
  std::vector<StorageForm> forms;
  for (size_t graphs = 1; graphs <= kMostSets; ++graphs)
    for (const bool maps : {false, true}) {
      std::vector<StorageKind> inputs(2 * graphs, kDense);
      std::fill_n(inputs.begin(), graphs, kCsr);
      forms.push_back({std::move(inputs), std::vector<StorageKind>(maps ? 2 * graphs : graphs, kCsr), compact,
                       [maps](const A& a) { return a.return_mapping == maps; }});
    }
  return general<A>(
      {.name = "_contrib_dgl_graph_compact",
       .python = {"nd.contrib.dgl_graph_compact"},
       .doc = "Graphs as the neighbour samples give them, int64 csr matrices and then their vectors of vertices, "
              "without the rows and columns of vertices that are not in them; edges are numbered from 0 on. With "
              "return_mapping the same graphs follow with the numbers that the edges had. Raises MXNetError for other "
              "arrays, ValueError, when the result is read, for a graph that does not fit its vector.",
       .inputs = {"graph_data"},
       .variadic = true,
       .output_count =
           [](const A& a) {
             return static_cast<size_t>(std::max<int64_t>(a.num_args / 2, 0)) * (a.return_mapping ? 2 : 1);
           },
       .infer = infer_compact,
       .kernel = refuse_dense_graph<A>,
       .storage_forms = std::move(forms),
       .unsampled = "takes sparse arrays alone; tests/python/ops/test_graphs.py"});
}

}  // namespace

Operators graph_part_operators() { return {edge_id(), adjacency(), subgraph(), graph_compact()}; }

}  // namespace headrace
