#include "ops/pooling/onednn_pooling.h"

#include "engine/runtime.h"
#include "op/kernel.h"
#include "ops/onednn.h"

namespace headrace {
namespace {

using dnnl::memory;
using onednn::Operand;

// The backward pass of a maximum starts with a forward pass that finds where the maxima are: cheaper than keeping that
// from the forward pass of the program, and nothing lives longer for it.
struct Prepared {
  dnnl::primitive forward, backward;
  Operand data, result, moving;
  memory dropped_result, places, scratch;  // places: of the maxima
  size_t scratch_bytes = 0;
  std::unordered_map<int, memory> forward_arguments, backward_arguments;
};

onednn::Key key_of(const PoolingProblem& p, int width) {
  onednn::Key key{width, static_cast<int64_t>(p.window.kind), p.window.counts_padding,
                  static_cast<int64_t>(p.data.dtype)};
  for (const Image* image : {&p.data, &p.result, &p.moving}) {
    for (int64_t extent : image->shape) key.push_back(extent);
    for (int64_t stride : image->strides) key.push_back(stride);
  }
  for (const Shape* numbers : {&p.window.kernel, &p.window.stride, &p.window.pad})
    for (int64_t number : *numbers) key.push_back(number);
  return key;
}

memory::desc given(const Image& image) { return *onednn::describe(image.shape, image.strides, image.dtype); }
memory::desc channels_last_desc(const Image& image) {
  return *onednn::describe(image.shape, channels_last_strides(image.shape), image.dtype);
}

struct Request {
  memory::desc data, result;
  memory::dims kernel, stride, dilate, pad, pad_end;
  dnnl::primitive_attr attributes;
  dnnl::algorithm algorithm = dnnl::algorithm::pooling_max;

  explicit Request(const PoolingProblem& p) : data(channels_last_desc(p.data)), result(channels_last_desc(p.result)) {
    const PoolWindow& w = p.window;
    for (size_t i = 0; i < w.kernel.size(); ++i) {
      kernel.push_back(w.kernel[i]);
      stride.push_back(w.stride[i]);
      dilate.push_back(0);
      pad.push_back(w.pad[i]);
      pad_end.push_back((p.result.shape[i + 2] - 1) * w.stride[i] + w.kernel[i] - p.data.shape[i + 2] - w.pad[i]);
    }
    if (w.kind == PoolKind::kAverage)
      algorithm = w.counts_padding ? dnnl::algorithm::pooling_avg_include_padding
                                   : dnnl::algorithm::pooling_avg_exclude_padding;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  }

  dnnl::pooling_forward::primitive_desc forward(dnnl::prop_kind kind) const {
    return {onednn::cpu_engine(), kind, algorithm, data, result, stride, kernel, dilate, pad, pad_end,
            attributes,           true};
  }
};

std::unique_ptr<Prepared> prepare_forward(const PoolingProblem& p) {
  const Request request(p);
  const auto description = request.forward(dnnl::prop_kind::forward_inference);
  if (!description) return nullptr;
  auto made = std::make_unique<Prepared>();
  made->forward = dnnl::pooling_forward(description);
  made->data = Operand(given(p.data), request.data, false);
  made->result = Operand(given(p.result), request.result, true);
  made->scratch = memory(description.scratchpad_desc(), onednn::cpu_engine(), nullptr);
  made->scratch_bytes = description.scratchpad_desc().get_size();
  made->forward_arguments = {{DNNL_ARG_SRC, made->data.argument()},
                             {DNNL_ARG_DST, made->result.argument()},
                             {DNNL_ARG_SCRATCHPAD, made->scratch}};
  return made;
}

std::unique_ptr<Prepared> prepare_backward(const PoolingProblem& p) {
  const Request request(p);
  const auto forward = request.forward(dnnl::prop_kind::forward_training);
  if (!forward) return nullptr;
  const dnnl::pooling_backward::primitive_desc backward(
      onednn::cpu_engine(), request.algorithm, request.data, request.result, request.stride, request.kernel,
      request.dilate, request.pad, request.pad_end, forward, request.attributes, true);
  if (!backward) return nullptr;
  auto made = std::make_unique<Prepared>();
  const dnnl::engine& engine = onednn::cpu_engine();
  made->backward = dnnl::pooling_backward(backward);
  made->result = Operand(given(p.result), request.result, false);
  made->moving = Operand(given(p.moving), request.data, true);
  made->scratch_bytes = std::max(forward.scratchpad_desc().get_size(), backward.scratchpad_desc().get_size());
  made->scratch = memory(forward.scratchpad_desc().get_size() == made->scratch_bytes ? forward.scratchpad_desc()
                                                                                     : backward.scratchpad_desc(),
                         engine, nullptr);
  made->backward_arguments = {{DNNL_ARG_DIFF_DST, made->result.argument()},
                              {DNNL_ARG_DIFF_SRC, made->moving.argument()},
                              {DNNL_ARG_SCRATCHPAD, made->scratch}};
  if (p.window.kind != PoolKind::kMax) return made;
  made->forward = dnnl::pooling_forward(forward);
  made->data = Operand(given(p.data), request.data, false);
  made->dropped_result = memory(request.result, engine, nullptr);
  made->places = memory(forward.workspace_desc(), engine, nullptr);
  made->forward_arguments = {{DNNL_ARG_SRC, made->data.argument()},
                             {DNNL_ARG_DST, made->dropped_result},
                             {DNNL_ARG_WORKSPACE, made->places},
                             {DNNL_ARG_SCRATCHPAD, made->scratch}};
  made->backward_arguments.emplace(DNNL_ARG_WORKSPACE, made->places);
  return made;
}

void give_workspace(KernelContext& context, memory& of) {
  if (const size_t bytes = of.get_desc().get_size()) of.set_data_handle(context.workspace(bytes));
}

struct ForwardCache : onednn::ThreadCache<Prepared> {};
struct BackwardCache : onednn::ThreadCache<Prepared> {};

}  // namespace

bool onednn_pooling(KernelContext& context, const PoolingProblem& p, int width) {
  auto& cache = thread_service<ForwardCache>();
  Prepared* made = cache.get(key_of(p, width), [&] { return prepare_forward(p); });
  if (!made) return false;
  dnnl::stream& stream = onednn::thread_stream();
  made->data.begin(context, stream, p.data.data);
  made->result.begin(context, stream, p.result.data);
  give_workspace(context, made->scratch);
  made->forward.execute(stream, made->forward_arguments);
  made->result.end(stream);
  stream.wait();
  return true;
}

bool onednn_pooling_back(KernelContext& context, const PoolingProblem& p, int width) {
  auto& cache = thread_service<BackwardCache>();
  Prepared* made = cache.get(key_of(p, width), [&] { return prepare_backward(p); });
  if (!made) return false;
  dnnl::stream& stream = onednn::thread_stream();
  made->result.begin(context, stream, p.result.data);
  made->moving.begin(context, stream, p.moving.data);
  give_workspace(context, made->scratch);
  if (made->forward) {
    made->data.begin(context, stream, p.data.data);
    give_workspace(context, made->dropped_result);
    give_workspace(context, made->places);
    made->forward.execute(stream, made->forward_arguments);
  }
  made->backward.execute(stream, made->backward_arguments);
  made->moving.end(stream);
  stream.wait();
  return true;
}

}  // namespace headrace
