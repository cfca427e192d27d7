// Attributes as texts, of every operator of the catalogue: src/op/attrs.cc, parse_attrs, the rules of the operators,
// and the operators themselves where all that they make is small. An input is lines: the operator, then the shape and
// dtype of each input, and an attribute with its text on each other line:
//
//   sum
//   (2, 3) float32
//   axis=(0,)
#include <sstream>

#include "op/catalogue.h"
#include "tests/attack/fuzz/fuzz.h"
#include "tests/attack/fuzz/graphs.h"

namespace headrace::fuzz {
namespace {

std::string text_of(const OpDef& op, const Sample& sample) {
  const AttrsPtr attrs = sample.attrs ? sample.attrs : op.default_attrs;
  std::string text = op.name + "\n";
  for (const SampleArray& input : sample.inputs)
    text += std::string(to_string(input.shape)) + " " + std::string(dtype_name(input.dtype)) + "\n";
  for (const FieldInfo& field : op.schema->fields)
    text += std::string(field.name) + "=" + attr_to_text(field.get(attrs->data())) + "\n";
  return text;
}

void run(const std::string& text) {
  std::istringstream lines(text);
  std::string op, line;
  std::getline(lines, op);
  std::vector<Symbol> inputs;
  Symbol::Texts attrs;
  KnownTypes known;
  while (std::getline(lines, line)) {
    if (line.starts_with('(')) {
      const std::string name = "x" + std::to_string(inputs.size());
      const size_t end = line.find(')') + 1;
      inputs.push_back(Symbol::variable(name));
      if (std::optional<Shape> shape = shape_from_text(line.substr(0, end))) known.shapes.emplace(name, *shape);
      if (end > 0 && end + 1 < line.size()) known.dtypes.emplace(name, parse_dtype(line.substr(end + 1)));
    } else if (const size_t equals = line.find('='); equals != line.npos) {
      attrs.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  const Symbol symbol = Symbol::apply(op, "node", inputs, attrs);
  const std::string json = symbol.to_json();
  Symbol::from_json(json);
  infer_and_run(symbol, known);
}

}  // namespace

std::vector<std::string> seeds() {
  std::vector<std::string> texts;
  for (const OpDef& op : catalogue().all()) {
    for (const Sample& sample : op.samples) texts.push_back(text_of(op, sample));
    if (op.samples.empty()) texts.push_back(text_of(op, Sample(uniform({2, 3}))));
  }
  return texts;
}

}  // namespace headrace::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(headrace::fuzz::text_of(data, size));
  headrace::fuzz::accepts([&] { headrace::fuzz::run(text); });
  return 0;
}
