#include "ops/onednn.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "engine/runtime.h"
#include "ndarray/layout_copies.h"
#include "op/kernel.h"
#include "ops/onednn_isa.h"

namespace headrace::onednn {

size_t KeyHash::operator()(const Key& key) const noexcept {
  uint64_t hash = 1469598103934665603ull;
  for (int64_t value : key) hash = (hash ^ static_cast<uint64_t>(value)) * 1099511628211ull;
  return static_cast<size_t>(hash ^ (hash >> 32));
}

dnnl::memory::data_type type_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBfloat16:
      return dnnl::memory::data_type::bf16;
    case DType::kFloat16:
      return dnnl::memory::data_type::f16;
    case DType::kInt8:
      return dnnl::memory::data_type::s8;
    case DType::kUint8:
      return dnnl::memory::data_type::u8;
    case DType::kInt32:
      return dnnl::memory::data_type::s32;
    default:
      return dnnl::memory::data_type::f32;
  }
}

void end_tasks_before_what_is_there() {
  std::atexit([] { runtime().shutdown(); });
}

dnnl::engine& cpu_engine() {
  struct Cpu {
    dnnl::engine engine;
    Cpu() {
      avoid_unusable_instructions();
      engine = dnnl::engine(dnnl::engine::kind::cpu, 0);
      // The library's caches are made with a first primitive.
      const dnnl::memory::desc one({1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a);
      const dnnl::eltwise_forward::primitive_desc relu(engine, dnnl::prop_kind::forward_inference,
                                                       dnnl::algorithm::eltwise_relu, one, one);
      static_cast<void>(dnnl::eltwise_forward(relu));
      end_tasks_before_what_is_there();
    }
  };
  return service<Cpu>().engine;
}

bool has_instructions(dnnl::cpu_isa set) {
  static const auto kAll = [] {
    cpu_engine();  // it may keep the library from some
    return static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  }();
  const auto wanted = static_cast<unsigned>(set);
  return (kAll & wanted) == wanted;
}

dnnl::stream& thread_stream() {
  struct Stream {
    dnnl::stream stream{cpu_engine()};
  };
  return thread_service<Stream>().stream;
}

namespace {

// Two layouts as bytes: equal exactly for equal layouts. Empty for formats that say nothing about themselves.
std::string name_of(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted) {
  std::string name;
  for (const dnnl::memory::desc* desc : {&given, &wanted}) {
    if (desc->get_format_kind() != dnnl::memory::format_kind::blocked) return {};
    const auto add = [&](const dnnl::memory::dims& numbers) {
      name.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0]));
      name += '|';
    };
    add({static_cast<int64_t>(desc->get_data_type()), static_cast<int64_t>(desc->get_submemory_offset())});
    add(desc->get_dims());
    add(desc->get_padded_dims());
    add(desc->get_strides());
    add(desc->get_inner_idxs());
    add(desc->get_inner_blks());
    add({static_cast<int64_t>(desc->get_size())});  // what comes behind the elements of some
  }
  return name;
}

}  // namespace

namespace {

// The library has a table of reorders for each pair of dtypes.
void note_reorder(dnnl::memory::data_type from, dnnl::memory::data_type to) {
  static std::atomic<uint64_t> known{0};
  const uint64_t pair = uint64_t{1} << (static_cast<unsigned>(from) % 8 * 8 + static_cast<unsigned>(to) % 8);
  if (!(known.fetch_or(pair, std::memory_order_relaxed) & pair)) end_tasks_before_what_is_there();
}

}  // namespace

Operand::Operand(const dnnl::memory::desc& given, const dnnl::memory::desc& wanted, bool is_written, float factor)
    : given_(given, cpu_engine(), nullptr), wanted_(given_), is_written_(is_written) {
  if (given == wanted && factor == 1) return;
  wanted_ = dnnl::memory(wanted, cpu_engine(), nullptr);
  dnnl::primitive_attr attributes;
  if (factor != 1) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    factor_ = dnnl::memory({{1}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a}, cpu_engine());
    *static_cast<float*>(factor_.get_data_handle()) = factor;
  }
  reorder_ = is_written ? dnnl::reorder(wanted_, given_) : dnnl::reorder(given_, wanted_, attributes);
  note_reorder(given.get_data_type(), wanted.get_data_type());
  bytes_ = wanted.get_size();
  name_ = name_of(given, wanted);
  if (!name_.empty()) name_.append(reinterpret_cast<const char*>(&factor), sizeof(factor));
}

void Operand::reorder_input(dnnl::stream& stream) {
  std::unordered_map<int, dnnl::memory> arguments{{DNNL_ARG_FROM, given_}, {DNNL_ARG_TO, wanted_}};
  if (factor_) arguments.emplace(DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, factor_);
  reorder_.execute(stream, arguments);
}

bool Operand::begin_kept(dnnl::stream& stream, void* data, Storage* storage) {
  given_.set_data_handle(data);
  if (bytes_ == 0) return true;
  LayoutCopies* const copies = storage && !is_written_ && !name_.empty() ? storage->copies() : nullptr;
  const LayoutCopies::Found found = copies ? copies->find(data, name_) : LayoutCopies::Found{};
  if (!found.data && !found.is_worth_keeping) return false;
  const auto fill = [&](void* to) {
    wanted_.set_data_handle(to);
    reorder_input(stream);
    stream.wait();
  };
  wanted_.set_data_handle(found.data ? found.data : copies->keep(data, name_, bytes_, fill));
  return true;
}

void Operand::begin(KernelContext& context, dnnl::stream& stream, void* data, Storage* storage) {
  if (begin_kept(stream, data, storage)) return;
  wanted_.set_data_handle(context.workspace(bytes_));
  if (!is_written_) reorder_input(stream);
}

void Operand::end(dnnl::stream& stream) {
  if (bytes_ > 0 && is_written_) reorder_.execute(stream, wanted_, given_);
}

namespace {

// Axes of one element may have any stride, but oneDNN knows a layout by those that its name implies.
dnnl::memory::dims named_strides(const Shape& shape, const Strides& strides, int64_t reach) {
  Strides named = strides;
  if (is_channels_last(shape, strides)) {
    named = channels_last_strides(shape);
  } else if (is_contiguous(shape, strides)) {
    named = contiguous_strides(shape);
  } else {
    for (size_t i = 0; i < shape.size(); ++i)
      if (shape[i] == 1) named[i] = reach;
  }
  return {named.begin(), named.end()};
}

}  // namespace

std::optional<dnnl::memory::desc> describe(const Shape& shape, const Strides& strides, DType dtype) {
  SmallVector<size_t, 8> order;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) order.push_back(i);
  std::ranges::sort(order, {}, [&](size_t i) { return strides[i]; });
  int64_t reach = 1;
  for (size_t i : order) {
    if (strides[i] < reach) return std::nullopt;
    reach = strides[i] * shape[i];
  }
  const dnnl::memory::dims dims(shape.begin(), shape.end());
  const dnnl::memory::desc described(dims, type_of(dtype), named_strides(shape, strides, reach), true);
  if (!described) return std::nullopt;
  return described;
}

}  // namespace headrace::onednn
