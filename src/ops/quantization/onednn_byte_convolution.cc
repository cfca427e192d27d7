#include <cstring>
#include <string_view>

#include "engine/runtime.h"
#include "ndarray/strided_copy.h"
#include "ops/convolution/onednn_images.h"
#include "ops/quantization/byte_convolution.h"

namespace headrace {
namespace {

using dnnl::memory;
using onednn::channels_last;
using onednn::given;
using onednn::Operand;

struct Prepared {
  dnnl::primitive primitive;
  Operand data, weight, out;
  memory scale, shift, scratch;
  size_t scratch_bytes = 0;
  std::unordered_map<int, memory> arguments;
};

// Whether pairs of products of uint8 and int8 are summed in int32.
bool has_byte_products() {
  return onednn::has_instructions(dnnl::cpu_isa::avx512_core_vnni) ||
         onednn::has_instructions(dnnl::cpu_isa::avx2_vnni);
}

// Of int8 data the library itself takes care.
float weight_factor(const ByteConvolution& p) {
  return p.data.dtype == DType::kUint8 && !has_byte_products() ? 0.5f : 1.0f;
}

onednn::Key key_of(const ByteConvolution& p, int width) {
  int32_t addend_scale = 0;
  std::memcpy(&addend_scale, &p.addend_scale, sizeof(addend_scale));
  onednn::Key key{width, p.window.groups, p.relu, p.addend.has_value(), p.addend ? addend_scale : 0};
  const auto append = [&](const Image& image) {
    key.push_back(static_cast<int64_t>(image.dtype));
    for (int64_t extent : image.shape) key.push_back(extent);
    for (int64_t stride : image.strides) key.push_back(stride);
  };
  for (const Image* image : {&p.data, &p.weight, &p.out}) append(*image);
  if (p.addend) key.push_back(static_cast<int64_t>(p.addend->dtype));
  for (const Shape* numbers : {&p.window.stride, &p.window.dilate, &p.window.pad})
    for (int64_t number : *numbers) key.push_back(number);
  return key;
}

dnnl::primitive_attr attributes_of(const ByteConvolution& p) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_scales_mask(DNNL_ARG_WEIGHTS, p.window.groups == 1 ? 1 : 3);
  dnnl::post_ops after;
  if (p.addend) after.append_sum(p.addend_scale, 0, onednn::type_of(p.addend->dtype));
  if (p.relu) after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(after);
  return attributes;
}

// Null when oneDNN has nothing but loops over elements.
std::unique_ptr<Prepared> prepare(const ByteConvolution& p) {
  const Window& w = p.window;
  const Image split = onednn::with_group_axis(p.weight, w.groups);
  const memory::desc data = channels_last(p.data), out = channels_last(p.out),
                     shift({p.weight.shape[0]}, memory::data_type::f32, memory::format_tag::a),
                     any({split.shape.begin(), split.shape.end()}, memory::data_type::s8, memory::format_tag::any);
  memory::dims stride, dilate, pad, pad_end;
  for (size_t i = 0; i < w.spatial(); ++i) {
    stride.push_back(w.stride[i]);
    dilate.push_back(w.dilate[i] - 1);
    pad.push_back(w.pad[i]);
    pad_end.push_back((p.out.shape[i + 2] - 1) * w.stride[i] + w.span(i) - p.data.shape[i + 2] - w.pad[i]);
  }
  const dnnl::convolution_forward::primitive_desc description(
      onednn::cpu_engine(), dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, data, any, shift,
      out, stride, dilate, pad, pad_end, attributes_of(p), true);
  if (!description || std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
  auto made = std::make_unique<Prepared>();
  const dnnl::engine& engine = onednn::cpu_engine();
  made->primitive = dnnl::convolution_forward(description);
  made->data = Operand(given(p.data), data, false);
  made->weight = Operand(given(split), description.weights_desc(), false, weight_factor(p));
  made->out = Operand(given(p.out), out, true);
  made->shift = memory(shift, engine, nullptr);
  made->scale = memory(shift, engine, nullptr);
  made->scratch = memory(description.scratchpad_desc(), engine, nullptr);
  made->scratch_bytes = description.scratchpad_desc().get_size();
  made->arguments = {{DNNL_ARG_SRC, made->data.argument()},
                     {DNNL_ARG_WEIGHTS, made->weight.argument()},
                     {DNNL_ARG_BIAS, made->shift},
                     {DNNL_ARG_DST, made->out.argument()},
                     {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, made->scale},
                     {DNNL_ARG_SCRATCHPAD, made->scratch}};
  return made;
}

// The scales for weights that were multiplied with a factor.
const float* scales_for(KernelContext& c, const ByteConvolution& p) {
  const float factor = weight_factor(p);
  if (factor == 1) return p.scale;
  auto* scales = c.workspace<float>(p.weight.shape[0]);
  for (int64_t k = 0; k < p.weight.shape[0]; ++k) scales[k] = p.scale[k] / factor;
  return scales;
}

}  // namespace

bool onednn_byte_convolution(KernelContext& c, const ByteConvolution& p, int width) {
  auto& cache = thread_service<onednn::ThreadCache<Prepared>>();
  Prepared* made = cache.get(key_of(p, width), [&] { return prepare(p); });
  if (!made) return false;
  dnnl::stream& stream = onednn::thread_stream();
  made->data.begin(c, stream, p.data.data);
  made->weight.begin(c, stream, p.weight.data, p.weight.storage);
  made->out.begin(c, stream, p.out.data);
  if (p.addend)  // the sum is made where the result is
    strided_copy(made->out.argument().get_data_handle(), channels_last_strides(p.out.shape), p.addend->data,
                 p.addend->strides, p.out.shape, p.addend->dtype);
  made->scale.set_data_handle(const_cast<float*>(scales_for(c, p)));
  made->shift.set_data_handle(const_cast<float*>(p.shift));
  if (made->scratch_bytes > 0) made->scratch.set_data_handle(c.workspace(made->scratch_bytes));
  made->primitive.execute(stream, made->arguments);
  made->out.end(stream);
  stream.wait();
  return true;
}

}  // namespace headrace
