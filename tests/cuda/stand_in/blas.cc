// The functions of cuBLASLt that headrace's plug-in asks for (backend/cuda/blas.cc). Products are computed on the host
// when their stream has come to them; what breaks the library's contract ends the process. The
// stand-in has cuBLASLt's name for the loader (cmake/tests.cmake): who asks for that library once it is there gets it.
#include <cublasLt.h>

#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "tests/cuda/stand_in/elements.h"
#include "tests/cuda/stand_in/machine.h"

namespace stand_in {
namespace {

constexpr size_t kWorkspace = 4096;  // that every product needs

struct Handle {
  Context* context;
};

struct Desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t batch_stride = 0;

  size_t item() const { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }
  // From the first to behind the last element.
  size_t bytes() const {
    const int64_t one = leading * (static_cast<int64_t>(columns) - 1) + static_cast<int64_t>(rows);
    return static_cast<size_t>((batch - 1) * batch_stride + one) * item();
  }
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t a = 256, b = 256, c = 256, d = 256;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
};

// What is kept in an algorithm: the least alignments that it was chosen for.
struct Algorithm {
  uint32_t a, b, d;
  uint32_t magic;
};
constexpr uint32_t kMagic = 0x51a7d;
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

template <class T, class Opaque>
T& of(Opaque* opaque) {
  return *reinterpret_cast<T*>(opaque);
}
template <class T>
void read(T& value, const void* from, size_t bytes, const char* call) {
  if (bytes != sizeof value) violation("%s: an attribute of %zu bytes, not %zu", call, bytes, sizeof value);
  std::memcpy(&value, from, bytes);
}

struct Product {
  Desc desc;
  Layout a, b, d;
  const char *a_data, *b_data, *bias;
  char* d_data;
  double alpha, beta;

  double factor(const Layout& layout, const char* data, cublasOperation_t op, int64_t batch, int64_t row,
                int64_t column) const {
    if (op == CUBLAS_OP_T) std::swap(row, column);
    return load(layout.type, data, batch * layout.batch_stride + column * layout.leading + row);
  }
  void compute() const {
    const auto k = static_cast<int64_t>(desc.a == CUBLAS_OP_T ? a.rows : a.columns);
    for (int64_t one = 0; one < d.batch; ++one)
      for (int64_t column = 0; column < static_cast<int64_t>(d.columns); ++column)
        for (int64_t row = 0; row < static_cast<int64_t>(d.rows); ++row) {
          double sum = 0;
          for (int64_t p = 0; p < k; ++p)
            sum += factor(a, a_data, desc.a, one, row, p) * factor(b, b_data, desc.b, one, p, column);
          const int64_t place = one * d.batch_stride + column * d.leading + row;
          double result = alpha * sum + (beta == 0 ? 0 : beta * load(d.type, d_data, place));
          if (bias) result += load(d.type, bias, row);
          store(d.type, d_data, place, result);
        }
  }
};

void check_layout(const char* which, const Layout& layout, cudaDataType_t type, int32_t batch) {
  if (layout.type != type) violation("cublasLtMatmul: %s has another type than d", which);
  if (layout.rows == 0 || layout.columns == 0) violation("cublasLtMatmul: %s is empty", which);
  if (layout.leading < static_cast<int64_t>(layout.rows))
    violation("cublasLtMatmul: columns of %s, %ld apart, overlap", which, static_cast<long>(layout.leading));
  if (layout.batch != batch) violation("cublasLtMatmul: %s has another number of matrices than d", which);
  if (layout.batch_stride < 0) violation("cublasLtMatmul: matrices of %s go backwards", which);
}

void check_shapes(const Desc& desc, const Layout& a, const Layout& b, const Layout& d) {
  const bool is_wide = d.type == CUDA_R_64F;
  const bool rounds = desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (rounds && (d.type != CUDA_R_32F || !may_round_to_tf32()))
    violation("cublasLtMatmul: factors are rounded to TF32, which nobody allowed");
  if ((!rounds && desc.compute != (is_wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F)) ||
      desc.scale != (is_wide ? CUDA_R_64F : CUDA_R_32F))
    violation("cublasLtMatmul: these types are not computed in that");
  check_layout("a", a, d.type, d.batch);
  check_layout("b", b, d.type, d.batch);
  check_layout("d", d, d.type, d.batch);
  const uint64_t m = desc.a == CUBLAS_OP_T ? a.columns : a.rows, k = desc.a == CUBLAS_OP_T ? a.rows : a.columns;
  const uint64_t n = desc.b == CUBLAS_OP_T ? b.rows : b.columns, inner = desc.b == CUBLAS_OP_T ? b.columns : b.rows;
  if (m != d.rows || n != d.columns || k != inner) violation("cublasLtMatmul: the shapes do not fit");
  if (desc.epilogue == CUBLASLT_EPILOGUE_BIAS && (is_wide || !desc.bias))
    violation("cublasLtMatmul: a bias of float64, or none");
}

char* on_device(const char* which, const void* pointer, size_t bytes, uint32_t alignment) {
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  Context* const owner = machine().owner(address);
  if (!owner) violation("cublasLtMatmul: %s is no memory of a device", which);
  if (address % alignment != 0) violation("cublasLtMatmul: %s is not aligned as was said", which);
  return owner->memory.find(address, bytes);
}

uint64_t address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace
}  // namespace stand_in

using namespace stand_in;

#define STAND_IN_API extern "C" [[gnu::visibility("default")]]

STAND_IN_API size_t cublasLtGetVersion() { return 130000; }

STAND_IN_API const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_EXECUTION_FAILED";
}

STAND_IN_API cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = reinterpret_cast<cublasLtHandle_t>(new Handle{&machine().needed("cublasLtCreate")});
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute,
                                                     cudaDataType_t scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(new Desc{.compute = compute, .scale = scale});
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                                           cublasLtMatmulDescAttributes_t which, const void* value,
                                                           size_t bytes) {
  Desc& own = of<Desc>(desc);
  constexpr const char* kCall = "cublasLtMatmulDescSetAttribute";
  switch (which) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      read(own.a, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_DESC_TRANSB:
      read(own.b, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      read(own.epilogue, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      read(own.bias, value, bytes, kCall);
      break;
    default:
      violation("%s: attribute %d is not known here", kCall, static_cast<int>(which));
  }
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                                       uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(
      new Layout{.type = type, .rows = rows, .columns = columns, .leading = leading});
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                             cublasLtMatrixLayoutAttribute_t which, const void* value,
                                                             size_t bytes) {
  Layout& own = of<Layout>(layout);
  constexpr const char* kCall = "cublasLtMatrixLayoutSetAttribute";
  if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    read(own.batch, value, bytes, kCall);
  else if (which == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    read(own.batch_stride, value, bytes, kCall);
  else
    violation("%s: attribute %d is not known here", kCall, static_cast<int>(which));
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &of<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                 cublasLtMatmulPreferenceAttributes_t which,
                                                                 const void* value, size_t bytes) {
  Preference& own = of<Preference>(preference);
  constexpr const char* kCall = "cublasLtMatmulPreferenceSetAttribute";
  switch (which) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      read(own.workspace, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      read(own.reductions, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      read(own.a, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      read(own.b, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      read(own.c, value, bytes, kCall);
      break;
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      read(own.d, value, bytes, kCall);
      break;
    default:
      violation("%s: attribute %d is not known here", kCall, static_cast<int>(which));
  }
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                                           cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                           cublasLtMatrixLayout_t, cublasLtMatrixLayout_t d,
                                                           cublasLtMatmulPreference_t preference, int wanted,
                                                           cublasLtMatmulHeuristicResult_t* results, int* count) {
  const Preference& own = of<Preference>(preference);
  if (own.reductions != CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)
    violation("cublasLtMatmulAlgoGetHeuristic: parts of sums may lie in the type of the result");
  check_shapes(of<Desc>(desc), of<Layout>(a), of<Layout>(b), of<Layout>(d));
  *count = own.workspace >= kWorkspace && wanted > 0 ? 1 : 0;
  if (*count == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  const Algorithm algorithm{own.a, own.b, own.d, kMagic};
  *results = {};
  std::memcpy(&results->algo, &algorithm, sizeof algorithm);
  results->workspaceSize = kWorkspace;
  results->state = CUBLAS_STATUS_SUCCESS;
  return CUBLAS_STATUS_SUCCESS;
}

STAND_IN_API cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                           const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                           cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                                           cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t d_layout,
                                           const cublasLtMatmulAlgo_t* algo, void* workspace, size_t workspace_bytes,
                                           cudaStream_t handle_of_stream) {
  auto& stream = *reinterpret_cast<Stream*>(handle_of_stream);
  Context& context = machine().needed("cublasLtMatmul");
  if (&stream.context() != &context || of<Handle>(handle).context != &context)
    violation("cublasLtMatmul: stream, handle and context are not of one device");
  if (machine().enter("cublasLtMatmul") != CUDA_SUCCESS) return CUBLAS_STATUS_EXECUTION_FAILED;
  Product product{of<Desc>(desc), of<Layout>(a_layout), of<Layout>(b_layout), of<Layout>(d_layout)};
  check_shapes(product.desc, product.a, product.b, product.d);
  Algorithm algorithm{};
  std::memcpy(&algorithm, algo, sizeof algorithm);
  if (algorithm.magic != kMagic) violation("cublasLtMatmul: no algorithm");
  if (c != d) violation("cublasLtMatmul: c is not d");
  if (workspace_bytes < kWorkspace) violation("cublasLtMatmul: %zu bytes of workspace are too few", workspace_bytes);
  on_device("workspace", workspace, workspace_bytes, 256);
  product.a_data = on_device("a", a, product.a.bytes(), algorithm.a);
  product.b_data = on_device("b", b, product.b.bytes(), algorithm.b);
  product.d_data = on_device("d", d, product.d.bytes(), algorithm.d);
  std::vector<CUdeviceptr> uses{address_of(workspace), address_of(a), address_of(b), address_of(d)};
  if (product.desc.epilogue == CUBLASLT_EPILOGUE_BIAS) {
    product.bias = on_device("bias", product.desc.bias, product.d.rows * product.d.item(), 1);
    uses.push_back(address_of(product.desc.bias));
  }
  if (product.d.type == CUDA_R_64F) {
    std::memcpy(&product.alpha, alpha, sizeof product.alpha);
    std::memcpy(&product.beta, beta, sizeof product.beta);
  } else {
    float factors[2];
    std::memcpy(&factors[0], alpha, sizeof(float));
    std::memcpy(&factors[1], beta, sizeof(float));
    product.alpha = factors[0];
    product.beta = factors[1];
  }
  stream.put(std::move(uses), [product] { product.compute(); });
  return CUBLAS_STATUS_SUCCESS;
}
