#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <memory>

#include "backend/cuda/cuda_stream.h"
#include "backend/cuda/pinned_memory.h"
#include "base/dtype_dispatch.h"
#include "op/formula/numeric_cast.h"
#include "op/kernel_table.h"
#include "op/launch_cuda.h"
#include "ops/creation/creation.cuh"
#include "ops/creation/creation.h"

namespace headrace {
namespace {

constexpr const char* kHeader = "ops/creation/creation.cuh";

void fill_cuda(KernelContext&, const Tensor& output, const Number& value) {
  if (output.size == 0) return;
  device::FillArguments arguments{output.data, output.size, 0};
  dispatch(output.dtype, [&]<class T>() {
    const T converted = std::visit([](auto number) { return numeric_cast<T>(number); }, value);
    std::memcpy(&arguments.bits, &converted, sizeof converted);
  });
  launch_cuda({kHeader, fmt::format("fill<{}>", bits_name(output.dtype)), "FillArguments"}, grid_of(output.size),
              arguments);
}

uint64_t bits_of(const Number& number) {
  return std::visit([](auto value) { return std::bit_cast<uint64_t>(value); }, number);
}

void fill_progression_cuda(KernelContext&, const Tensor& output, const Progression& p) {
  if (output.size == 0) return;
  const device::ProgressionArguments arguments{output.data, output.size, p.repeat, bits_of(p.start), bits_of(p.step)};
  const char* const type = std::holds_alternative<double>(p.start) ? "double" : "int64_t";
  launch_cuda(
      {kHeader, fmt::format("fill_progression<{}, {}>", element_name(output.dtype), type), "ProgressionArguments"},
      grid_of(output.size), arguments);
}

void copy_triangle_cuda(KernelContext&, const Tensor& input, const Tensor& output, int64_t k, bool lower) {
  if (output.size == 0) return;
  const device::TriangleArguments arguments{input.data,
                                            output.data,
                                            output.size,
                                            output.shape[output.shape.size() - 2],
                                            output.shape.back(),
                                            k,
                                            input.shape.size() == 1};
  launch_cuda({kHeader, fmt::format("copy_triangle<{}, {}>", bits_name(output.dtype), lower), "TriangleArguments"},
              grid_of(output.size), arguments);
}

// They are computed while the work is launched, and copied when the stream has come to it.
template <class T>
void fill_with_cuda(KernelContext&, const Tensor& output, ValuesOf<T> values) {
  if (output.size == 0) return;
  const size_t bytes = static_cast<size_t>(output.size) * item_size(output.dtype);
  const auto here = std::make_shared<const PinnedBlock>(bytes);
  current_work()->hold(here);
  fill_with(Tensor{here->data(), output.dtype, output.shape, output.strides, output.size}, values);
  const Device gpu = current_device();
  current_cuda_stream().copy({gpu, output.data}, {{DeviceType::kCpuPinned, 0}, here->data()}, bytes);
}

}  // namespace

void add_creation_cuda(KernelTable& table) {
  table.set_part(fill, fill_cuda);
  table.set_part(fill_doubles, fill_with_cuda<double>);
  table.set_part(fill_integers, fill_with_cuda<int64_t>);
  table.set_part(fill_progression, fill_progression_cuda);
  table.set_part(copy_triangle, copy_triangle_cuda);
  table.set_own_kernels({"_zeros",        "_ones",         "_full",       "_nd_full",
                         "_nd_empty",     "_arange",       "_npi_zeros",  "_npi_ones",
                         "_npi_full",     "_np_empty",     "_npi_arange", "_contrib_arange_like",
                         "_linspace",     "_npi_linspace", "_eye",        "_npi_eye",
                         "_npi_identity", "_np_identity",  "_npi_tril",   "_npi_triu"});
  table.set_own_kernels({"_npi_logspace", "_npi_indices", "_npi_hanning", "_npi_hamming", "_npi_blackman",
                         "shape_array", "size_array", "_contrib_index_array", "_npi_diag_indices_from"});
  // Copies into what is filled first.
  table.set_own_kernels({"_basic_index_scatter", "_diagonal_scatter"});
}

}  // namespace headrace
