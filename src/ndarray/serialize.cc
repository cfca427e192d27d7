#include "ndarray/serialize.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/function_ref.h"
#include "base/output_file.h"
#include "device/registry.h"
#include "ndarray/snapshot.h"
#include "ndarray/sparse_parts.h"
#include "ndarray/view.h"

namespace headrace {
namespace {

constexpr uint64_t kContainerMagic = 0x112;
constexpr uint32_t kV1 = 0xF993fac8, kV2 = 0xF993fac9, kV3 = 0xF993faca;
constexpr uint32_t kMaxDimensions = 32;
enum StorageType : int32_t { kUndefined = -1, kDense = 0, kRowSparse = 1, kCsr = 2 };

[[noreturn]] void invalid(const char* what) {
  fail(ErrorKind::kRuntime, "Invalid NDArray file format: {}. The file is truncated, damaged or of another kind", what);
}

// Reads little-endian fields; every read is checked against what is left.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T read(const char* what) {
    if (left() < sizeof(T)) invalid(what);
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  std::string_view take(uint64_t count, const char* what) {
    if (left() < count) invalid(what);
    std::string_view part = bytes_.substr(position_, count);
    position_ += count;
    return part;
  }
  size_t left() const { return bytes_.size() - position_; }
  size_t position() const { return position_; }

 private:
  std::string_view bytes_;
  size_t position_ = 0;
};

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append_shape(std::string& out, const Shape& shape) {
  append(out, static_cast<int32_t>(shape.size()));
  for (int64_t extent : shape) append(out, extent);
}

Shape read_shape(Reader& in, int32_t ndim, bool wide) {
  if (ndim < 0 || static_cast<uint32_t>(ndim) > kMaxDimensions) invalid("impossible number of dimensions");
  Shape shape;
  for (int32_t i = 0; i < ndim; ++i)
    shape.push_back(wide ? in.read<int64_t>("the shape ends early") : in.read<uint32_t>("the shape ends early"));
  return shape;
}

// Bytes of an array of this type, known to fit into what is left of the file.
uint64_t checked_bytes(const Reader& in, const Shape& shape, DType dtype) {
  uint64_t bytes = item_size(dtype);
  for (int64_t extent : shape) {
    if (extent < 0) invalid("negative extent");
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes)) invalid("impossible shape");
  }
  if (bytes > in.left()) invalid("the values end early");
  return bytes;
}

DType read_dtype(Reader& in) {
  int32_t flag = in.read<int32_t>("the dtype is missing");
  if (flag < 0 || flag >= kDTypeCount) invalid("unknown dtype");
  return static_cast<DType>(flag);
}

// Where the array was; the first CPU when that is no device of this machine.
Device read_device(Reader& in) {
  const auto type = in.read<int32_t>("the device is missing"), id = in.read<int32_t>("the device is missing");
  const Device saved{static_cast<DeviceType>(type), id};
  return type > 0 && type <= UINT8_MAX && id >= 0 && id < device_count(saved.type) ? saved : Device{};
}

NDArray read_values(Reader& in, const Shape& shape, DType dtype, Device device) {
  uint64_t bytes = checked_bytes(in, shape, dtype);
  return NDArray::from_host(in.take(bytes, "the values end early").data(), shape, dtype, device);
}

// The dtype and shape of each array of indices, then the values, then the indices.
// How much is stored is what the indices say: MXNet writes the shape of the values before it has waited for them.
NDArray read_sparse(Reader& in, StorageType type, Shape storage_shape, const Shape& shape, DType dtype) {
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (int k = 0; k < (type == kCsr ? 2 : 1); ++k) {
    dtypes.push_back(read_dtype(in));
    shapes.push_back(read_shape(in, in.read<int32_t>("the shape is missing"), true));
  }
  if (!storage_shape.empty() && shapes.back().size() == 1) storage_shape[0] = shapes.back()[0];
  const NDArray values = read_values(in, storage_shape, dtype, {});
  std::vector<NDArray> indices;
  for (size_t k = 0; k < dtypes.size(); ++k) indices.push_back(read_values(in, shapes[k], dtypes[k], {}));
  try {
    const NDArray made = type == kCsr ? sparse::csr(values, indices[1], indices[0], shape)
                                      : sparse::row_sparse(values, indices[0], shape);
    made.wait_to_read();
    return made;
  } catch (const Error& error) {
    invalid(error.what());
  }
}

NDArray read_old_record(Reader& in, uint32_t first_word) {
  bool wide = first_word == kV1;
  int32_t ndim = wide ? in.read<int32_t>("the shape is missing") : static_cast<int32_t>(first_word);
  if (ndim == 0) invalid("an old record without dimensions");
  Shape shape = read_shape(in, ndim, wide);
  const Device device = read_device(in);
  DType dtype = read_dtype(in);
  return read_values(in, shape, dtype, device);
}

NDArray read_record(Reader& in) {
  uint32_t magic = in.read<uint32_t>("the record is missing");
  if (magic != kV2 && magic != kV3) return read_old_record(in, magic);
  auto type = static_cast<StorageType>(in.read<int32_t>("the storage type is missing"));
  if (type < kUndefined || type > kCsr) invalid("unknown storage type");
  Shape storage_shape;
  if (type > kDense) storage_shape = read_shape(in, in.read<int32_t>("the shape is missing"), true);
  int32_t ndim = in.read<int32_t>("the shape is missing");
  if (ndim == (magic == kV3 ? -1 : 0)) return NDArray();
  Shape shape = read_shape(in, ndim, true);
  for (int64_t extent : shape)
    if (extent == -1 && magic == kV3) return NDArray();
  const Device device = read_device(in);
  DType dtype = read_dtype(in);
  if (type <= kDense) return read_values(in, shape, dtype, device);
  return read_sparse(in, type, storage_shape, shape, dtype);
}

// A whole file in memory, mapped while it is read.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    check(descriptor_ >= 0, ErrorKind::kRuntime, "Open \"{}\": {}", path, std::strerror(errno));
    struct stat status {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      ::close(descriptor_);
      fail(ErrorKind::kRuntime, "Open \"{}\": it is not a regular file", path);
    }
    size_ = static_cast<size_t>(status.st_size);
    if (size_ == 0) return;
    data_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE | MAP_POPULATE, descriptor_, 0);
    if (data_ == MAP_FAILED) {
      ::close(descriptor_);
      fail(ErrorKind::kRuntime, "Open \"{}\": {}", path, std::strerror(errno));
    }
  }
  ~MappedFile() {
    if (size_) ::munmap(data_, size_);
    ::close(descriptor_);
  }
  MappedFile(const MappedFile&) = delete;
  std::string_view bytes() const { return {static_cast<const char*>(data_), size_}; }

 private:
  int descriptor_ = -1;
  void* data_ = nullptr;
  size_t size_ = 0;
};

// The arrays whose values make up a record, in its order.
std::vector<NDArray> record_parts(const NDArray& array) {
  if (array.storage_kind() == StorageKind::kDense) return {array};
  array.wait_to_read();
  const SparseParts& parts = array.view()->storage()->parts();
  if (parts.indptr) return {parts.values, parts.indptr, parts.indices};
  return {parts.values, parts.indices};
}

// Everything of a record but the values. Only records of np say that an array has no dimensions.
std::string record_header(const NDArray& array, std::span<const NDArray> parts, bool np_shapes) {
  static_assert(static_cast<int>(StorageKind::kRowSparse) == kRowSparse && static_cast<int>(StorageKind::kCsr) == kCsr);
  std::string out;
  append(out, np_shapes || array.shape().empty() ? kV3 : kV2);
  append(out, static_cast<int32_t>(array.storage_kind()));
  if (array.storage_kind() != StorageKind::kDense) append_shape(out, parts[0].shape());
  append_shape(out, array.shape());
  append(out, static_cast<int32_t>(array.device().type));
  append(out, array.device().id);
  append(out, static_cast<int32_t>(array.dtype()));
  for (const NDArray& indices : parts.subspan(1)) {
    append(out, static_cast<int32_t>(indices.dtype()));
    append_shape(out, indices.shape());
  }
  return out;
}

// Calls with the packed values of an array, which are copied when it is a strided view or on an accelerator.
void with_values(const NDArray& array, FunctionRef<void(std::string_view)> use) {
  const NDArray source = snapshot(array);
  source.wait_to_read();
  const size_t bytes = static_cast<size_t>(array.size()) * item_size(array.dtype());
  if (source.is_contiguous()) return use({source.view()->data(), bytes});
  std::string copy(bytes, '\0');
  copy_values(source, copy.data());
  use(copy);
}

}  // namespace

std::string serialize_record(const NDArray& array, bool np_shapes) {
  const std::vector<NDArray> parts = record_parts(array);
  std::string out = record_header(array, parts, np_shapes);
  for (const NDArray& part : parts) with_values(part, [&](std::string_view values) { out.append(values); });
  return out;
}

NDArray parse_record(std::string_view bytes, size_t* used) {
  Reader in(bytes);
  NDArray array = read_record(in);
  if (used) *used = in.position();
  return array;
}

void save_arrays(const std::string& path, std::span<const NDArray> arrays, std::span<const std::string> names,
                 bool np_shapes) {
  std::string head, tail;
  append(head, kContainerMagic);
  append(head, uint64_t{0});
  append(head, static_cast<uint64_t>(arrays.size()));
  append(tail, static_cast<uint64_t>(names.size()));
  for (const std::string& name : names) {
    append(tail, static_cast<uint64_t>(name.size()));
    tail += name;
  }
  std::vector<std::vector<NDArray>> parts;
  std::vector<std::string> headers;
  size_t total = head.size() + tail.size();
  for (const NDArray& array : arrays) {
    parts.push_back(record_parts(array));
    headers.push_back(record_header(array, parts.back(), np_shapes));
    total += headers.back().size();
    for (const NDArray& part : parts.back()) total += static_cast<size_t>(part.size()) * item_size(part.dtype());
  }
  OutputFile file(path);
  file.reserve(total);
  file.write(head);
  for (size_t i = 0; i < arrays.size(); ++i) {
    file.write(headers[i]);
    for (const NDArray& part : parts[i]) with_values(part, [&](std::string_view values) { file.write(values); });
  }
  file.write(tail);
  file.commit();
}

NamedArrays parse_arrays(std::string_view bytes) {
  Reader in(bytes);
  if (in.read<uint64_t>("the header is missing") != kContainerMagic) invalid("wrong magic number");
  in.read<uint64_t>("the header is missing");
  uint64_t count = in.read<uint64_t>("the number of arrays is missing");
  if (count > in.left() / 4) invalid("more arrays than the file can hold");
  NamedArrays result;
  for (uint64_t i = 0; i < count; ++i) result.arrays.push_back(read_record(in));
  uint64_t names = in.read<uint64_t>("the names are missing");
  if (names != 0 && names != count) invalid("the number of names is not the number of arrays");
  for (uint64_t i = 0; i < names; ++i) {
    uint64_t length = in.read<uint64_t>("a name is missing");
    result.names.emplace_back(in.take(length, "a name ends early"));
  }
  return result;
}

NamedArrays load_arrays(const std::string& path) {
  MappedFile file(path);
  try {
    return parse_arrays(file.bytes());
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", path, error.what());
  }
}

}  // namespace headrace
