// Random changes of the colours of images, and image.adjust_lighting.
//
// Numbers are drawn as MXNet draws them from its sequential state. A change is computed in float; results of integer
// dtypes are kept within their range and lose their fractions, after every one of several changes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/dtype_dispatch.h"
#include "op/formula/transfer.h"
#include "op/gradient.h"
#include "op/kernel.h"
#include "op/rule.h"
#include "ops/image/colors.h"
#include "ops/image/image_shape.h"
#include "ops/random/sampling.h"

namespace headrace {
namespace {

using colors::Pixels;

// The images of a call as floats, changed one after the other.
class Images {
 public:
  explicit Images(KernelContext& c) : to_(c.output(0)) {
    const Tensor& from = c.input(0);
    const bool in_place = to_.dtype == DType::kFloat32;
    values_ = {in_place ? to_.as<float>() : c.workspace<float>(from.size), static_cast<size_t>(from.size)};
    load_function(from.dtype, ComputeType::kFloat32)(values_.data(), from.data, 1, from.size);
    const Shape& shape = from.shape;
    const size_t ndim = shape.size();
    channels_ = static_cast<size_t>(shape[ndim - 1]);
    image_size_ = static_cast<size_t>(shape[ndim - 3] * shape[ndim - 2]) * channels_;
  }

  template <class Change>
  void apply(const Change& change) {
    for (size_t i = 0; i < values_.size(); i += image_size_) change(Pixels{values_.subspan(i, image_size_), channels_});
    settle();
  }

  void store() const {
    if (to_.dtype != DType::kFloat32)
      store_function(ComputeType::kFloat32, to_.dtype)(values_.data(), to_.data, 1, to_.size);
  }

 private:
  // What the values become in an array of the result's dtype.
  void settle() {
    if (is_floating(to_.dtype)) return;
    dispatch(to_.dtype, [&]<class T>() {
      if constexpr (std::is_integral_v<T>) {
        const auto least = static_cast<float>(std::numeric_limits<T>::lowest());
        auto most = static_cast<float>(std::numeric_limits<T>::max());
        if (sizeof(T) > 2) most = std::nextafter(most, 0.0f);  // rounded, it would be out of range
        for (float& value : values_) value = std::trunc(std::clamp(value, least, most));
      }
    });
  }

  const Tensor& to_;
  std::span<float> values_;
  size_t channels_, image_size_;
};

// As the C++ standard library draws a float of [low, high) from one word.
template <class Stream>
float between(Stream& stream, float low, float high) {
  return uniform01<float>(stream) * (high - low) + low;
}

void infer_change(Infer& i) {
  check_image(i.name(), i.shape(0));
  i.require(i.dtype(0) != DType::kBool, ErrorKind::kType, "images of numbers are needed, got bool; use astype");
  i.output(i.shape(0), i.dtype(0));
  i.cost(1000 + static_cast<double>(i.size(0)) * 3);
}

template <class A>
OpDef change(OpDef op, bool is_random) {
  const std::string name = op.name;
  op.name = "_image_" + name;
  op.aliases = {"_npx__image_" + name};
  op.python = {"nd.image." + name, "npx.image." + name};
  op.doc +=
      " Images (height, width, channels) with 1 or 3 channels (red, green, blue), or a batch of them that is "
      "changed as a whole. Results of integer dtypes stay within their range and lose their fractions. The "
      "gradient is passed on as it is. Raises MXNetError for other shapes, TypeError for bool.";
  op.complete = keep_shape;
  op.infer = [is_random](Infer& i, const A&) {
    infer_change(i);
    if (is_random) generators().draw(i, Streams::kSequential);
  };
  op.gradient = [](Gradient& g, const A&) { g.set(0, g.head()); };
  op.own_gradient = true;
  op.saves_inputs = kNothing;
  op.is_random = is_random;
  return general<A>(std::move(op));
}

// --- by one factor ---------------------------------------------------------------------------------------------------

struct FactorAttrs {
  double min_factor = 1, max_factor = 1;
  static constexpr auto kFields =
      fields(field(&FactorAttrs::min_factor, "min_factor", "Least factor.").required().between(0, kInf),
             field(&FactorAttrs::max_factor, "max_factor", "Largest factor.").required().between(0, kInf));
};

template <void (*kChange)(Pixels, float)>
OpDef by_factor(const char* name, std::string doc) {
  const auto attrs = make_attrs(FactorAttrs{0.5, 1.5});
  return change<FactorAttrs>({.name = name,
                              .doc = std::move(doc),
                              .kernel =
                                  [](KernelContext& c, const FactorAttrs& a) {
                                    float factor = 1;
                                    with_stream(c, [&](auto& stream) {
                                      factor = between(stream, static_cast<float>(a.min_factor),
                                                       static_cast<float>(a.max_factor));
                                    });
                                    Images images(c);
                                    images.apply([factor](Pixels image) { kChange(image, factor); });
                                    images.store();
                                  },
                              .samples = {Sample({uniform({2, 3, 3}, 0, 255)}, attrs),
                                          Sample({integers({2, 2, 2, 3}, 0, 255, DType::kUint8)}, attrs)}},
                             true);
}

// --- several in random order -----------------------------------------------------------------------------------------

struct JitterAttrs {
  double brightness = 0, contrast = 0, saturation = 0, hue = 0;
  static constexpr auto kFields =
      fields(field(&JitterAttrs::brightness, "brightness", "Its factor is within this of 1; 0: it stays.").required(),
             field(&JitterAttrs::contrast, "contrast", "Likewise.").required(),
             field(&JitterAttrs::saturation, "saturation", "Likewise.").required(),
             field(&JitterAttrs::hue, "hue", "It turns by up to this share of a circle.").required());
};

// The order that a shuffle of four gives.
template <class Stream>
std::array<int, 4> order_of_four(Stream& stream) {
  std::array<int, 4> order{0, 1, 2, 3};
  for (uint32_t i = 1; i < order.size(); ++i) std::swap(order[i], order[small_below(stream, i + 1)]);
  return order;
}

struct Step {
  void (*change)(Pixels, float);
  double amount;
  float middle;
};

void run_jitter(KernelContext& c, const JitterAttrs& a) {
  const std::array<Step, 4> steps{{{colors::brighten, a.brightness, 1},
                                   {colors::spread, a.contrast, 1},
                                   {colors::saturate, a.saturation, 1},
                                   {colors::turn, a.hue, 0}}};
  Images images(c);
  with_stream(c, [&](auto& stream) {
    for (int number : order_of_four(stream)) {
      const Step& step = steps[static_cast<size_t>(number)];
      if (!(step.amount > 0)) continue;
      const auto amount = static_cast<float>(step.amount);
      const float factor = step.middle + between(stream, -amount, amount);
      images.apply([&](Pixels image) { step.change(image, factor); });
    }
  });
  images.store();
}

OpDef color_jitter() {
  const auto attrs = make_attrs(JitterAttrs{0.3, 0.3, 0.3, 0.1});
  return change<JitterAttrs>(
      {.name = "random_color_jitter",
       .doc = "Changes brightness, contrast, saturation and hue by random amounts, in random order.",
       .kernel = run_jitter,
       .samples = {Sample({uniform({2, 3, 3}, 0, 255)}, attrs),
                   Sample({integers({2, 2, 2, 3}, 0, 255, DType::kUint8)}, attrs)}},
      true);
}

// --- lighting --------------------------------------------------------------------------------------------------------

struct LightingAttrs {
  Doubles alpha = {};
  static constexpr auto kFields =
      fields(field(&LightingAttrs::alpha, "alpha", "Three factors of the principal components of colours.").required());
};

struct RandomLightingAttrs {
  double alpha_std = 0.05;
  static constexpr auto kFields = fields(
      field(&RandomLightingAttrs::alpha_std, "alpha_std", "Standard deviation of the three factors.").between(0, kInf));
};

void add_light(KernelContext& c, const std::array<float, 3>& factors) {
  Images images(c);
  images.apply([&](Pixels image) { colors::light(image, factors); });
  images.store();
}

OpDef adjust_lighting() {
  using A = LightingAttrs;
  OpDef op = change<A>(
      {.name = "adjust_lighting",
       .doc = "Adds the principal components of the colours of ImageNet's images times `alpha`; gray "
              "images stay.",
       .kernel =
           [](KernelContext& c, const A& a) {
             add_light(
                 c, {static_cast<float>(a.alpha[0]), static_cast<float>(a.alpha[1]), static_cast<float>(a.alpha[2])});
           },
       .samples = {Sample({uniform({2, 3, 3}, 0, 255)}, make_attrs(A{{0.1, -0.2, 0.3}})),
                   Sample({integers({2, 2, 2, 3}, 0, 255, DType::kUint8)}, make_attrs(A{{0.5, 0.1, -0.1}}))}},
      false);
  op.infer = [](Infer& i, const A& a) {
    i.require(a.alpha.size() == 3, ErrorKind::kValue, "alpha must be three numbers, got {}", a.alpha.size());
    infer_change(i);
  };
  return op;
}

OpDef random_lighting() {
  using A = RandomLightingAttrs;
  return change<A>(
      {.name = "random_lighting",
       .doc = "image.adjust_lighting with normal factors.",
       .kernel =
           [](KernelContext& c, const A& a) {
             std::array<float, 3> factors{};
             const auto deviation = static_cast<float>(a.alpha_std);
             with_stream(c, [&](auto& stream) {
               const auto [first, second] = normal_pair<float>(stream);
               factors = {first * deviation, second * deviation, normal01<float>(stream) * deviation};
             });
             add_light(c, factors);
           },
       .samples = {Sample({uniform({2, 3, 3}, 0, 255)}), Sample({integers({2, 2, 2, 3}, 0, 255, DType::kUint8)})}},
      true);
}

}  // namespace

Operators image_jitter_operators() {
  return {by_factor<colors::brighten>("random_brightness",
                                      "Multiplies all values by a random factor of [min_factor, max_factor)."),
          by_factor<colors::spread>("random_contrast",
                                    "Multiplies the differences from the mean gray of each image by a random factor "
                                    "of [min_factor, max_factor)."),
          by_factor<colors::saturate>("random_saturation",
                                      "Multiplies the differences from each pixel's gray by a random factor of "
                                      "[min_factor, max_factor); gray images stay."),
          by_factor<colors::turn>("random_hue",
                                  "Turns the hue by a random share of the circle of [min_factor, max_factor); gray "
                                  "images stay."),
          color_jitter(),
          adjust_lighting(),
          random_lighting()};
}

}  // namespace headrace
