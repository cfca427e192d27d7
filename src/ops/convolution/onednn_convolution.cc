#include "ops/convolution/onednn_convolution.h"

#include "engine/runtime.h"
#include "op/kernel.h"
#include "ops/convolution/onednn_images.h"

namespace headrace {
namespace {

using dnnl::memory;
using onednn::channels_last;
using onednn::given;
using onednn::Operand;

struct Prepared {
  dnnl::primitive primitive;
  Operand data, weight, out, sum;
  memory bias, scale, shift, scratch;
  size_t scratch_bytes = 0;
  std::unordered_map<int, memory> arguments;
};

void append(onednn::Key& key, const Image& image) {
  for (int64_t extent : image.shape) key.push_back(extent);
  for (int64_t stride : image.strides) key.push_back(stride);
}

onednn::Key key_of(const ConvolutionProblem& p, int width) {
  onednn::Key key{width, static_cast<int64_t>(p.pass), static_cast<int64_t>(p.dtype()),
                  (p.bias ? 1 : 0) | (p.after.relu ? 2 : 0) | (p.after.sum ? 4 : 0) | (p.after.scale ? 8 : 0),
                  p.window.groups};
  for (const Image* image : {&p.data, &p.weight, &p.out}) append(key, *image);
  if (p.after.sum) append(key, *p.after.sum);
  for (const Shape* numbers : {&p.window.stride, &p.window.dilate, &p.window.pad})
    for (int64_t number : *numbers) key.push_back(number);
  return key;
}

// One float32 number per channel of the result.
memory::desc per_channel(const Image& out) {
  memory::dims dims(out.shape.size(), 1), strides(out.shape.size(), out.shape[1]);
  dims[1] = out.shape[1];
  strides[1] = 1;
  return {dims, memory::data_type::f32, strides};
}

// The descriptions from which a primitive is made.
struct Request {
  memory::desc data, weight, out, bias;
  memory::dims stride, dilate, pad, pad_end;
  dnnl::primitive_attr attributes;
  Image split_weight;

  explicit Request(const ConvolutionProblem& p)
      : data(channels_last(p.data)),
        out(channels_last(p.out)),
        split_weight(onednn::with_group_axis(p.weight, p.window.groups)) {
    const auto type = onednn::type_of(p.dtype());
    weight = memory::desc({split_weight.shape.begin(), split_weight.shape.end()}, type, memory::format_tag::any);
    const bool has_bias = p.bias && p.pass != ConvolutionPass::kData;
    if (has_bias) bias = memory::desc({p.weight.shape[0]}, type, memory::format_tag::a);
    const Window& w = p.window;
    for (size_t i = 0; i < w.spatial(); ++i) {
      stride.push_back(w.stride[i]);
      dilate.push_back(w.dilate[i] - 1);
      pad.push_back(w.pad[i]);
      pad_end.push_back(p.pad_end(i));
    }
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops after;
    if (p.after.scale) {
      after.append_binary(dnnl::algorithm::binary_mul, per_channel(p.out));
      after.append_binary(dnnl::algorithm::binary_add, per_channel(p.out));
    }
    if (p.after.sum) after.append_binary(dnnl::algorithm::binary_add, channels_last(*p.after.sum));
    if (p.after.relu) after.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(after);
  }

  dnnl::convolution_forward::primitive_desc forward() const {
    return {onednn::cpu_engine(),
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::convolution_direct,
            data,
            weight,
            bias,
            out,
            stride,
            dilate,
            pad,
            pad_end,
            attributes,
            true};
  }
  // What the descriptions of the backward passes are made from.
  dnnl::convolution_forward::primitive_desc hint() const {
    return {onednn::cpu_engine(),
            dnnl::prop_kind::forward_training,
            dnnl::algorithm::convolution_direct,
            data,
            weight,
            out,
            stride,
            dilate,
            pad,
            pad_end,
            dnnl::primitive_attr(),
            true};
  }
  dnnl::convolution_backward_data::primitive_desc backward_data() const {
    const auto hinted = hint();
    if (!hinted) return {};
    return {onednn::cpu_engine(),
            dnnl::algorithm::convolution_direct,
            data,
            weight,
            out,
            stride,
            dilate,
            pad,
            pad_end,
            hinted,
            attributes,
            true};
  }
  dnnl::convolution_backward_weights::primitive_desc backward_weights() const {
    const auto hinted = hint();
    if (!hinted) return {};
    return {onednn::cpu_engine(),
            dnnl::algorithm::convolution_direct,
            data,
            weight,
            bias,
            out,
            stride,
            dilate,
            pad,
            pad_end,
            hinted,
            attributes,
            true};
  }
};

// The primitive of a description with its scratch memory; the weights as it wants them.
template <class Primitive, class Description>
void take(Prepared& made, const Description& description) {
  made.primitive = Primitive(description);
  made.scratch = memory(description.scratchpad_desc(), onednn::cpu_engine(), nullptr);
  made.scratch_bytes = description.scratchpad_desc().get_size();
  made.arguments.emplace(DNNL_ARG_SCRATCHPAD, made.scratch);
}

// Null when oneDNN has no implementation.
std::unique_ptr<Prepared> prepare(const ConvolutionProblem& p) {
  const Request request(p);
  auto made = std::make_unique<Prepared>();
  memory::desc weight;
  const auto make = [&]<class Primitive>(const auto& description, auto weights_of) {
    if (!description) return false;
    take<Primitive>(*made, description);
    weight = weights_of(description);
    return true;
  };
  bool known = false;
  if (p.pass == ConvolutionPass::kForward)
    known = make.operator()<dnnl::convolution_forward>(request.forward(), [](auto& d) { return d.weights_desc(); });
  else if (p.pass == ConvolutionPass::kData)
    known = make.operator()<dnnl::convolution_backward_data>(request.backward_data(),
                                                             [](auto& d) { return d.weights_desc(); });
  else
    known = make.operator()<dnnl::convolution_backward_weights>(request.backward_weights(),
                                                                [](auto& d) { return d.diff_weights_desc(); });
  if (!known) return nullptr;
  made->data = Operand(given(p.data), request.data, p.pass == ConvolutionPass::kData);
  made->weight = Operand(given(request.split_weight), weight, p.pass == ConvolutionPass::kWeight);
  made->out = Operand(given(p.out), request.out, p.pass == ConvolutionPass::kForward);
  const auto& after = p.after;
  if (after.scale) {
    made->scale = memory(per_channel(p.out), onednn::cpu_engine(), nullptr);
    made->shift = memory(per_channel(p.out), onednn::cpu_engine(), nullptr);
  }
  if (after.sum) made->sum = Operand(given(*after.sum), channels_last(*after.sum), false);
  if (request.bias) made->bias = memory(request.bias, onednn::cpu_engine(), nullptr);
  return made;
}

void name_arguments(Prepared& made, const ConvolutionProblem& p) {
  auto& arguments = made.arguments;
  const bool data = p.pass == ConvolutionPass::kData, weight = p.pass == ConvolutionPass::kWeight;
  arguments.emplace(data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, made.data.argument());
  arguments.emplace(weight ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, made.weight.argument());
  arguments.emplace(data || weight ? DNNL_ARG_DIFF_DST : DNNL_ARG_DST, made.out.argument());
  int place = 0;
  const auto add_operand = [&](const memory& operand) {
    arguments.emplace(DNNL_ARG_ATTR_MULTIPLE_POST_OP(place++) | DNNL_ARG_SRC_1, operand);
  };
  if (p.after.scale) {
    add_operand(made.scale);
    add_operand(made.shift);
  }
  if (p.after.sum) add_operand(made.sum.argument());
  if (made.bias) arguments.emplace(weight ? DNNL_ARG_DIFF_BIAS : DNNL_ARG_BIAS, made.bias);
}

}  // namespace

bool onednn_convolution(KernelContext& context, const ConvolutionProblem& p, int width) {
  auto& cache = thread_service<onednn::ThreadCache<Prepared>>();
  Prepared* made = cache.get(key_of(p, width), [&] {
    std::unique_ptr<Prepared> fresh = prepare(p);
    if (fresh) name_arguments(*fresh, p);
    return fresh;
  });
  if (!made) return false;
  dnnl::stream& stream = onednn::thread_stream();
  made->data.begin(context, stream, p.data.data);
  made->weight.begin(context, stream, p.weight.data, p.weight.storage);
  made->out.begin(context, stream, p.out.data);
  if (p.after.scale) {
    made->scale.set_data_handle(const_cast<void*>(p.after.scale));
    made->shift.set_data_handle(const_cast<void*>(p.after.shift));
  }
  if (p.after.sum) made->sum.begin(context, stream, p.after.sum->data);
  if (made->bias) made->bias.set_data_handle(p.bias);
  if (made->scratch_bytes > 0) made->scratch.set_data_handle(context.workspace(made->scratch_bytes));
  made->primitive.execute(stream, made->arguments);
  for (Operand* operand : {&made->data, &made->weight, &made->out}) operand->end(stream);
  stream.wait();
  return true;
}

}  // namespace headrace
