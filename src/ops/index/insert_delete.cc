// np.insert and np.delete: places along one axis that are numbers, a slice, or an array, whose values are waited for.
#include <algorithm>
#include <numeric>

#include "base/check.h"
#include "op/invoke.h"
#include "op/trace.h"
#include "ops/shape/geometry.h"

namespace headrace {
namespace {

using Arrays = std::span<const NDArray>;
using Places = std::vector<int64_t>;

// What MXNet writes of the places: a number, or a slice.
struct PlaceAttrs {
  std::optional<int64_t> start = {}, stop = {}, step = {}, int_ind = {}, axis = {};
  static constexpr auto kFields = fields(
      field(&PlaceAttrs::start, "start", "Begin of a slice of places."), field(&PlaceAttrs::stop, "stop", "Its end."),
      field(&PlaceAttrs::step, "step", "Its step."), field(&PlaceAttrs::int_ind, "int_ind", "One place."),
      field(&PlaceAttrs::axis, "axis", "Along which places are counted; None: of the flattened array."));
};

struct InsertAttrs {
  std::optional<double> val = {};
  std::optional<int64_t> start = {}, stop = {}, step = {}, int_ind = {}, axis = {};
  static constexpr auto kFields = fields(
      field(&InsertAttrs::val, "val", "What is inserted, where no array holds it."),
      field(&InsertAttrs::start, "start", "Begin of a slice of places."), field(&InsertAttrs::stop, "stop", "Its end."),
      field(&InsertAttrs::step, "step", "Its step."), field(&InsertAttrs::int_ind, "int_ind", "One place."),
      field(&InsertAttrs::axis, "axis", "Along which places are counted; None: of the flattened array."));
};

// The array and the axis that places are counted along.
struct Along {
  NDArray array;
  int64_t axis;
  int64_t extent;

  Along(const NDArray& given, const std::optional<int64_t>& named, const char* name)
      : array(named ? given : call("_reshape_to", {given}, {{"shape", Shape{given.size()}}})),
        axis(named ? normalize_axis(*named, static_cast<int64_t>(given.ndim()), name) : 0),
        extent(array.shape()[static_cast<size_t>(axis)]) {
    constexpr int64_t kMostTraced = int64_t{1} << 20;
    check(!is_abstract(array) || extent <= kMostTraced, ErrorKind::kMemory,
          "{}: a graph would hold a list of the places of an axis of extent {}; at most {} are possible", name, extent,
          kMostTraced);
  }

  NDArray taken(const NDArray& from, const Places& places) const {
    const NDArray indices =
        NDArray::from_host(places.data(), {static_cast<int64_t>(places.size())}, DType::kInt64, array.device());
    return call("take", {from, indices}, {{"axis", axis}});
  }
  // The shape of the array with another extent along the axis.
  Shape shape_with(int64_t other) const {
    Shape shape = array.shape();
    shape[static_cast<size_t>(axis)] = other;
    return shape;
  }
};

// Places of [0, limit), negative ones counted from `extent`. IndexError.
void normalize(Places& places, int64_t extent, int64_t limit, const char* name) {
  for (int64_t& place : places) {
    check(place >= -extent && place < limit, ErrorKind::kIndex,
          "{}: index {} is out of bounds for an axis of extent {}", name, place, extent);
    if (place < 0) place += extent;
  }
}

// Those of a slice, by Python's rules.
template <class A>
Places places_of_slice(const A& a, int64_t extent, const char* name) {
  const int64_t step = a.step.value_or(1);
  check(step != 0, ErrorKind::kValue, "{}: the step of a slice must not be 0", name);
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? extent : extent - 1;
  const auto end = [&](const std::optional<int64_t>& given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + extent : *given, lowest, highest);
  };
  const int64_t first = end(a.start, step > 0 ? lowest : highest), last = end(a.stop, step > 0 ? highest : lowest);
  Places places;
  const int64_t span = step > 0 ? last - first : first - last;
  // The size of a step, which for the least number is none of int64.
  const uint64_t size = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const int64_t count = span > 0 ? static_cast<int64_t>((static_cast<uint64_t>(span) - 1) / size) + 1 : 0;
  for (int64_t k = 0; k < count; ++k) places.push_back(first + k * step);
  return places;
}

Places places_of_array(const NDArray& array, const char* name) {
  check(!is_floating(array.dtype()), ErrorKind::kType, "{}: places must be integers, got {}", name,
        dtype_name(array.dtype()));
  return cast_to(array, DType::kInt64).to_vector<int64_t>();
}

std::vector<NDArray> remove(Arrays in, const PlaceAttrs& a) {
  const Along along(in[0], a.axis, "delete");
  Places gone = in.size() > 1 ? places_of_array(in[1], "delete")
                : a.int_ind   ? Places{*a.int_ind}
                              : places_of_slice(a, along.extent, "delete");
  if (in.size() > 1)  // as in MXNet, those that are not there need not go
    std::erase_if(gone, [&](int64_t place) { return place < -along.extent || place >= along.extent; });
  normalize(gone, along.extent, along.extent, "delete");
  std::vector<bool> is_gone(static_cast<size_t>(along.extent));
  for (int64_t place : gone) is_gone[static_cast<size_t>(place)] = true;
  Places kept;
  for (int64_t i = 0; i < along.extent; ++i)
    if (!is_gone[static_cast<size_t>(i)]) kept.push_back(i);
  return {along.taken(along.array, kept)};
}

NDArray joined(std::initializer_list<NDArray> parts, int64_t axis) {
  const OpDef& concat = find_op("Concat");
  return invoke_all(concat, attrs_of(concat, {{"dim", axis}}), {parts.begin(), parts.size()})[0];
}

NDArray stretched(const NDArray& values, const Shape& shape) {
  return call("_npi_broadcast_to", {values}, {{"shape", shape}});
}

// At one place: as many slices as the values have along their first axis.
NDArray inserted_at(const Along& along, Places place, NDArray values) {
  normalize(place, along.extent, along.extent + 1, "insert");
  Shape shape = values.shape();
  while (shape.size() < along.array.ndim()) shape.insert(size_t{0}, 1);
  values = call("_np_moveaxis", {call("_reshape_to", {values}, {{"shape", shape}})},
                {{"source", Shape{0}}, {"destination", Shape{along.axis}}});
  values = stretched(values, along.shape_with(values.shape()[static_cast<size_t>(along.axis)]));
  const auto part = [&](int64_t begin, int64_t end) {
    return call("slice_axis", {along.array}, {{"axis", along.axis}, {"begin", begin}, {"end", end}});
  };
  return joined({part(0, place[0]), values, part(place[0], along.extent)}, along.axis);
}

// One slice of the values before each of several places of the array as it was.
NDArray inserted_at_each(const Along& along, Places places, const NDArray& values) {
  normalize(places, along.extent, along.extent + 1, "insert");
  const auto count = static_cast<int64_t>(places.size());
  std::vector<int64_t> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int64_t k) { return places[static_cast<size_t>(k)]; });
  Places sources;  // of the array and the values behind it
  size_t next = 0;
  for (int64_t i = 0; i <= along.extent; ++i) {
    for (; next < order.size() && places[static_cast<size_t>(order[next])] == i; ++next)
      sources.push_back(along.extent + order[next]);
    if (i < along.extent) sources.push_back(i);
  }
  return along.taken(joined({along.array, stretched(values, along.shape_with(count))}, along.axis), sources);
}

// Where the places come from.
enum class From : uint8_t { kNumber, kSlice, kArray };

std::vector<NDArray> insert(Arrays in, const InsertAttrs& a, From from) {
  const size_t needed = 1 + size_t{from == From::kArray} + size_t{!a.val};
  check(in.size() == needed, ErrorKind::kValue, "insert: {} arrays are needed, got {}", needed, in.size());
  const Along along(in[0], a.axis, "insert");
  const NDArray values = a.val ? full({}, *a.val, in[0].dtype(), in[0].device()) : cast_to(in[1], in[0].dtype());
  if (from == From::kNumber) {
    check(a.int_ind.has_value(), ErrorKind::kValue, "insert: int_ind is missing");
    return {inserted_at(along, {*a.int_ind}, values)};
  }
  Places places =
      from == From::kSlice ? places_of_slice(a, along.extent, "insert") : places_of_array(in.back(), "insert");
  return {inserted_at_each(along, std::move(places), values)};
}

OpDef insert_operator(const char* name, From from, Sample sample) {
  const bool by_array = from == From::kArray;
  return general<InsertAttrs>(
      {.name = name,
       .doc = "The array with values before places along an axis; of two arrays the last holds the places. Raises "
              "IndexError for a place out of range, ValueError for values that do not fit.",
       .inputs =
           by_array ? std::vector<std::string>{"arr", "values", "obj"} : std::vector<std::string>{"arr", "values"},
       .optional_inputs = by_array ? size_t{2} : size_t{1},
       .compose = [from](Arrays in, const InsertAttrs& a) { return insert(in, a, from); },
       .samples = {std::move(sample)}});
}

OpDef delete_operator() {
  return general<PlaceAttrs>(
      {.name = "_npi_delete",
       .doc = "The array without some places along an axis. Raises IndexError for a place out of range.",
       .inputs = {"arr", "obj"},
       .optional_inputs = 1,
       .compose = remove,
       .samples = {Sample({uniform({2, 3})}, make_attrs(PlaceAttrs{.int_ind = 1, .axis = 1})),
                   Sample({uniform({5})}, make_attrs(PlaceAttrs{.start = 1, .step = 2}))}});
}

}  // namespace

Operators insert_delete_operators() {
  const Sample at_slice({uniform({2, 3}), uniform({2})}, make_attrs(InsertAttrs{.start = 0, .stop = 2, .axis = 1}));
  const Sample at_number({uniform({2, 3}), uniform({2})}, make_attrs(InsertAttrs{.int_ind = 1, .axis = 1}));
  const Sample at_array({uniform({2, 3}), integers({2}, 0, 3)}, make_attrs(InsertAttrs{.val = 2, .axis = 1}));
  return {delete_operator(), insert_operator("_npi_insert_scalar", From::kNumber, at_number),
          insert_operator("_npi_insert_slice", From::kSlice, at_slice),
          insert_operator("_npi_insert_tensor", From::kArray, at_array)};
}

}  // namespace headrace
