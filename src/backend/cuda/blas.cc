#include "backend/cuda/blas.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/gang_lock.h"
#include "backend/cuda/library.h"
#include "base/check.h"
#include "base/config.h"
#include "base/log.h"

namespace headrace {
namespace {

struct Blas {
  decltype(&cublasLtGetVersion) get_version;
  decltype(&cublasLtGetStatusString) get_status_string;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic;
  decltype(&cublasLtMatmul) matmul;
};

constexpr int kOldest = 12, kNewest = 13;
constexpr size_t kOldestVersion = 120400;                // as cublasLtGetVersion() counts
constexpr uint64_t kMostWorkspace = uint64_t{32} << 20;  // what NVIDIA recommends for Hopper
constexpr uint32_t kMostAlignment = 256;                 // that makes a difference

std::vector<std::string> blas_names() {
  std::vector<std::string> names;
  for (int major = std::min(kNewest, newest_cuda()); major >= kOldest; --major)
    names.push_back(fmt::format("libcublasLt.so.{}", major));
  return names;
}

// None: `why` says it.
std::optional<Blas> load_blas(std::string& why) {
  void* const library = open_first_library(blas_names(), why);
  if (!library) return {};
  Blas made{};
  const auto look_up = functions_of(library, why);
  look_up(made.get_version, "cublasLtGetVersion");
  look_up(made.get_status_string, "cublasLtGetStatusString");
  look_up(made.create, "cublasLtCreate");
  look_up(made.desc_create, "cublasLtMatmulDescCreate");
  look_up(made.desc_set, "cublasLtMatmulDescSetAttribute");
  look_up(made.layout_create, "cublasLtMatrixLayoutCreate");
  look_up(made.layout_set, "cublasLtMatrixLayoutSetAttribute");
  look_up(made.preference_create, "cublasLtMatmulPreferenceCreate");
  look_up(made.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  look_up(made.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  look_up(made.get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  look_up(made.matmul, "cublasLtMatmul");
  if (why.empty() && made.get_version() < kOldestVersion)
    why = fmt::format("the library has version {}, but {} is needed", made.get_version(), kOldestVersion);
  if (why.empty()) return made;
  return {};
}

const Blas* blas() {
  static const std::optional<Blas>& loaded = *new std::optional<Blas>([] {
    std::string why;
    std::optional<Blas> made = load_blas(why);
    if (!made)
      log(LogLevel::kWarn,
          "cuda: matrices are multiplied by a plain kernel, which is slow: {}. Install NVIDIA's cuBLAS (pip install "
          "nvidia-cublas).",
          why);
    return made;
  }());
  return loaded ? &*loaded : nullptr;
}

void check_blas(const CudaDevice& device, cublasStatus_t status, const char* call) {
  headrace::check(status == CUBLAS_STATUS_SUCCESS, ErrorKind::kRuntime, "{}: {} answered {}",
                  to_string(device.device()), call, blas()->get_status_string(status));
}

struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};

Types types_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::kFloat16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::kBfloat16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    default:
      return {CUDA_R_32F, CUDA_R_32F, config().cuda_tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
  }
}

// Of the first elements of all matrices of a batch.
uint32_t alignment_of(const void* data, int64_t batch_stride, DType dtype) {
  const auto bits = reinterpret_cast<uintptr_t>(data) | (static_cast<uintptr_t>(batch_stride) * item_size(dtype));
  return static_cast<uint32_t>(headrace::alignment_of(bits, kMostAlignment));
}

// All that what the library says of a product depends on.
struct ProductShape {
  explicit ProductShape(const BlasProduct& p)
      : values{static_cast<int64_t>(p.dtype),
               p.m,
               p.n,
               p.k,
               p.batch,
               p.a.leading,
               p.b.leading,
               p.a.batch_stride,
               p.b.batch_stride,
               p.a.is_transposed,
               p.b.is_transposed,
               p.bias != nullptr,
               p.adds,
               alignment_of(p.a.data, p.a.batch_stride, p.dtype),
               alignment_of(p.b.data, p.b.batch_stride, p.dtype),
               alignment_of(p.d, p.m * p.n, p.dtype),
               alignment_of(p.bias, 0, p.dtype)} {}
  bool operator==(const ProductShape&) const = default;

  std::array<int64_t, 17> values;
};

struct ProductShapeHash {
  size_t operator()(const ProductShape& shape) const noexcept { return hash_of_shape(shape.values); }
};

// Kept as long as the process. No `algorithm`: the library has none for it.
struct Plan {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::optional<cublasLtMatmulHeuristicResult_t> found;
};

struct DeviceBlas {
  cublasLtHandle_t handle = nullptr;
  std::unordered_map<ProductShape, Plan, ProductShapeHash> plans;
};

class Planner {
 public:
  Planner(const CudaDevice& device, cublasLtHandle_t handle, const BlasProduct& product)
      : device_(device), handle_(handle), product_(product), types_(types_of(product.dtype)) {}

  Plan plan() {
    Plan made;
    check(blas()->desc_create(&made.desc, types_.compute, types_.scale), "cublasLtMatmulDescCreate");
    const cublasOperation_t op_a = product_.a.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N,
                            op_b = product_.b.is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    set(made.desc, CUBLASLT_MATMUL_DESC_TRANSA, op_a);
    set(made.desc, CUBLASLT_MATMUL_DESC_TRANSB, op_b);
    if (product_.bias) {
      set(made.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(made.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product_.bias);  // of this product: algorithms depend on it
    }
    made.a = layout(product_.a);
    made.b = layout(product_.b);
    made.d = layout({product_.d, product_.m, product_.n, product_.m, false, product_.m * product_.n});
    find_algorithm(made);
    return made;
  }

 private:
  void check(cublasStatus_t status, const char* call) const { check_blas(device_, status, call); }

  template <class T>
  void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which, T value) const {
    check(blas()->desc_set(desc, which, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }

  cublasLtMatrixLayout_t layout(const BlasMatrix& matrix) const {
    cublasLtMatrixLayout_t made = nullptr;
    check(blas()->layout_create(&made, types_.element, static_cast<uint64_t>(matrix.rows),
                                static_cast<uint64_t>(matrix.columns), matrix.leading),
          "cublasLtMatrixLayoutCreate");
    const auto set = [&](cublasLtMatrixLayoutAttribute_t which, auto value) {
      check(blas()->layout_set(made, which, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
    };
    if (product_.batch > 1) {
      set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(product_.batch));
      set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
    }
    return made;
  }

  void find_algorithm(Plan& plan) const {
    cublasLtMatmulPreference_t preference = nullptr;
    check(blas()->preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, auto value) {
      check(blas()->preference_set(preference, which, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
    };
    const uint32_t d = alignment_of(product_.d, product_.m * product_.n, product_.dtype);
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspace);
    // Parts of a sum stay in the type that sums are computed in: halves would round them, or overflow.
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
        alignment_of(product_.a.data, product_.a.batch_stride, product_.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        alignment_of(product_.b.data, product_.b.batch_stride, product_.dtype));
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, d);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        blas()->get_heuristic(handle_, plan.desc, plan.a, plan.b, plan.d, plan.d, preference, 1, &found, &count);
    static_cast<void>(blas()->preference_destroy(preference));
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return;
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    if (count > 0 && found.state == CUBLAS_STATUS_SUCCESS) plan.found = found;
  }

  const CudaDevice& device_;
  const cublasLtHandle_t handle_;
  const BlasProduct& product_;
  const Types types_;
};

DeviceBlas& blas_of(CudaDevice& device) {
  static auto& all = *new std::array<DeviceBlas, Accelerator::kMost>;
  DeviceBlas& own = all[static_cast<size_t>(device.device().id)];
  if (own.handle) return own;
  const std::lock_guard taking_memory(gang_lock());
  check_blas(device, blas()->create(&own.handle), "cublasLtCreate");
  return own;
}

}  // namespace

bool put_product(CudaStream& stream, const BlasProduct& product, FunctionRef<void*(size_t)> workspace) {
  if (!blas()) return false;
  auto& device = static_cast<CudaDevice&>(stream.accelerator());
  const ContextScope scope(device);
  DeviceBlas& own = blas_of(device);
  const auto [place, is_new] = own.plans.try_emplace(ProductShape(product));
  Plan& plan = place->second;
  if (is_new) plan = Planner(device, own.handle, product).plan();
  if (!plan.found) return false;
  if (product.bias)
    check_blas(device,
               blas()->desc_set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &product.bias, sizeof product.bias),
               "cublasLtMatmulDescSetAttribute");
  const size_t bytes = plan.found->workspaceSize;
  void* const scratch = bytes > 0 ? workspace(bytes) : nullptr;
  // Factors of the product and of what is in d, in the type of scale.
  const double wide[2] = {1, product.adds ? 1.0 : 0.0};
  const float narrow[2] = {1, product.adds ? 1.0F : 0.0F};
  const bool is_wide = product.dtype == DType::kFloat64;
  const void* const one = is_wide ? static_cast<const void*>(&wide[0]) : &narrow[0];
  const void* const kept = is_wide ? static_cast<const void*>(&wide[1]) : &narrow[1];
  std::unique_lock loading(gang_lock(), std::defer_lock);
  if (is_new) loading.lock();
  check_blas(device,
             blas()->matmul(own.handle, plan.desc, one, product.a.data, plan.a, product.b.data, plan.b, kept, product.d,
                            plan.d, product.d, plan.d, &plan.found->algo, scratch, bytes, stream.handle()),
             "cublasLtMatmul");
  return true;
}

}  // namespace headrace
