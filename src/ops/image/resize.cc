// Images made larger or smaller: UpSampling, BilinearResize2D, AdaptiveAvgPooling2D, Crop.

#include "base/check.h"
#include "op/gradient.h"
#include "op/invoke.h"
#include "op/rule.h"
#include "ops/image/resample.h"

namespace headrace {
namespace {

void check_images(const char* name, const NDArray& x) {
  check(x.ndim() == 4, ErrorKind::kRuntime,
        "{}: data must have 4 dimensions (batch, channels, height, width), got shape {}", name, to_string(x.shape()));
  check(is_floating(x.dtype()), ErrorKind::kType, "{}: data must hold floats, got {}; convert it with astype", name,
        dtype_name(x.dtype()));
}

NDArray resampled(const NDArray& x, const char* kind, int64_t height, int64_t width) {
  static const OpDef& op = find_op("_resample2d");
  return call(op, make_attrs(ResampleAttrs{kind, x.shape()[2], x.shape()[3], height, width, false}), {x});
}

OpDef resample_operator() {
  using A = ResampleAttrs;
  return general<A>(
      {.name = "_resample2d",
       .doc = "Images (..., height, width) brought to another size.",
       .infer =
           [](Infer& i, const A& a) {
             Shape shape = i.shape(0);
             const size_t n = shape.size();
             const Shape from = a.transposed ? Shape{a.out_height, a.out_width} : Shape{a.height, a.width};
             const Shape to = a.transposed ? Shape{a.height, a.width} : Shape{a.out_height, a.out_width};
             i.require(n >= 2 && shape[n - 2] == from[0] && shape[n - 1] == from[1] && to[0] >= 0 && to[1] >= 0 &&
                           is_floating(i.dtype(0)) && (element_count(to) == 0 || element_count(from) > 0),
                       ErrorKind::kRuntime, "images of floats and size {} cannot become {}, got {} of shape {}",
                       to_string(from), to_string(to), dtype_name(i.dtype(0)), to_string(shape));
             shape[n - 2] = to[0];
             shape[n - 1] = to[1];
             i.cost(200 + static_cast<double>(i.size(0) + element_count(shape)) * 1.5);
             i.output(shape, i.dtype(0));
           },
       .kernel = [](KernelContext& c, const ResampleAttrs& a) { resample(c, a); },
       .gradient =
           [](Gradient& g, const A& a) {
             A other = a;
             other.transposed = !a.transposed;
             g.set(0, call(g.op(), make_attrs(other), {g.head()}));
           },
       .saves_inputs = kNothing,
       .samples = {Sample({uniform({2, 3, 4})}, make_attrs(A{"aligned", 3, 4, 5, 2, false})),
                   Sample({uniform({3, 4})}, make_attrs(A{"centred", 5, 2, 3, 4, true})),
                   Sample({uniform({3, 5})}, make_attrs(A{"mean", 3, 5, 2, 3, false})),
                   Sample({uniform({1, 2, 4})}, make_attrs(A{"nearest", 2, 4, 4, 4, false}))}});
}

// --- BilinearResize2D ------------------------------------------------------------------------------------------------

struct BilinearAttrs {
  int64_t height = 1, width = 1;
  std::optional<double> scale_height = {}, scale_width = {};
  std::string mode = "size";
  bool align_corners = true;
  static constexpr auto kFields =
      fields(field(&BilinearAttrs::height, "height", "Rows of the result, unless there is a scale_height.")
                 .between(1, kMostInt),
             field(&BilinearAttrs::width, "width", "Columns of the result, unless there is a scale_width.")
                 .between(1, kMostInt),
             field(&BilinearAttrs::scale_height, "scale_height", "Rows of the result for one row of data."),
             field(&BilinearAttrs::scale_width, "scale_width", "Columns of the result for one column of data."),
             field(&BilinearAttrs::mode, "mode",
                   "size: as the arguments say; odd_scale: by the scales, to odd extents; like: as the array `like`; "
                   "to_even_down ...: the nearest even or odd extent below or above.")
                 .one_of("size|odd_scale|like|to_even_down|to_even_up|to_odd_down|to_odd_up"),
             field(&BilinearAttrs::align_corners, "align_corners",
                   "Whether the centres of the corners coincide, rather than the borders."));
};

int64_t resized_extent(const BilinearAttrs& a, int64_t n, int64_t wanted, const std::optional<double>& scale) {
  const bool odd = n % 2 != 0;
  if (a.mode == "to_even_down") return odd ? n - 1 : n;
  if (a.mode == "to_even_up") return odd ? n + 1 : n;
  if (a.mode == "to_odd_down") return odd ? n : n - 1;
  if (a.mode == "to_odd_up") return odd ? n : n + 1;
  if (a.mode == "odd_scale") {
    check(scale.has_value(), ErrorKind::kValue,
          "BilinearResize2D: mode odd_scale needs scale_height and scale_width; pass both");
    return odd ? static_cast<int64_t>(static_cast<double>(n - 1) * *scale) + 1
               : static_cast<int64_t>(static_cast<double>(n) * *scale);
  }
  return scale ? static_cast<int64_t>(static_cast<double>(n) * *scale) : wanted;
}

std::vector<NDArray> bilinear_resize(std::span<const NDArray> in, const BilinearAttrs& a) {
  const NDArray& x = in[0];
  check_images("BilinearResize2D", x);
  check((a.mode == "like") == (in.size() == 2), ErrorKind::kValue,
        "BilinearResize2D: mode like, and only that, takes a second array `like`");
  int64_t height, width;
  if (a.mode == "like") {
    check(in[1].ndim() >= 2, ErrorKind::kRuntime, "BilinearResize2D: `like` needs 2 dimensions, got shape {}",
          to_string(in[1].shape()));
    height = in[1].shape()[in[1].ndim() - 2];
    width = in[1].shape()[in[1].ndim() - 1];
  } else {
    height = resized_extent(a, x.shape()[2], a.height, a.scale_height);
    width = resized_extent(a, x.shape()[3], a.width, a.scale_width);
  }
  check(height > 0 && width > 0, ErrorKind::kValue,
        "BilinearResize2D: the size of the result must be positive, got ({}, {})", height, width);
  check(x.shape()[2] > 0 && x.shape()[3] > 0, ErrorKind::kRuntime,
        "BilinearResize2D: images of shape {} have no elements", to_string(x.shape()));
  return {resampled(x, a.align_corners ? "aligned" : "centred", height, width)};
}

OpDef bilinear_resize_operator() {
  using A = BilinearAttrs;
  return general<A>(
      {.name = "_contrib_BilinearResize2D",
       .python = {"nd.contrib.BilinearResize2D"},
       .doc =
           "Images (batch, channels, height, width) brought to another size by linear interpolation along both axes. "
           "Raises MXNetError for data of another number of dimensions, ValueError for a size that is not positive.",
       .inputs = {"data", "like"},
       .optional_inputs = 1,
       .input_count = [](const A& a) -> size_t { return a.mode == "like" ? 2 : 1; },
       .compose = bilinear_resize,
       .samples = {Sample({uniform({2, 1, 3, 4})}, make_attrs(A{.height = 5, .width = 2})),
                   Sample({uniform({1, 2, 3, 4})}, make_attrs(A{.height = 7, .width = 6, .align_corners = false}))}});
}

// --- AdaptiveAvgPooling2D --------------------------------------------------------------------------------------------

struct AdaptiveAttrs {
  Shape output_size = {};
  static constexpr auto kFields = fields(field(&AdaptiveAttrs::output_size, "output_size",
                                               "Extents of the result: (height, width), one for both, or () for 1."));
};

OpDef adaptive_pooling() {
  using A = AdaptiveAttrs;
  return general<A>(
      {.name = "_contrib_AdaptiveAvgPooling2D",
       .python = {"nd.contrib.AdaptiveAvgPooling2D"},
       .doc =
           "Means over a grid of output_size regions of images (batch, channels, height, width). Raises MXNetError for "
           "data of another number of dimensions, ValueError for a size that is not positive.",
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         check_images("AdaptiveAvgPooling2D", in[0]);
         const Shape& size = a.output_size;
         check(size.size() <= 2, ErrorKind::kValue,
               "AdaptiveAvgPooling2D: output_size must have 1 or 2 numbers, got {}", to_string(size));
         const int64_t height = size.empty() ? 1 : size[0], width = size.empty() ? 1 : size[size.size() - 1];
         check(height > 0 && width > 0, ErrorKind::kValue,
               "AdaptiveAvgPooling2D: output_size must be positive, got ({}, {})", height, width);
         return {resampled(in[0], "mean", height, width)};
       },
       .samples = {uniform({2, 1, 3, 4}), Sample({uniform({1, 2, 7, 5})}, make_attrs(A{{3, 2}}))}});
}

// --- UpSampling ------------------------------------------------------------------------------------------------------

struct UpSamplingAttrs {
  int64_t scale = 1, num_filter = 0;
  std::string sample_type = "nearest", multi_input_mode = "concat";
  int64_t num_args = 0, workspace = 512;
  static constexpr auto kFields = fields(
      field(&UpSamplingAttrs::scale, "scale", "Rows and columns of the result for one of data.")
          .required()
          .between(1, kMostInt),
      field(&UpSamplingAttrs::num_filter, "num_filter", "Of bilinear: number of channels."),
      field(&UpSamplingAttrs::sample_type, "sample_type",
            "nearest: elements are repeated; bilinear: a transposed convolution with the second array as weight.")
          .required()
          .one_of("bilinear|nearest"),
      field(&UpSamplingAttrs::multi_input_mode, "multi_input_mode",
            "Of nearest: whether several results are joined along the channels or added.")
          .one_of("concat|sum"),
      field(&UpSamplingAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs(),
      field(&UpSamplingAttrs::workspace, "workspace", "Ignored; symbol files carry it."));
};

int64_t bilinear_kernel(const UpSamplingAttrs& a) { return 2 * a.scale - a.scale % 2; }

NDArray upsample_bilinear(std::span<const NDArray> in, const UpSamplingAttrs& a) {
  check(in.size() == 2, ErrorKind::kType, "UpSampling: bilinear needs data and weight, got {} array(s)", in.size());
  const int64_t kernel = bilinear_kernel(a), pad = a.scale / 2;
  return call("Deconvolution", {in[0], in[1]},
              {{"kernel", Shape{kernel, kernel}},
               {"stride", Shape{a.scale, a.scale}},
               {"pad", Shape{pad, pad}},
               {"num_filter", a.num_filter},
               {"num_group", a.num_filter},
               {"no_bias", true}});
}

NDArray upsample_nearest(std::span<const NDArray> in, const UpSamplingAttrs& a) {
  const int64_t height = in[0].shape()[2] * a.scale, width = in[0].shape()[3] * a.scale;
  std::vector<NDArray> results;
  for (const NDArray& x : in) {
    check_images("UpSampling", x);
    const int64_t h = x.shape()[2], w = x.shape()[3];
    check(h > 0 && w > 0 && height % h == 0 && width % w == 0 && height / h == width / w, ErrorKind::kRuntime,
          "UpSampling: images of {} rows and {} columns do not fit the result's {} and {} a whole number of times", h,
          w, height, width);
    results.push_back(resampled(x, "nearest", height, width));
  }
  if (results.size() == 1) return results[0];
  const bool joins = a.multi_input_mode == "concat";
  const OpDef& op = find_op(joins ? "Concat" : "add_n");
  return invoke_all(op, joins ? attrs_of(op, {{"dim", int64_t{1}}}) : op.default_attrs, results)[0];
}

OpDef upsampling() {
  using A = UpSamplingAttrs;
  return general<A>(
      {.name = "UpSampling",
       .python = {"nd.UpSampling"},
       .doc = "Images (batch, channels, height, width) made `scale` times as large. With nearest, several arrays are "
              "brought "
              "to the size of the first result and joined or added. Raises MXNetError for data of another number of "
              "dimensions or sizes that do not fit.",
       .variadic = true,
       .array_names = {.initial_values = {"", R"(["bilinear", {}])"}},
       .input_name = [](const A& a, size_t i) -> std::string {
         if (a.sample_type != "bilinear") return "";
         return i == 0 ? "data" : "weight";
       },
       .input_count = [](const A& a) { return static_cast<size_t>(a.sample_type == "bilinear" ? 2 : a.num_args); },
       .complete =
           [](Completion& c, const A& a) {
             if (!c.has_rank(0) || c.shape(0).size() != 4) return;
             const Shape& data = c.shape(0);
             const auto enlarged = [&](int64_t extent) {
               return extent == -1 ? -1 : multiply_extents(extent, a.scale, c.name());
             };
             const bool is_bilinear = a.sample_type == "bilinear";
             if (is_bilinear) c.set(1, Shape{data[1], 1, bilinear_kernel(a), bilinear_kernel(a)});
             const int64_t channels = is_bilinear || c.input_count() == 1 ? data[1] : -1;
             c.set_output(0, Shape{data[0], channels, enlarged(data[2]), enlarged(data[3])});
           },
       .compose = [](std::span<const NDArray> in, const A& a) -> std::vector<NDArray> {
         check(!in.empty(), ErrorKind::kType, "UpSampling: at least one array is needed");
         check(a.scale > 0, ErrorKind::kValue, "UpSampling: scale must be positive, got {}", a.scale);
         check_images("UpSampling", in[0]);
         return {a.sample_type == "bilinear" ? upsample_bilinear(in, a) : upsample_nearest(in, a)};
       },
       .samples = {Sample({uniform({1, 2, 3, 2})}, make_attrs(A{.scale = 2})),
                   Sample({uniform({1, 2, 2, 2}), uniform({1, 1, 4, 4})}, make_attrs(A{.scale = 2}))}});
}

// --- Crop ------------------------------------------------------------------------------------------------------------

struct CropAttrs {
  int64_t num_args = 1;
  Shape offset = {0, 0}, h_w = {0, 0};
  bool center_crop = false;
  static constexpr auto kFields = fields(
      field(&CropAttrs::num_args, "num_args", "Number of arrays; follows from the call.").counts_inputs().between(1, 3),
      field(&CropAttrs::offset, "offset", "First row and column that is kept."),
      field(&CropAttrs::h_w, "h_w", "Rows and columns of the result, unless a second array gives them."),
      field(&CropAttrs::center_crop, "center_crop", "Whether to keep the middle instead."));
};

std::vector<NDArray> legacy_crop(std::span<const NDArray> in, const CropAttrs& a) {
  check(in.size() == 1 || in.size() == 2, ErrorKind::kType, "Crop: 1 or 2 arrays are needed, got {}", in.size());
  for (const NDArray& x : in)
    check(x.ndim() == 4, ErrorKind::kRuntime, "Crop: arrays must have 4 dimensions, got shape {}",
          to_string(x.shape()));
  check(a.offset.size() == 2 && a.h_w.size() == 2, ErrorKind::kValue, "Crop: offset and h_w must have 2 numbers each");
  const Shape& shape = in[0].shape();
  OptionalInts begin{0, 0}, end{shape[0], shape[1]};
  for (size_t k = 0; k < 2; ++k) {
    const int64_t extent = in.size() == 2 ? in[1].shape()[2 + k] : a.h_w[k];
    const int64_t first = a.center_crop ? (shape[2 + k] - extent) / 2 : a.offset[k];
    check(extent > 0 && first >= 0 && first + extent <= shape[2 + k], ErrorKind::kRuntime,
          "Crop: {} from {} on does not fit axis {} of data {}", extent, first, 2 + k, to_string(shape));
    begin.push_back(first);
    end.push_back(first + extent);
  }
  return {call("slice", {in[0]}, {{"begin", begin}, {"end", end}})};
}

OpDef crop_operator() {
  using A = CropAttrs;
  return general<A>(
      {.name = "Crop",
       .python = {"nd.Crop"},
       .doc = "A part of images (batch, channels, height, width), of the size h_w or that of a second array. "
              "Raises MXNetError when the part does not fit.",
       .variadic = true,
       .compose = legacy_crop,
       .samples = {Sample({uniform({1, 2, 4, 3})}, make_attrs(A{.offset = {1, 0}, .h_w = {2, 2}}))}});
}

}  // namespace

Operators resize_operators() {
  return {resample_operator(), bilinear_resize_operator(), adaptive_pooling(), upsampling(), crop_operator()};
}

}  // namespace headrace
