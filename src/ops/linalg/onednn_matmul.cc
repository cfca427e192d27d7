#include "ops/linalg/onednn_matmul.h"

#include <string_view>

#include "engine/runtime.h"
#include "op/kernel.h"
#include "ops/onednn.h"

namespace headrace {
namespace {

using dnnl::memory;

constexpr int64_t kFewRows = 64;   // of a: beyond, the library rearranges b in less time than it multiplies
constexpr int64_t kAtOnce = 1024;  // columns of wide products
constexpr int64_t kTile = 64;      // columns that are computed together

struct Matmul {
  dnnl::matmul primitive;
  onednn::Operand a, b;
  memory c, bias, scratch;
  size_t scratch_bytes = 0;
  std::unordered_map<int, memory> arguments;
};

// Some columns of a product, whose c has rows that are further apart than these columns are many.
struct Columns {
  Gemm gemm;
  int64_t c_row_stride;
};

Columns columns_of(const Gemm& g, int64_t first, int64_t count) {
  Columns part{g, g.n};
  const auto behind = [size = item_size(g.dtype)](const void* data, int64_t elements) {
    return static_cast<const char*>(data) + elements * static_cast<int64_t>(size);
  };
  part.gemm.n = std::min(count, g.n - first);
  part.gemm.b.data = behind(g.b.data, first * g.b.column_stride);
  part.gemm.c = const_cast<char*>(behind(g.c, first));
  if (g.bias) part.gemm.bias = behind(g.bias, first);
  return part;
}

// How many columns are computed by one call. Where b lies row after row in float32 and is wide, the library reads it
// where it lies, badly: a product of 3072 by 3072 takes it three times as long as three of 1024 columns.
int64_t columns_at_once(const Gemm& g) {
  constexpr int64_t kManyRows = 256;  // of b
  const bool is_read_in_place = g.dtype == DType::kFloat32 && g.b.column_stride == 1 && g.k >= kManyRows;
  if (!is_read_in_place || g.n <= kAtOnce + kAtOnce / 4) return g.n;
  const int64_t parts = (g.n + kAtOnce - 1) / kAtOnce;
  return ((g.n + parts - 1) / parts + kTile - 1) / kTile * kTile;
}

onednn::Key key_of(const Columns& part, int width, bool any_layout) {
  const Gemm& g = part.gemm;
  onednn::Key key{width,
                  any_layout,
                  static_cast<int64_t>(g.dtype),
                  g.bias != nullptr,
                  g.m,
                  g.n,
                  g.k,
                  part.c_row_stride,
                  g.a.row_stride,
                  g.a.column_stride,
                  g.b.row_stride,
                  g.b.column_stride};
  for (size_t i = 0; i < g.batch.size(); ++i) {
    key.push_back(g.batch[i]);
    key.push_back(g.a.batch_strides[i]);
    key.push_back(g.b.batch_strides[i]);
  }
  return key;
}

// A stride of an axis of extent 1 never matters; oneDNN prefers the packed one. Empty for strides that it does not
// know, as those of a stack whose matrices lie between each other.
memory::desc describe(const Gemm& g, const MatrixStack& matrix, int64_t rows, int64_t columns) {
  memory::dims dims, strides;
  for (size_t i = 0; i < g.batch.size(); ++i) {
    bool repeated = matrix.batch_strides[i] == 0;
    dims.push_back(repeated ? 1 : g.batch[i]);
    strides.push_back(repeated ? std::max<int64_t>(1, rows * columns) : matrix.batch_strides[i]);
  }
  dims.insert(dims.end(), {rows, columns});
  bool by_columns = matrix.row_stride == 1 && (matrix.column_stride != 1 || rows > 1);
  strides.push_back(by_columns ? 1 : (rows == 1 ? columns : matrix.row_stride));
  strides.push_back(by_columns ? (columns == 1 ? rows : matrix.column_stride) : 1);
  return {dims, onednn::type_of(g.dtype), strides, true};
}

// A product's operands as oneDNN sees them.
struct Described {
  memory::desc a, b, c, bias;

  dnnl::matmul::primitive_desc product() const {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (bias) return {onednn::cpu_engine(), a, b, bias, c, attributes, true};
    return {onednn::cpu_engine(), a, b, c, attributes, true};
  }
};

void describe_results(const Columns& part, Described& d) {
  const Gemm& g = part.gemm;
  memory::dims dims(g.batch.begin(), g.batch.end()), bias_dims(g.batch.size() + 1, 1);
  dims.insert(dims.end(), {g.m, g.n});
  memory::dims c_strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;)
    c_strides[i] = i + 2 == dims.size() ? part.c_row_stride : c_strides[i + 1] * std::max<int64_t>(1, dims[i + 1]);
  d.c = memory::desc(dims, onednn::type_of(g.dtype), c_strides);
  if (!g.bias) return;
  bias_dims.push_back(g.n);
  memory::dims bias_strides(bias_dims.size(), g.n);
  bias_strides.back() = 1;
  d.bias = memory::desc(bias_dims, onednn::type_of(g.dtype), bias_strides);
}

// Whether factors are read where they lie at every step of a product, and not packed: what oneDNN does without AVX-512
// where one side of the result is short (gemm/gemm_driver and its threshold).
bool reads_in_place(const dnnl::matmul::primitive_desc& product, const Gemm& g) {
  constexpr double kShort = 0.0038;
  return std::string_view(product.impl_info_str()).starts_with("gemm:jit") && g.dtype == DType::kFloat32 &&
         1.0 / static_cast<double>(g.m) + 1.0 / static_cast<double>(g.n) >= kShort;
}

// Whether lines that begin so many floats apart meet in few sets of the caches, or in rather few.
enum class Meeting { kNever, kRather, kOften };
Meeting meeting_of(int64_t apart) {
  return apart % 512 == 0 ? Meeting::kOften : apart % 256 == 0 ? Meeting::kRather : Meeting::kNever;
}

// How many results an element has to go into before a copy of its factor, of so many bytes, pays.
int64_t least_use_of_copy(Meeting meeting, size_t bytes) {
  constexpr size_t kCached = size_t{8} << 20;
  return (meeting == Meeting::kOften ? 8 : 128) * (bytes <= kCached ? 1 : 8);
}

// A factor that is read in place as products are faster with it, copying included: with 1024 columns they take twice as
// long as with 1000. `summed` is the axis that is summed over; an element goes into `used` results.
memory::desc with_lines_apart(const memory::desc& factor, size_t summed, int64_t used) {
  constexpr int64_t kLine = 16, kWays = 8;  // floats; lines of a set
  const memory::dims dims = factor.get_dims(), strides = factor.get_strides();
  const size_t along = 2 * dims.size() - 3 - summed;  // the other axis of the matrix
  const Meeting meeting = meeting_of(strides[summed]);
  const bool has_lines = factor.get_inner_nblks() == 0 && strides[along] == 1 && dims[along] > 1;
  if (!has_lines || dims[summed] <= kWays || meeting == Meeting::kNever) return factor;
  if (used < least_use_of_copy(meeting, factor.get_size())) return factor;
  memory::dims apart(dims.size(), 1);
  apart[summed] = dims[along] + (meeting_of(dims[along]) == Meeting::kNever ? 0 : kLine);
  int64_t block = apart[summed] * dims[summed];
  for (size_t axis = dims.size() - 2; axis-- > 0; block *= dims[axis]) apart[axis] = block;
  return {dims, factor.get_data_type(), apart};
}

// Null when oneDNN has no implementation. `any_layout`: b is taken in the layout that oneDNN likes best.
std::unique_ptr<Matmul> make_matmul(const Columns& part, bool any_layout) {
  const Gemm& g = part.gemm;
  const memory::desc given_a = describe(g, g.a, g.m, g.k), given_b = describe(g, g.b, g.k, g.n);
  Described d{.a = given_a, .b = given_b};
  if (!d.a || !d.b) return nullptr;
  describe_results(part, d);
  if (any_layout) d.b = memory::desc(given_b.get_dims(), given_b.get_data_type(), memory::format_tag::any);
  dnnl::matmul::primitive_desc description = d.product();
  if (!description) return nullptr;
  if (reads_in_place(description, g)) {
    const size_t rows = g.batch.size(), columns = rows + 1;  // the axes of matrices
    d.a = with_lines_apart(given_a, columns, g.n);
    d.b = with_lines_apart(description.weights_desc(), rows, any_layout ? INT64_MAX : g.m);  // once for many calls
    description = d.product();
    if (!description) return nullptr;
  }
  dnnl::engine& engine = onednn::cpu_engine();
  auto made = std::make_unique<Matmul>();
  made->primitive = dnnl::matmul(description);
  made->a = onednn::Operand(given_a, d.a, false);
  made->b = onednn::Operand(given_b, description.weights_desc(), false);
  made->c = memory(d.c, engine, nullptr);
  made->scratch = memory(description.scratchpad_desc(), engine, nullptr);
  made->scratch_bytes = description.scratchpad_desc().get_size();
  made->arguments = {{DNNL_ARG_SRC, made->a.argument()},
                     {DNNL_ARG_WEIGHTS, made->b.argument()},
                     {DNNL_ARG_DST, made->c},
                     {DNNL_ARG_SCRATCHPAD, made->scratch}};
  if (g.bias) {
    made->bias = memory(d.bias, engine, nullptr);
    made->arguments.emplace(DNNL_ARG_BIAS, made->bias);
  }
  return made;
}

// Memory that one call needs after the other.
class Workspace {
 public:
  explicit Workspace(KernelContext& context) : context_(context) {}

  void* of(size_t bytes) {
    if (bytes > bytes_) data_ = context_.workspace(bytes_ = bytes);
    return data_;
  }

 private:
  KernelContext& context_;
  size_t bytes_ = 0;
  void* data_ = nullptr;
};

// Null when oneDNN has no implementation. Valid until the next call.
Matmul* prepared(const Columns& part, int width, bool any_layout) {
  auto& cache = thread_service<onednn::ThreadCache<Matmul>>();
  return cache.get(key_of(part, width, any_layout), [&] { return make_matmul(part, any_layout); });
}

// Once b is there.
void execute(KernelContext& context, Matmul& matmul, Workspace& workspace, const Gemm& g) {
  dnnl::stream& stream = onednn::thread_stream();
  matmul.a.begin(context, stream, const_cast<void*>(g.a.data));
  matmul.c.set_data_handle(g.c);
  if (g.bias) matmul.bias.set_data_handle(const_cast<void*>(g.bias));
  if (matmul.scratch_bytes > 0) matmul.scratch.set_data_handle(workspace.of(matmul.scratch_bytes));
  matmul.primitive.execute(stream, matmul.arguments);
  stream.wait();
}

// With b in the layout that oneDNN likes best, where a copy of it in that is kept; false: none is.
bool multiply_by_kept(KernelContext& context, Workspace& workspace, const Columns& product, int width) {
  const Gemm& g = product.gemm;
  if (!g.b.storage || g.m > kFewRows) return false;
  Matmul* const matmul = prepared(product, width, true);
  if (!matmul || !matmul->b.begin_kept(onednn::thread_stream(), const_cast<void*>(g.b.data), g.b.storage)) return false;
  execute(context, *matmul, workspace, g);
  return true;
}

// False: oneDNN has no implementation.
bool multiply_columns(KernelContext& context, Workspace& workspace, const Columns& part, int width) {
  Matmul* const matmul = prepared(part, width, false);
  if (!matmul) return false;
  matmul->b.begin(context, onednn::thread_stream(), const_cast<void*>(part.gemm.b.data));
  execute(context, *matmul, workspace, part.gemm);
  return true;
}

}  // namespace

bool onednn_matmul(KernelContext& context, const Gemm& g, int width) {
  Workspace workspace(context);
  const Columns whole = columns_of(g, 0, g.n);
  if (multiply_by_kept(context, workspace, whole, width)) return true;
  const int64_t columns = columns_at_once(g);
  if (columns >= g.n) return multiply_columns(context, workspace, whole, width);
  for (int64_t first = 0; first < g.n; first += columns)
    if (!multiply_columns(context, workspace, columns_of(g, first, columns), width)) return false;
  return true;
}

}  // namespace headrace
