// The gradient of a weight that many steps of a sequence use is a sum of products, each of which contracts the rows of
// one step. It is one product of the rows of all steps, one below the other: no partial sums of the size of the weight
// are written and read again, and a product of many rows takes less time than as many of few.

#include <algorithm>
#include <iterator>
#include <map>

#include "graph/passes.h"
#include "graph/uses.h"
#include "op/call_body.h"
#include "op/op_def.h"
#include "op/rule.h"
#include "ops/linalg/dot.h"

namespace headrace {
namespace {

using Ids = std::vector<int>;

class ProductJoin {
 public:
  explicit ProductJoin(Lowered& graph)
      : graph_(graph),
        uses_(graph),
        first_reader_(graph.values.size(), graph.steps.size()),
        before_(graph.steps.size() + 1),
        is_gone_(graph.steps.size()) {
    for (size_t s = graph.steps.size(); s-- > 0;)
      for (int id : graph.steps[s].inputs) first_reader_[static_cast<size_t>(id)] = s;
  }

  void run() {
    std::vector<Sum> sums_of_rows;
    for (size_t s = 0; s < graph_.steps.size(); ++s) {
      if (!is_last_addition(s)) continue;
      const Sum sum = sum_at(s);
      if (is_worth_joining(sum)) join(sum);
      if (!sum.of_rows.empty()) sums_of_rows.push_back(sum);
    }
    for (const Sum& sum : sums_of_rows) join_sum_of_rows(sum);
    std::vector<Step> all;
    for (size_t s = 0; s <= is_gone_.size(); ++s) {
      std::ranges::move(before_[s], std::back_inserter(all));
      if (s < is_gone_.size() && !is_gone_[s]) all.push_back(std::move(graph_.steps[s]));
    }
    graph_.steps = std::move(all);
  }

 private:
  // What additions add up: steps, each of whose results nobody else reads, and other values.
  struct Sum {
    std::vector<size_t> additions, products, of_rows;
    Ids others;
    size_t place, limit;  // in front of which steps the result can be there, and must be

    bool is_of(const std::vector<size_t>& terms) const {
      return others.empty() && products.size() + of_rows.size() == terms.size();
    }
  };

  const Step& step(size_t s) const { return graph_.steps[s]; }
  Value& value(int id) { return graph_.values[static_cast<size_t>(id)]; }
  const View& type(int id) const { return *graph_.values[static_cast<size_t>(id)].type; }
  bool are_alike(int a, int b) const {
    return type(a).shape() == type(b).shape() && type(a).dtype() == type(b).dtype() &&
           type(a).strides() == type(b).strides();
  }

  bool is_addition(size_t s) const {
    const Step& one = step(s);
    return one.op == &add_ && are_alike(one.inputs[0], one.outputs[0]) && are_alike(one.inputs[1], one.outputs[0]);
  }
  bool is_last_addition(size_t s) const {
    if (!is_addition(s)) return false;
    const size_t reader = uses_.only_reader(step(s).outputs[0]);
    return reader == Uses::kNone || !is_addition(reader);
  }

  bool is_matrix(int id) const { return type(id).shape().size() == 2; }
  // Of two matrices, over their rows.
  bool is_product_of_rows(size_t s) const {
    if (step(s).op != &dot_) return false;
    const auto& a = step(s).attrs->as<DotAttrs>();
    return a.transpose_a && !a.transpose_b && !a.forward_stype && is_matrix(step(s).inputs[0]) &&
           is_matrix(step(s).inputs[1]);
  }
  bool is_sum_of_rows(size_t s) const {
    return step(s).op == &sum_rows_ && is_matrix(step(s).inputs[0]) &&
           std::get<Shape>(sum_rows_.schema->find("axis")->get(step(s).attrs->data())) == Shape{0};
  }

  Sum sum_at(size_t last) const {
    Sum sum{.place = last + 1, .limit = first_reader_[static_cast<size_t>(step(last).outputs[0])]};
    std::vector<size_t> left{last};
    while (!left.empty()) {
      const size_t s = left.back();
      left.pop_back();
      sum.additions.push_back(s);
      for (int id : step(s).inputs) {
        const size_t term = uses_.producer(id);
        const bool is_own = term != Uses::kNone && uses_.only_reader(id) == s && step(s).inputs[0] != step(s).inputs[1];
        if (is_own && is_addition(term))
          left.push_back(term);
        else if (is_own && is_product_of_rows(term) && stays_until(term, sum.limit))
          sum.products.push_back(term);
        else if (is_own && is_sum_of_rows(term) && stays_until(term, sum.limit))
          sum.of_rows.push_back(term);
        else
          sum.others.push_back(id);
      }
    }
    return sum;
  }

  bool stays_until(size_t s, size_t limit) const {
    return std::ranges::none_of(step(s).inputs, [&](int id) { return uses_.changes_between(id, s, limit); });
  }

  // Joining copies the factors; the sum reads and writes what is of the size of the result.
  bool is_worth_joining(const Sum& sum) const {
    if (sum.products.size() < 2 || !sum.is_of(sum.products)) return false;
    const int64_t result = type(step(sum.additions[0]).outputs[0]).size();
    int64_t factors = 0;
    for (size_t s : sum.products)
      for (int id : step(s).inputs) factors += type(id).size();
    return 2 * factors <= static_cast<int64_t>(sum.products.size()) * result;
  }

  void join(Sum sum) {
    std::vector<size_t> terms = sum.products;
    order(terms, sum);
    Step product = step(terms[0]);
    product.cost_ns = product.flops = 0;
    for (size_t s : terms) {
      product.cost_ns += step(s).cost_ns;
      product.flops += step(s).flops;
    }
    for (size_t k : {size_t{0}, size_t{1}}) product.inputs[k] = joined(factors(terms, k), sum.place);
    replace(sum, terms, std::move(product));
  }

  // Only where the rows were joined for something else.
  void join_sum_of_rows(Sum sum) {
    if (!sum.is_of(sum.of_rows)) return;
    std::vector<size_t> terms = sum.of_rows;
    order(terms, sum);
    const Joined* const known = find_joined(factors(terms, 0), sum.limit);
    if (!known) return;
    sum.place = std::max(sum.place, known->place);
    Step total = step(terms[0]);
    total.cost_ns *= static_cast<double>(terms.size());
    total.inputs[0] = known->id;
    replace(sum, terms, std::move(total));
  }

  Ids factors(const std::vector<size_t>& terms, size_t k) const {
    Ids ids;
    for (size_t s : terms) ids.push_back(step(s).inputs[k]);
    return ids;
  }

  void replace(const Sum& sum, const std::vector<size_t>& terms, Step made) {
    made.outputs[0] = step(sum.additions[0]).outputs[0];
    before_[sum.place].push_back(std::move(made));
    for (size_t s : sum.additions) is_gone_[s] = true;
    for (size_t s : terms) is_gone_[s] = true;
  }

  // --- rows, one below the other ---

  // In the order in which a step joins the first factors, if there is one; the sum's place is behind it then.
  void order(std::vector<size_t>& terms, Sum& sum) {
    std::ranges::sort(terms);
    std::map<Span, size_t> wanted;
    for (size_t s : terms) wanted.emplace(span_of(step(s).inputs[0]), s);
    if (wanted.size() < terms.size() || wanted.begin()->first.size == 0) return;
    for (size_t s = 0; s < sum.limit; ++s) {
      if (is_gone_[s] || !joins_rows(step(s)) || step(s).inputs.size() != terms.size()) continue;
      std::vector<size_t> found;
      for (int id : step(s).inputs)
        if (const auto term = wanted.find(span_of(id)); term != wanted.end()) found.push_back(term->second);
      if (!std::ranges::is_permutation(found, terms) || !stays_until(s, sum.limit)) continue;
      terms = found;
      sum.place = std::max(sum.place, s + 1);
      const Ids ids = factors(terms, 0);
      if (!find_joined(ids, sum.place))
        joined_.insert_or_assign(ids, Joined{rows_of(step(s).outputs[0], ids, sum.place), sum.place});
      return;
    }
  }

  // Elements that lie one behind the other; of size 0 where they do not.
  struct Span {
    int root;
    int64_t begin, size;
    auto operator<=>(const Span&) const = default;
  };
  Span span_of(int id) const {
    const bool is_whole = is_contiguous(type(id).shape(), type(id).strides());
    return {graph_.values[static_cast<size_t>(id)].root, type(id).offset(), is_whole ? type(id).size() : 0};
  }

  bool joins_rows(const Step& one) const {
    return one.op == &concat_ && std::get<int64_t>(concat_.schema->find("dim")->get(one.attrs->data())) == 0 &&
           !uses_.changes_between(one.outputs[0], 0, graph_.steps.size());
  }

  int64_t row_count(const Ids& ids) const {
    int64_t rows = 0;
    for (int id : ids) rows += type(id).shape()[0];
    return rows;
  }

  int add_value(const Shape& shape, DType dtype) {
    const int id = static_cast<int>(graph_.values.size());
    const ViewPtr view(new View(nullptr, dtype, shape, contiguous_strides(shape), 0));
    graph_.values.push_back({Value::Source::kStep, view, {}, id});
    return id;
  }

  struct Joined {
    int id;
    size_t place;  // in front of which step it is made
  };

  // Null where the parts are not joined in front of step `limit`.
  const Joined* find_joined(const Ids& ids, size_t limit) const {
    const auto known = joined_.find(ids);
    return known == joined_.end() || known->second.place > limit ? nullptr : &known->second;
  }

  // The joined array `whole` as a matrix of the rows of its parts.
  int rows_of(int whole, const Ids& ids, size_t place) {
    const Shape shape{row_count(ids), type(ids[0]).shape()[1]};
    const int id = add_value(shape, type(whole).dtype());
    value(id).root = value(whole).root;
    before_[place].push_back({.op = &reshape_,
                              .attrs = attrs_of(reshape_, {{"shape", shape}}),
                              .inputs = {whole},
                              .outputs = {id},
                              .is_view = true});
    return id;
  }

  int joined(const Ids& ids, size_t place) {
    if (const Joined* known = find_joined(ids, place)) return known->id;
    const int id = add_value({row_count(ids), type(ids[0]).shape()[1]}, type(ids[0]).dtype());
    Step concat{.op = &concat_,
                .attrs = attrs_of(concat_, {{"dim", int64_t{0}}, {"num_args", static_cast<int64_t>(ids.size())}})};
    for (int part : ids) concat.inputs.push_back(part);
    concat.outputs.push_back(id);
    View* const view = value(id).type.get();
    concat.cost_ns = 2 * streaming_cost_ns({&view, 1});
    before_[place].push_back(std::move(concat));
    joined_.insert_or_assign(ids, Joined{id, place});
    return id;
  }

  const OpDef &add_ = find_op("_grad_add"), &dot_ = find_op("dot"), &sum_rows_ = find_op("_sum_axes"),
              &concat_ = find_op("Concat"), &reshape_ = find_op("_reshape_to");
  Lowered& graph_;
  const Uses uses_;
  std::vector<size_t> first_reader_;       // of each value; the number of steps where there is none
  std::map<Ids, Joined> joined_;           // by the parts
  std::vector<std::vector<Step>> before_;  // what comes in front of each step
  std::vector<uint8_t> is_gone_;
};

}  // namespace

void join_products(Lowered& graph) { ProductJoin(graph).run(); }

}  // namespace headrace
