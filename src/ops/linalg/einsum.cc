// einsum: Einstein's summation convention, pair by pair through the batched matrix product.

#include <algorithm>
#include <map>
#include <optional>

#include "base/check.h"
#include "op/invoke.h"
#include "ops/linalg/dot.h"
#include "ops/linalg/matrix.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

struct EinsumAttrs {
  std::string subscripts;
  int64_t num_args = 0;
  int64_t optimize = 0;
  static constexpr auto kFields =
      fields(field(&EinsumAttrs::subscripts, "subscripts", "Labels of the axes, 'ij,jk->ik'.").required(),
             field(&EinsumAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs(),
             field(&EinsumAttrs::optimize, "optimize", "Accepted; arrays are contracted from left to right."));
};

// Letters are labels by themselves; axes under an ellipsis get the labels -1, -2, ..., the last axis -1.
using Labels = SmallVector<int, 8>;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

struct Term {
  NDArray array;
  Labels labels;
};

class Parser {
 public:
  explicit Parser(const std::string& subscripts) {
    for (char c : subscripts)
      if (c != ' ') text_ += c;
    size_t arrow = text_.find("->");
    inputs_ = text_.substr(0, arrow);
    if (arrow != std::string::npos) output_ = text_.substr(arrow + 2);
  }

  std::vector<Term> terms(std::span<const NDArray> arrays) {
    std::vector<Term> terms;
    size_t begin = 0;
    for (const NDArray& array : arrays) {
      check(begin <= inputs_.size(), ErrorKind::kValue, "einsum: '{}' names fewer arrays than the {} given", text_,
            arrays.size());
      size_t end = std::min(inputs_.find(',', begin), inputs_.size());
      terms.push_back({array, labels(inputs_.substr(begin, end - begin), array.ndim())});
      begin = end + 1;
    }
    check(begin == inputs_.size() + 1, ErrorKind::kValue, "einsum: '{}' names more arrays than the {} given", text_,
          arrays.size());
    return terms;
  }

  Labels output(const std::vector<Term>& terms) const {
    std::map<int, int> uses;
    int ellipsis = 0;
    for (const Term& term : terms)
      for (int label : term.labels) {
        ++uses[label];
        ellipsis = std::min(ellipsis, label);
      }
    Labels result;
    if (!output_) {  // NumPy's rule: the labels that appear once, in alphabetical order
      for (int label = ellipsis; label < 0; ++label) result.push_back(label);
      for (auto [label, count] : uses)
        if (label > 0 && count == 1) result.push_back(label);
      return result;
    }
    for (size_t i = 0; i < output_->size(); ++i) {
      if ((*output_)[i] == '.') {
        check(output_->compare(i, 3, "...") == 0, ErrorKind::kValue, "einsum: expected '...' in the result of '{}'",
              text_);
        for (int label = ellipsis; label < 0; ++label) result.push_back(label);
        i += 2;
        continue;
      }
      const int label = static_cast<unsigned char>((*output_)[i]);
      check(uses.count(label) > 0 && !contains(result, label), ErrorKind::kValue,
            "einsum: the result label '{}' of '{}' must appear in an input, and once only", (*output_)[i], text_);
      result.push_back(label);
    }
    return result;
  }

 private:
  Labels labels(const std::string& part, size_t ndim) const {
    size_t dots = part.find("..."), letters = part.size() - (dots == std::string::npos ? 0 : 3);
    check(dots == std::string::npos ? letters == ndim : letters <= ndim, ErrorKind::kValue,
          "einsum: '{}' labels {} axes, but the array has {}", part, letters, ndim);
    Labels result;
    for (size_t i = 0; i < part.size(); ++i) {
      if (i == dots) {
        for (size_t k = ndim - letters; k > 0; --k) result.push_back(-static_cast<int>(k));
        i += 2;
        continue;
      }
      check(std::isalpha(static_cast<unsigned char>(part[i])) != 0, ErrorKind::kValue,
            "einsum: '{}' in '{}' is no label; use letters, commas, '...' and '->'", part[i], text_);
      result.push_back(part[i]);
    }
    return result;
  }

  std::string text_, inputs_;
  std::optional<std::string> output_;
};

// One axis for every label: a label that appears twice stands for the diagonal.
Term with_distinct_labels(Term term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    for (size_t k = i + 1; k < term.labels.size(); ++k) {
      if (term.labels[i] != term.labels[k]) continue;
      int label = term.labels[i];
      check(term.array.shape()[i] == term.array.shape()[k], ErrorKind::kValue,
            "einsum: label '{}' stands for extents {} and {}", static_cast<char>(label), term.array.shape()[i],
            term.array.shape()[k]);
      term.array =
          call("_np_diagonal", {term.array}, {{"axis1", static_cast<int64_t>(i)}, {"axis2", static_cast<int64_t>(k)}});
      term.labels.erase(k);
      term.labels.erase(i);
      term.labels.push_back(label);
      return with_distinct_labels(std::move(term));
    }
  }
  return term;
}

// Sums the axes whose labels `keep` does not hold.
Term summed(Term term, const Labels& keep) {
  Shape axes;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (contains(keep, term.labels[i]))
      kept.push_back(term.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) term.array = call("_sum_axes", {term.array}, {{"axis", axes}});
  term.labels = kept;
  return term;
}

Term ordered(Term term, const Labels& order) {
  Shape axes;
  for (int label : order)
    axes.push_back(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin());
  if (!axes.empty()) term.array = call("transpose", {term.array}, {{"axes", axes}});
  return {term.array, order};
}

int64_t extent_of(const Term& term, int label) {
  return term.array
      .shape()[static_cast<size_t>(std::find(term.labels.begin(), term.labels.end(), label) - term.labels.begin())];
}

// Drops axes of extent 1 that the other term repeats.
Term without_repeated(Term term, const Term& other) {
  Shape axes;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    int label = term.labels[i];
    bool repeated = contains(other.labels, label) && term.array.shape()[i] == 1 && extent_of(other, label) != 1;
    if (repeated)
      axes.push_back(static_cast<int64_t>(i));
    else
      kept.push_back(label);
  }
  if (!axes.empty()) term.array = call("_np_squeeze", {term.array}, {{"axis", axes}});
  term.labels = kept;
  return term;
}

// The product of two terms, summed over the labels that nothing after them needs.
Term contract(Term a, Term b, const Labels& needed) {
  Term left = without_repeated(a, b), right = without_repeated(b, a);
  Labels batch, inner, outer_a, outer_b;
  for (int label : left.labels) {
    if (!contains(right.labels, label))
      outer_a.push_back(label);
    else
      (contains(needed, label) ? batch : inner).push_back(label);
  }
  for (int label : right.labels)
    if (!contains(left.labels, label)) outer_b.push_back(label);

  Shape batch_shape, shape;
  int64_t m = 1, n = 1, k = 1;
  auto agreed = [&](int label) {
    int64_t extent = extent_of(left, label);
    check(extent == extent_of(right, label), ErrorKind::kValue, "einsum: label '{}' stands for extents {} and {}",
          static_cast<char>(label), extent, extent_of(right, label));
    return extent;
  };
  int64_t stack = 1;
  for (int label : batch) {
    shape.push_back(agreed(label));
    stack *= shape.back();
  }
  for (int label : inner) k *= agreed(label);
  for (int label : outer_a) m *= extent_of(left, label), shape.push_back(extent_of(left, label));
  for (int label : outer_b) n *= extent_of(right, label), shape.push_back(extent_of(right, label));
  auto joined = [](std::initializer_list<Labels> parts) {
    Labels all;
    for (const Labels& part : parts)
      for (int label : part) all.push_back(label);
    return all;
  };
  NDArray x = reshaped_to(ordered(left, joined({batch, outer_a, inner})).array, {stack, m, k});
  NDArray y = reshaped_to(ordered(right, joined({batch, inner, outer_b})).array, {stack, k, n});
  return {reshaped_to(call("_batched_product", {x, y}), shape), joined({batch, outer_a, outer_b})};
}

std::vector<NDArray> einsum(std::span<const NDArray> arrays, const EinsumAttrs& a) {
  Parser parser(a.subscripts);
  std::vector<Term> terms = parser.terms(arrays);
  Labels output = parser.output(terms);
  for (Term& term : terms) term = with_distinct_labels(std::move(term));
  // What terms from i on and the result still need.
  auto needed_after = [&](size_t i) {
    Labels needed = output;
    for (size_t k = i; k < terms.size(); ++k)
      for (int label : terms[k].labels)
        if (!contains(needed, label)) needed.push_back(label);
    return needed;
  };
  Term result = summed(terms[0], needed_after(1));
  for (size_t i = 1; i < terms.size(); ++i) {
    Labels after = needed_after(i + 1), with_result = after;
    for (int label : result.labels) with_result.push_back(label);
    result = contract(std::move(result), summed(terms[i], with_result), after);
    result = summed(std::move(result), after);
  }
  return {ordered(std::move(result), output).array};
}

}  // namespace

Operators einsum_operators() {
  return {general<EinsumAttrs>({
      .name = "_npi_einsum",
      .doc = R"(Sums of products by Einstein's convention.

subscripts labels the axes of each array, separated by commas, and after -> those of the result; labels that the result
does not name are summed. Without -> the result has the labels that appear once, in alphabetical order. '...' stands for
axes that are broadcast. Example: 'bij,bjk->bik' multiplies stacks of matrices. Raises ValueError for labels that do not
fit the arrays.)",
      .inputs = {"operands"},
      .variadic = true,
      .compose = einsum,
      .samples = {{{uniform({2, 3}), uniform({3, 4})}, make_attrs(EinsumAttrs{.subscripts = "ij,jk->ki"})}},
  })};
}

}  // namespace headrace
