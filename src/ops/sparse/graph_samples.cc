// Samples of the neighbourhoods of vertices in a graph.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "ops/families.h"
#include "ops/random/sampling.h"
#include "ops/sparse/graph.h"

namespace headrace {
namespace {

using enum StorageKind;

struct NeighbourAttrs {
  int64_t num_args = 2, num_hops = 1, num_neighbor = 2, max_num_vertices = 100;
  static constexpr auto kFields =
      fields(field(&NeighbourAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs(),
             field(&NeighbourAttrs::num_hops, "num_hops", "How many edges away from its seeds a sample goes.")
                 .between(0, kMostInt),
             field(&NeighbourAttrs::num_neighbor, "num_neighbor", "How many edges of a vertex are taken, at most.")
                 .between(0, kMostInt),
             field(&NeighbourAttrs::max_num_vertices, "max_num_vertices", "How many vertices a sample has, at most.")
                 .between(0, kMostInt));
};

// --- some of the edges of a vertex -----------------------------------------------------------------------------------

// `count` of the numbers below `bound`, in order.
std::vector<int64_t> drawn(MersenneTwister& words, int64_t bound, int64_t count) {
  std::uniform_int_distribution<size_t> below(0, static_cast<size_t>(bound - 1));
  std::set<int64_t> chosen;
  while (static_cast<int64_t>(chosen.size()) < count) chosen.insert(static_cast<int64_t>(below(words)));
  return {chosen.begin(), chosen.end()};
}

// The same; those that are left out are drawn where they are fewer.
std::vector<int64_t> drawn_evenly(MersenneTwister& words, int64_t bound, int64_t count) {
  if (bound > 2 * count) return drawn(words, bound, count);
  const std::vector<int64_t> without = drawn(words, bound, bound - count);
  std::vector<int64_t> chosen;
  for (int64_t k = 0; k < bound; ++k)
    if (!std::ranges::binary_search(without, k)) chosen.push_back(k);
  return chosen;
}

// Weights that numbers are drawn by, as a binary tree of sums: node k is the sum of nodes 2k and 2k + 1.
class Weights {
 public:
  explicit Weights(const std::vector<float>& weights) {
    while (leaves_ < weights.size()) leaves_ *= 2;
    sums_.resize(2 * leaves_);
    std::ranges::copy(weights, sums_.begin() + static_cast<int64_t>(leaves_));
    for (size_t k = leaves_ - 1; k > 0; --k) add_up(k);
  }
  float total() const { return sums_[1]; }
  // The number at this place between 0 and the total, which counts no more afterwards.
  size_t take(float place) {
    size_t node = 1;
    while (node < leaves_) {
      node *= 2;
      if (place < sums_[node] || !(sums_[node + 1] > 0)) continue;
      place -= sums_[node];
      ++node;
    }
    sums_[node] = 0;
    for (size_t above = node / 2; above > 0; above /= 2) add_up(above);
    return node - leaves_;
  }

 private:
  void add_up(size_t k) { sums_[k] = sums_[2 * k] + sums_[2 * k + 1]; }

  size_t leaves_ = 1;
  std::vector<float> sums_;
};

// Those without a weight come last, in order.
std::vector<int64_t> drawn_by_weight(MersenneTwister& words, const std::vector<float>& weights, int64_t count) {
  Weights tree(weights);
  std::set<int64_t> chosen;
  while (static_cast<int64_t>(chosen.size()) < count && tree.total() > 0)
    chosen.insert(static_cast<int64_t>(tree.take(tree.total() * uniform01<float>(words))));
  for (int64_t k = 0; static_cast<int64_t>(chosen.size()) < count; ++k) chosen.insert(k);
  return {chosen.begin(), chosen.end()};
}

// --- samples ---------------------------------------------------------------------------------------------------------

class Neighbourhood {
 public:
  Neighbourhood(const SparseContext& c, const NeighbourAttrs& a, uint32_t seed)
      : c_(c), a_(a), seed_(seed), count_(c.input(0).shape()[0]) {}

  // Without weights all edges are alike; else they count as the vertices that they lead to.
  void grow(const View& seeds, const float* weights) {
    for (int64_t k = 0; k < seeds.size(); ++k) meet(SparseContext::data<int64_t>(seeds)[k], 0);
    for (size_t k = 0; k < queue_.size() && static_cast<int64_t>(layers_.size()) < a_.max_num_vertices; ++k) {
      const int64_t vertex = queue_[k], layer = layers_.at(vertex);
      if (layer >= a_.num_hops) continue;
      const std::vector<int64_t>& places = edges_[vertex] = chosen_edges(vertex, weights);
      for (int64_t place : places) {
        if (static_cast<int64_t>(layers_.size()) >= a_.max_num_vertices) break;
        meet(c_.parts(0).index()[place], layer + 1);
      }
    }
  }

  void store_vertices(const View& vertices, const View& layers) const {
    auto *ids = SparseContext::data<int64_t>(vertices), *levels = SparseContext::data<int64_t>(layers);
    std::fill_n(ids, vertices.size(), 0);
    std::fill_n(levels, layers.size(), 0);
    ids[vertices.size() - 1] = static_cast<int64_t>(layers_.size());
    for (const auto& [vertex, layer] : layers_) {
      *ids++ = vertex;
      *levels++ = layer;
    }
  }

  void store_weights(const View& to, const float* weights) const {
    auto* out = SparseContext::data<float>(to);
    std::fill_n(out, to.size(), 0.0F);
    for (const auto& [vertex, layer] : layers_) *out++ = weights[vertex];
  }

  void store_edges(size_t output) const {
    int64_t total = 0;
    for (const auto& [vertex, places] : edges_) total += static_cast<int64_t>(places.size());
    const SparseParts& graph = c_.parts(0);
    SparseParts part = c_.make(output, total);
    int64_t row = 0, stored = 0;
    for (const auto& [vertex, layer] : layers_) {
      if (const auto found = edges_.find(vertex); found != edges_.end())
        for (int64_t place : found->second) {
          part.index()[stored] = graph.index()[place];
          part.values_as<int64_t>()[stored++] = graph.values_as<int64_t>()[place];
        }
      part.row_begin()[++row] = stored;
    }
    std::fill(part.row_begin() + row, part.row_begin() + a_.max_num_vertices + 1, stored);
    c_.set(output, std::move(part));
  }

 private:
  void meet(int64_t vertex, int64_t layer) {
    if (layers_.emplace(require_vertex(c_, vertex, count_), layer).second) queue_.push_back(vertex);
  }

  // As MXNet does, every vertex starts from the seed.
  std::vector<int64_t> chosen_edges(int64_t vertex, const float* weights) const {
    const SparseParts& graph = c_.parts(0);
    const int64_t first = graph.row_begin()[vertex], degree = graph.row_begin()[vertex + 1] - first;
    std::vector<int64_t> places(static_cast<size_t>(degree));
    MersenneTwister words(seed_);
    if (degree <= a_.num_neighbor) {
      for (size_t k = 0; k < places.size(); ++k) places[k] = static_cast<int64_t>(k);
    } else if (!weights) {
      places = drawn_evenly(words, degree, a_.num_neighbor);
    } else {
      std::vector<float> own;
      for (int64_t k = 0; k < degree; ++k) own.push_back(weights[graph.index()[first + k]]);
      places = drawn_by_weight(words, own, a_.num_neighbor);
    }
    for (int64_t& place : places) place += first;
    return places;
  }

  const SparseContext& c_;
  const NeighbourAttrs& a_;
  const uint32_t seed_;
  const int64_t count_;
  std::map<int64_t, int64_t> layers_;              // of the vertices, in the order of their numbers
  std::vector<int64_t> queue_;                     // as they were met
  std::map<int64_t, std::vector<int64_t>> edges_;  // places in the graph of the edges taken
};

uint32_t drawn_seed(const SparseContext& c) {
  if (c.ticket() == kMtTicket) return static_cast<uint32_t>(generators().states(Streams::kSequential).at(0)());
  return PhiloxStream(c.ticket(), 0)();
}

void sample(SparseContext& c, const NeighbourAttrs& a, bool is_weighted) {
  const size_t others = is_weighted ? 2 : 1, sets = c.input_count() - others;
  const float* weights = is_weighted ? SparseContext::data<float>(c.input(1)) : nullptr;
  for (int64_t k = 0; weights && k < c.input(1).size(); ++k)
    check(weights[k] >= 0 && std::isfinite(weights[k]), ErrorKind::kValue,
          "{}: probability must hold numbers from 0 on, got {} for vertex {}", c.name(), weights[k], k);
  const uint32_t seed = drawn_seed(c);
  for (size_t k = 0; k < sets; ++k) {
    Neighbourhood part(c, a, seed + static_cast<uint32_t>(k));
    part.grow(c.input(others + k), weights);
    part.store_vertices(c.output(k), c.output((is_weighted ? 3 : 2) * sets + k));
    part.store_edges(sets + k);
    if (is_weighted) part.store_weights(c.output(2 * sets + k), weights);
  }
}

void infer_samples(Infer& i, const NeighbourAttrs& a, bool is_weighted) {
  const size_t others = is_weighted ? 2 : 1, sets = require_sets(i, others);
  require_graph(i, 0);
  const int64_t vertices = i.shape(0)[0];
  i.require(std::min({a.num_hops, a.num_neighbor, a.max_num_vertices}) >= 0, ErrorKind::kValue,
            "num_hops, num_neighbor and max_num_vertices must not be negative, got {}, {} and {}", a.num_hops,
            a.num_neighbor, a.max_num_vertices);
  if (is_weighted)
    i.require(i.dtype(1) == DType::kFloat32 && i.shape(1) == Shape{vertices}, ErrorKind::kRuntime,
              "probability must be {} numbers of float32, one for each vertex, got {} of shape {}", vertices,
              dtype_name(i.dtype(1)), to_string(i.shape(1)));
  for (size_t k = others; k < i.input_count(); ++k) {
    require_vector(i, k);
    i.require(i.size(k) <= a.max_num_vertices, ErrorKind::kRuntime,
              "max_num_vertices is {}, but there are {} seeds; expected no more", a.max_num_vertices, i.size(k));
  }
  const auto give = [&](const Shape& shape, DType dtype) {
    for (size_t k = 0; k < sets; ++k) i.output(shape, dtype);
  };
  give({a.max_num_vertices + 1}, DType::kInt64);
  give({a.max_num_vertices, vertices}, DType::kInt64);
  if (is_weighted) give({a.max_num_vertices}, DType::kFloat32);
  give({a.max_num_vertices}, DType::kInt64);
  generators().draw(i, Streams::kSequential);
}

std::vector<StorageForm> forms_of(bool is_weighted) {
  std::vector<StorageForm> forms;
  const size_t others = is_weighted ? 2 : 1;
  for (size_t sets = 1; sets <= kMostSets; ++sets) {
    std::vector<StorageKind> inputs(sets + others, kDense), outputs((others + 2) * sets, kDense);
    inputs[0] = kCsr;
    std::fill_n(outputs.begin() + static_cast<int64_t>(sets), sets, kCsr);
    forms.push_back({std::move(inputs), std::move(outputs),
                     [is_weighted](SparseContext& c, const NeighbourAttrs& a) { sample(c, a, is_weighted); }});
  }
  return forms;
}

OpDef sampling(bool is_weighted, OpDef op) {
  using A = NeighbourAttrs;
  op.variadic = true;
  op.output_count = [is_weighted](const A& a) {
    const int64_t others = is_weighted ? 2 : 1;
    return static_cast<size_t>(std::max<int64_t>(a.num_args - others, 0) * (others + 2));
  };
  op.infer = [is_weighted](Infer& i, const A& a) { infer_samples(i, a, is_weighted); };
  op.kernel = refuse_dense_graph<A>;
  op.storage_forms = forms_of(is_weighted);
  op.is_random = true;
  op.unsampled = "takes sparse arrays alone; tests/python/ops/test_graphs.py";
  return general<A>(std::move(op));
}

}  // namespace

Operators graph_sample_operators() {
  return {
      sampling(false, {.name = "_contrib_dgl_csr_neighbor_uniform_sample",
                       .python = {"nd.contrib.dgl_csr_neighbor_uniform_sample"},
                       .doc = "For each vector of seeds a part of a graph, an int64 csr matrix, that is reached from "
                              "them in num_hops steps over num_neighbor edges of each vertex. Results, each once for "
                              "every vector: the vertices in order and at the end their number, (max_num_vertices + "
                              "1,); the edges that were taken, one row for each of these vertices; how many steps "
                              "away the vertices are. Raises MXNetError for other arrays, IndexError, when a result "
                              "is read, for a vertex that is not there.",
                       .inputs = {"csr_matrix", "seed_arrays"}}),
      sampling(true, {.name = "_contrib_dgl_csr_neighbor_non_uniform_sample",
                      .python = {"nd.contrib.dgl_csr_neighbor_non_uniform_sample"},
                      .doc = "dgl_csr_neighbor_uniform_sample that takes edges as likely as the vertices that they "
                             "lead to, by their `probability` of float32. The probabilities of the vertices, "
                             "(max_num_vertices,), are results behind the edges. Raises ValueError, when a result is "
                             "read, for a probability below 0.",
                      .inputs = {"csr_matrix", "probability", "seed_arrays"}})};
}

}  // namespace headrace
