#include "ops/linalg/onednn_matmul.h"

#include "engine/runtime.h"
#include "op/kernel.h"
#include "ops/onednn.h"

namespace headrace {
namespace {

using dnnl::memory;

constexpr int64_t kFewRows = 64;  // of a: beyond, the library rearranges b in less time than it multiplies

struct Matmul {
  dnnl::matmul primitive;
  onednn::Operand b;
  memory a, c, bias, scratch;
  size_t scratch_bytes = 0;
  std::unordered_map<int, memory> arguments;
};

onednn::Key key_of(const Gemm& g, int width, bool any_layout) {
  onednn::Key key{width,
                  any_layout,
                  static_cast<int64_t>(g.dtype),
                  g.bias != nullptr,
                  g.m,
                  g.n,
                  g.k,
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

// Null when oneDNN has no implementation. `any_layout`: b is taken in the layout that oneDNN likes best.
std::unique_ptr<Matmul> make_matmul(const Gemm& g, bool any_layout) {
  const memory::desc a = describe(g, g.a, g.m, g.k), given = describe(g, g.b, g.k, g.n);
  if (!a || !given) return nullptr;
  const memory::desc b =
      any_layout ? memory::desc(given.get_dims(), given.get_data_type(), memory::format_tag::any) : given;
  memory::desc bias;
  memory::dims dims(g.batch.begin(), g.batch.end()), bias_dims(g.batch.size() + 1, 1);
  dims.insert(dims.end(), {g.m, g.n});
  bias_dims.push_back(g.n);
  memory::dims c_strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) c_strides[i] = c_strides[i + 1] * std::max<int64_t>(1, dims[i + 1]);
  memory::desc c(dims, onednn::type_of(g.dtype), c_strides);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::engine& engine = onednn::cpu_engine();
  dnnl::matmul::primitive_desc description;
  if (g.bias) {
    memory::dims bias_strides(bias_dims.size(), g.n);
    bias_strides.back() = 1;
    bias = memory::desc(bias_dims, onednn::type_of(g.dtype), bias_strides);
    description = dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes, true);
  } else {
    description = dnnl::matmul::primitive_desc(engine, a, b, c, attributes, true);
  }
  if (!description) return nullptr;
  auto made = std::make_unique<Matmul>();
  made->primitive = dnnl::matmul(description);
  made->a = memory(a, engine, nullptr);
  made->b = onednn::Operand(given, description.weights_desc(), false);
  made->c = memory(c, engine, nullptr);
  made->scratch = memory(description.scratchpad_desc(), engine, nullptr);
  made->scratch_bytes = description.scratchpad_desc().get_size();
  made->arguments = {{DNNL_ARG_SRC, made->a},
                     {DNNL_ARG_WEIGHTS, made->b.argument()},
                     {DNNL_ARG_DST, made->c},
                     {DNNL_ARG_SCRATCHPAD, made->scratch}};
  if (g.bias) {
    made->bias = memory(bias, engine, nullptr);
    made->arguments.emplace(DNNL_ARG_BIAS, made->bias);
  }
  return made;
}

}  // namespace

bool onednn_matmul(KernelContext& context, const Gemm& g, int width) {
  auto& cache = thread_service<onednn::ThreadCache<Matmul>>();
  dnnl::stream& stream = onednn::thread_stream();
  const auto prepared = [&](bool any_layout) {
    return cache.get(key_of(g, width, any_layout), [&] { return make_matmul(g, any_layout); });
  };
  Matmul* matmul = g.b.storage && g.m <= kFewRows ? prepared(true) : nullptr;
  if (!matmul || !matmul->b.begin_kept(stream, const_cast<void*>(g.b.data), g.b.storage)) {
    matmul = prepared(false);
    if (!matmul) return false;
    matmul->b.begin(context, stream, const_cast<void*>(g.b.data));
  }
  matmul->a.set_data_handle(const_cast<void*>(g.a.data));
  matmul->c.set_data_handle(g.c);
  if (g.bias) matmul->bias.set_data_handle(const_cast<void*>(g.bias));
  if (matmul->scratch_bytes > 0) matmul->scratch.set_data_handle(context.workspace(matmul->scratch_bytes));
  matmul->primitive.execute(stream, matmul->arguments);
  stream.wait();
  return true;
}

}  // namespace headrace
