// Parameter files and records of pickles: src/ndarray/serialize.cc. What was read must be written and read alike.
#include "ndarray/serialize.h"
#include "tests/attack/fuzz/fuzz.h"

namespace headrace::fuzz {
namespace {

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append_shape(std::string& out, const std::vector<int64_t>& shape) {
  append(out, static_cast<int32_t>(shape.size()));
  for (int64_t extent : shape) append(out, extent);
}

constexpr int32_t kInt64Flag = static_cast<int32_t>(DType::kInt64);

// A record of version 2 of a sparse array; the library reads them and writes none.
struct Sparse {
  int32_t type;  // 1: some rows; 2: compressed rows
  std::vector<int64_t> shape, stored_shape;
  std::vector<std::vector<int64_t>> indices;
  DType dtype = DType::kFloat32;  // another one only without values
};

std::string sparse_record(const Sparse& array) {
  std::string out;
  append(out, uint32_t{0xF993fac9});
  append(out, array.type);
  append_shape(out, array.stored_shape);
  append_shape(out, array.shape);
  append(out, int32_t{1});  // cpu(0)
  append(out, int32_t{0});
  append(out, static_cast<int32_t>(array.dtype));
  int64_t count = 1;
  for (int64_t extent : array.stored_shape) count *= extent;
  for (const auto& list : array.indices) {
    append(out, kInt64Flag);
    append_shape(out, {static_cast<int64_t>(list.size())});
  }
  for (int64_t i = 0; i < count; ++i) append(out, static_cast<float>(i + 1));
  for (const auto& list : array.indices)
    for (int64_t index : list) append(out, index);
  return out;
}

// A record as the first versions of MXNet wrote it: 32-bit extents.
std::string old_record() {
  std::string out;
  for (uint32_t word : {2u, 1u, 2u, 1u, 0u, 0u}) append(out, word);
  append(out, 0.5f);
  append(out, -0.5f);
  return out;
}

std::string container(const std::vector<std::string>& records) {
  std::string out;
  append(out, uint64_t{0x112});
  append(out, uint64_t{0});
  append(out, static_cast<uint64_t>(records.size()));
  for (const std::string& record : records) out += record;
  append(out, uint64_t{0});
  return out;
}

std::vector<std::string> all_of(const NamedArrays& loaded) {
  std::vector<std::string> records;
  for (const NDArray& array : loaded.arrays)
    if (array) records.push_back(serialize_record(array, true));
  return records;
}

}  // namespace

std::vector<std::string> seeds() {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const NDArray floats = NDArray::from(std::span(values), {2, 3});
  const NDArray bytes = NDArray::from_host("abc", {3}, DType::kUint8);
  const NDArray scalar = NDArray::from(std::span(values).first(1), {}), empty = NDArray::empty({0, 4, 4});
  const std::string rows = sparse_record({1, {4, 2}, {2, 2}, {{0, 3}}});
  const std::string csr = sparse_record({2, {2, 3}, {2}, {{0, 1, 2}, {2, 0}}});
  // A small record for an array that just may be made; several of them may not.
  const std::string large = sparse_record({1, {int64_t{1} << 23, 2}, {1, 2}, {{7}}});
  return {written([&](const std::string& path) {
            save_arrays(path, std::vector{floats, bytes}, std::vector<std::string>{"arg:weight", "aux:mean"}, false);
          }),
          written([&](const std::string& path) {
            save_arrays(path, std::vector{scalar, empty}, {}, true);
          }),
          serialize_record(floats, false),
          serialize_record(bytes, true),
          rows,
          csr,
          old_record(),
          container({rows, csr, old_record()}),
          container(std::vector(12, large)),
          sparse_record({2, {INT64_MAX, 0}, {0}, {{}, {}}, DType::kInt8})};
}

}  // namespace headrace::fuzz

using namespace headrace;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::accepts([&] {
    size_t used = 0;
    const NDArray array = parse_record(bytes, &used);
    fuzz::expect(used <= size, "more was read than there is");
    if (!array) return;
    const std::string record = serialize_record(array, true);
    fuzz::expect(serialize_record(parse_record(record, nullptr), true) == record, "a record changes when it is read");
  });
  fuzz::accepts([&] {
    const NamedArrays loaded = load_arrays(fuzz::File(bytes).path());
    fuzz::expect(loaded.names.empty() || loaded.names.size() == loaded.arrays.size(), "names do not fit the arrays");
    fuzz::expect(fuzz::all_of(parse_arrays(bytes)) == fuzz::all_of(loaded), "a file and its bytes are not the same");
  });
  return 0;
}
