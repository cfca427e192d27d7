#if __has_include(<cudnn_graph.h>)

#include "tests/cuda/stand_in/dnn_descriptor.h"

#include <mutex>
#include <set>

namespace stand_in {
namespace {

using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;
using Attributes = std::map<Name, Type>;

// What has to be set.
const std::map<cudnnBackendDescriptorType_t, Attributes>& known_attributes() {
  constexpr Type kInteger = CUDNN_TYPE_INT64, kOther = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  static const std::map<cudnnBackendDescriptorType_t, Attributes> all{
      {CUDNN_BACKEND_TENSOR_DESCRIPTOR,
       {{CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kInteger},
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, kInteger},
        {CUDNN_ATTR_TENSOR_STRIDES, kInteger},
        {CUDNN_ATTR_TENSOR_UNIQUE_ID, kInteger}}},
      {CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR,
       {{CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE},
        {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, kInteger},
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, kInteger},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, kInteger},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, kInteger},
        {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, kInteger}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kOther}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kOther}}},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       {{CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kOther},
        {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kOther}}},
      {CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR,
       {{CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE}, {CUDNN_ATTR_OPERATIONGRAPH_OPS, kOther}}},
      {CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR,
       {{CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE}, {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kOther}}},
      {CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, {}},
      {CUDNN_BACKEND_ENGINE_DESCRIPTOR, {}},
      {CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
       {{CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE}, {CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kOther}}},
      {CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR,
       {{CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, kInteger},
        {CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR},
        {CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR}}},
  };
  return all;
}

size_t size_of(Type type) {
  switch (type) {
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    default:
      return 4;
  }
}

struct Descriptors {
  std::mutex mutex;
  std::set<const Descriptor*> live;  // guarded by mutex
};
Descriptors& descriptors() {
  static auto& all = *new Descriptors;
  return all;
}

}  // namespace

cudnnBackendDescriptor_t make_descriptor(cudnnBackendDescriptorType_t type) {
  if (!known_attributes().contains(type)) violation("cudnnBackendCreateDescriptor: type %d is not known here", type);
  auto* const made = new Descriptor(type);
  Descriptors& all = descriptors();
  const std::lock_guard guard(all.mutex);
  all.live.insert(made);
  return reinterpret_cast<cudnnBackendDescriptor_t>(made);
}

void destroy_descriptor(cudnnBackendDescriptor_t handle) {
  Descriptor& own = live_descriptor(handle, "cudnnBackendDestroyDescriptor");
  Descriptors& all = descriptors();
  const std::lock_guard guard(all.mutex);
  all.live.erase(&own);
  delete &own;
}

Descriptor& live_descriptor(cudnnBackendDescriptor_t handle, const char* call) {
  auto* const made = reinterpret_cast<Descriptor*>(handle);
  Descriptors& all = descriptors();
  const std::lock_guard guard(all.mutex);
  if (!all.live.contains(made)) violation("%s: no descriptor, or one that was destroyed", call);
  return *made;
}

const Descriptor& Descriptor::other(cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t expected) const {
  const Descriptor& made = live_descriptor(one<cudnnBackendDescriptor_t>(name), "cudnnBackendFinalize");
  if (made.type != expected || !made.is_finished)
    violation("cuDNN: attribute %d is a descriptor of type %d, or is not finalized", name, made.type);
  return made;
}

void set_value(Descriptor& descriptor, Name name, Type type, int64_t count, const void* values) {
  const Attributes& known = known_attributes().at(descriptor.type);
  const auto found = known.find(name);
  if (found == known.end() || found->second != type)
    violation("cudnnBackendSetAttribute: attribute %d of a descriptor of type %d is set as type %d", name,
              descriptor.type, type);
  if (descriptor.is_finished) violation("cudnnBackendSetAttribute: the descriptor is finalized");
  if (count < 1 || !values) violation("cudnnBackendSetAttribute: attribute %d gets no values", name);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    for (int64_t i = 0; i < count; ++i)
      if (!live_descriptor(static_cast<const cudnnBackendDescriptor_t*>(values)[i], "cudnnBackendSetAttribute")
               .is_finished)
        violation("cudnnBackendSetAttribute: attribute %d is a descriptor that is not finalized", name);
  const auto* const bytes = static_cast<const char*>(values);
  descriptor.values[name] = {type, count, {bytes, bytes + static_cast<size_t>(count) * size_of(type)}};
}

void require_values(const Descriptor& descriptor) {
  if (descriptor.is_finished) violation("cudnnBackendFinalize: a second time");
  for (const auto& [name, type] : known_attributes().at(descriptor.type))
    if (!descriptor.values.contains(name)) violation("cudnnBackendFinalize: attribute %d is not set", name);
}

}  // namespace stand_in

#endif
