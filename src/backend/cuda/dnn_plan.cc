#if __has_include(<cudnn_graph.h>)

#include "backend/cuda/dnn_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backend/cuda/library.h"
#include "base/config.h"

namespace headrace {
namespace {

enum TensorId : int64_t { kX = 1, kW, kY };

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return CUDNN_DATA_HALF;
    case DType::kBfloat16:
      return CUDNN_DATA_BFLOAT16;
    default:
      return CUDNN_DATA_FLOAT;
  }
}

void set_integers(DnnDescriptor& descriptor, cudnnBackendAttributeName_t name, const Shape& values) {
  descriptor.set_all<int64_t>(name, CUDNN_TYPE_INT64, values);
}

DnnDescriptor tensor(TensorId id, const DnnTensor& of, DType dtype) {
  DnnDescriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type_of(dtype));
  set_integers(made, CUDNN_ATTR_TENSOR_DIMENSIONS, of.shape);
  set_integers(made, CUDNN_ATTR_TENSOR_STRIDES, of.strides);
  made.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{id});
  made.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64,
           static_cast<int64_t>(alignment_of(reinterpret_cast<uintptr_t>(of.data), DnnPlan::kMostAlignment)));
  made.finish();
  return made;
}

DnnDescriptor window(const DnnConvolution& c) {
  DnnDescriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, static_cast<int64_t>(c.stride.size()));
  set_integers(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, c.stride);
  set_integers(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, c.dilate);
  set_integers(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, c.pad);
  set_integers(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, c.pad);
  made.finish();
  return made;
}

// The names that the three passes have for the same.
struct PassNames {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, window, alpha, beta;
};

PassNames names_of(DnnPass pass) {
  switch (pass) {
    case DnnPass::kForward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case DnnPass::kData:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    default:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
}

// With all that it is made of, which stays as long as it is asked about.
struct Graph {
  Graph(cudnnHandle_t handle, const DnnConvolution& c)
      : x(tensor(kX, c.x, c.dtype)),
        w(tensor(kW, c.w, c.dtype)),
        y(tensor(kY, c.y, c.dtype)),
        seen(window(c)),
        operation(names_of(c.pass).operation),
        whole(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const PassNames names = names_of(c.pass);
    operation.set(names.x, x);
    operation.set(names.w, w);
    operation.set(names.y, y);
    operation.set(names.window, seen);
    operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1.0F);
    operation.set(names.beta, CUDNN_TYPE_FLOAT, 0.0F);
    operation.finish();
    whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    whole.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    whole.finish();
  }

  DnnDescriptor x, w, y, seen, operation, whole;
};

bool may_run(cudnnBackendNumericalNote_t note, DType dtype) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return !config().cuda_determinism;
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return false;
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return config().cuda_tuning > 1;
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:  // for float32 these round to TF32
      return dtype != DType::kFloat32 || config().cuda_tf32;
    default:
      return true;
  }
}

bool may_run(DnnDescriptor& config, DType dtype) {
  DnnDescriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  config.get_bytes(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  const int64_t count = engine.get_bytes(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                         static_cast<int64_t>(notes.size()), notes.data());
  return config.status().is_good() && engine.status().is_good() &&
         std::all_of(notes.begin(), notes.begin() + std::min(count, static_cast<int64_t>(notes.size())),
                     [dtype](cudnnBackendNumericalNote_t note) { return may_run(note, dtype); });
}

// Best first.
std::vector<DnnDescriptor> proposals(cudnnBackendHeurMode_t mode, const DnnDescriptor& graph, DnnStatus& status) {
  DnnDescriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  heuristics.finish();
  int64_t count = heuristics.get_bytes(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  std::vector<DnnDescriptor> made;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int64_t i = 0; i < count; ++i) handles.push_back(made.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).handle());
  if (count > 0)
    count = std::min(count, heuristics.get_bytes(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                                 handles.data()));
  while (static_cast<int64_t>(made.size()) > count) made.pop_back();
  if (!heuristics.status().is_good()) status = heuristics.status();
  return made;
}

}  // namespace

std::vector<DnnPlan> DnnPlan::candidates(cudnnHandle_t handle, const DnnConvolution& convolution, size_t most,
                                         std::string& why) {
  const Graph graph(handle, convolution);
  std::vector<DnnPlan> made;
  DnnStatus status = graph.whole.status();
  int64_t seen = 0, allowed = 0;
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    if (!graph.whole.status().is_good() || !made.empty()) break;
    for (DnnDescriptor& config : proposals(mode, graph.whole, status)) {
      ++seen;
      if (!may_run(config, convolution.dtype)) continue;
      ++allowed;
      DnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
      plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
      plan.finish();
      const auto bytes = plan.get<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64);
      if (!plan.status().is_good()) status = plan.status();
      if (plan.status().is_good() && bytes <= kMostWorkspace)
        made.push_back(DnnPlan(std::move(config), std::move(plan), static_cast<size_t>(bytes)));
      if (made.size() >= most) return made;
    }
  }
  if (made.empty())
    why = fmt::format("it proposes {}, of which {} may be used{}", seen, allowed,
                      status.is_good() ? "" : "; " + status.text());
  return made;
}

DnnStatus DnnPlan::execute(cudnnHandle_t handle, const DnnConvolution& convolution, void* workspace) const {
  const int64_t ids[] = {kX, kW, kY};
  void* const pointers[] = {convolution.x.data, convolution.w.data, convolution.y.data};
  DnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set_all<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids);
  pack.set_all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finish();
  if (!pack.status().is_good()) return pack.status();
  return {"cudnnBackendExecute", dnn_library()->execute(handle, plan_.handle(), pack.handle())};
}

}  // namespace headrace

#endif
