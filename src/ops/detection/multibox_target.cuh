// What a single-shot detector is to learn of the objects in its images.
#pragma once

#include <cstdint>

namespace headrace::device {

constexpr unsigned kTargetThreads = 256;  // of the block that works on one image, as in op/device/group.cuh

// An anchor and an object, by their place among the shares of an image.
struct SharedMost {
  float share;
  int64_t at;
};

// As ops/detection/multibox_target.h has it.
struct TargetArguments {
  const void* anchors;
  const void* labels;
  const void* predictions;
  void *boxes, *masks, *kinds;
  float* shares;   // (images, anchors, objects): what each anchor shares with each object
  int64_t* best;   // (images, anchors): the object of each, or one of the two below
  uint8_t* taken;  // (images, objects): have an anchor
  SharedMost* nearest;  // (images, objects): the anchor without an object that shares most with each
  // (images, anchors): how sure the network is of the background; NaN: does not count. Null: no mining.
  float* hardness;
  const int64_t* order;  // (images, anchors): the smallest hardness first
  int64_t* wrong;        // (images): the list of labels does not end as it should
  int64_t images, anchors_of_image, most_objects, width, classes;
  double threshold, ignore_label, mining_ratio, mining_threshold;
  float variances[4];
};

constexpr int64_t kNoObject = -1, kIsBackground = -2;

}  // namespace headrace::device

#ifdef HEADRACE_DEVICE_CODE
#include <cmath>
#include <limits>

#include "op/device/group.cuh"
#include "ops/detection/box_overlap.h"

namespace headrace::device {

// Of equal ones the first.
struct MoreShared {
  SharedMost operator()(const SharedMost& a, const SharedMost& b) const {
    if (b.at < 0 || a.at < 0) return b.at < 0 ? a : b;
    return b.share > a.share || (b.share == a.share && b.at < a.at) ? b : a;
  }
};

// The image that a block works on.
template <class Compute, class T>
struct TargetImage {
  const TargetArguments& a;
  const int64_t number, count;
  int64_t objects = 0;

  TargetImage(const TargetArguments& arguments, int64_t n) : a(arguments), number(n), count(a.anchors_of_image) {
    while (objects < a.most_objects && label(objects, 0) != -1) ++objects;
  }

  Compute label(int64_t k, int64_t at) const {
    return numeric_cast<Compute>(static_cast<const T*>(a.labels)[(number * a.most_objects + k) * a.width + at]);
  }
  Compute anchor(int64_t j, int64_t at) const {
    return numeric_cast<Compute>(static_cast<const T*>(a.anchors)[4 * j + at]);
  }
  float* shares() const { return a.shares + number * count * a.most_objects; }
  int64_t* best() const { return a.best + number * count; }
  uint8_t* taken() const { return a.taken + number * a.most_objects; }
  SharedMost* nearest() const { return a.nearest + number * a.most_objects; }

  bool ends_wrong() const {
    bool is_wrong = false;
    for (int k = 1; objects < a.most_objects && k < 5; ++k) is_wrong |= label(objects, k) != -1;
    return is_wrong;
  }
  float share(int64_t j, int64_t k) const {
    Compute own[4], other[4];
    for (int i = 0; i < 4; ++i) {
      own[i] = anchor(j, i);
      other[i] = label(k, i + 1);
    }
    return static_cast<float>(overlap(own, other, BoxFormat::kCorner));
  }
  int64_t most_shared(int64_t j) const {
    int64_t found = -1;
    float most = -1;
    for (int64_t k = 0; k < objects; ++k)
      if (shares()[j * objects + k] > most) {
        most = shares()[j * objects + k];
        found = k;
      }
    return found;
  }
  // The block finds the anchor without an object that shares most with object k.
  void find_nearest(int64_t k) const {
    SharedMost most{1e-6f, -1};
    for (int64_t j = threadIdx.x; j < count; j += kBlockThreads) {
      const int64_t at = j * objects + k;
      if (best()[j] == kNoObject && shares()[at] > most.share) most = {shares()[at], at};
    }
    most = Group<kBlockThreads>::combined(most, MoreShared());
    if (threadIdx.x == 0) nearest()[k] = most;
  }
  float background_probability(int64_t j) const {
    const T* const scores = static_cast<const T*>(a.predictions) + number * a.classes * count + j;
    const auto score = [&](int64_t k) { return numeric_cast<Compute>(scores[k * count]); };
    Compute most = score(0), sum = 0;
    for (int64_t k = 1; k < a.classes; ++k) most = most < score(k) ? score(k) : most;
    for (int64_t k = 0; k < a.classes; ++k) sum += std::exp(score(k) - most);
    return static_cast<float>(std::exp(score(0) - most) / sum);
  }
};

// Each object has the anchor that shares most with it, the best pair first; then other anchors have the object that
// they share most with, if that is enough.
template <class Compute, class T>
inline void match_anchors(const TargetArguments& a) {
  for (int64_t n = blockIdx.x; n < a.images; n += gridDim.x) {
    const TargetImage<Compute, T> image(a, n);
    if (threadIdx.x == 0) a.wrong[n] = image.ends_wrong();
    const int64_t pairs = image.count * image.objects;
    for (int64_t i = threadIdx.x; i < pairs; i += kBlockThreads)
      image.shares()[i] = image.share(i / image.objects, i % image.objects);
    for (int64_t j = threadIdx.x; j < image.count; j += kBlockThreads) image.best()[j] = kNoObject;
    for (int64_t k = threadIdx.x; k < image.objects; k += kBlockThreads) image.taken()[k] = 0;
    __syncthreads();
    for (int64_t k = 0; k < image.objects; ++k) image.find_nearest(k);
    __syncthreads();
    for (int64_t round = 0; round < image.objects; ++round) {
      SharedMost most{1e-6f, -1};
      for (int64_t k = threadIdx.x; k < image.objects; k += kBlockThreads)
        if (!image.taken()[k]) most = MoreShared()(most, image.nearest()[k]);
      most = Group<kBlockThreads>::combined(most, MoreShared());
      if (most.at < 0) break;  // for all threads alike, as all that follows
      const int64_t anchor = most.at / image.objects, own = most.at % image.objects;
      __syncthreads();  // all have seen what is about to change
      if (threadIdx.x == 0) {
        image.best()[anchor] = own;
        image.taken()[own] = 1;
      }
      __syncthreads();
      for (int64_t k = 0; k < image.objects; ++k) {
        const int64_t nearest = image.nearest()[k].at;
        if (!image.taken()[k] && nearest >= 0 && nearest / image.objects == anchor) image.find_nearest(k);
      }
      __syncthreads();
    }
    for (int64_t j = threadIdx.x; j < image.count; j += kBlockThreads) {
      const int64_t k = image.most_shared(j);
      const float share = k < 0 ? 0 : image.shares()[j * image.objects + k];
      if (image.best()[j] == kNoObject && k >= 0 && a.threshold > 0 && share > static_cast<float>(a.threshold))
        image.best()[j] = k;
      if (!a.hardness) continue;
      const bool counts = image.best()[j] == kNoObject && k >= 0 && share < static_cast<float>(a.mining_threshold);
      a.hardness[n * image.count + j] =
          counts ? image.background_probability(j) : std::numeric_limits<float>::quiet_NaN();
    }
    __syncthreads();
  }
}

// Of the anchors without an object those are background of which the network is least sure, or all.
template <class Compute, class T>
inline void choose_background(const TargetImage<Compute, T>& image) {
  const TargetArguments& a = image.a;
  int64_t mine = 0, candidates = 0;
  for (int64_t j = threadIdx.x; j < image.count; j += kBlockThreads) {
    if (!a.hardness && image.best()[j] == kNoObject) image.best()[j] = kIsBackground;
    mine += image.best()[j] >= 0 ? 1 : 0;
    if (a.hardness) candidates += a.hardness[image.number * image.count + j] >= 0 ? 1 : 0;
  }
  const auto objects = static_cast<double>(Group<kBlockThreads>::combined(mine, Plus()));
  candidates = Group<kBlockThreads>::combined(candidates, Plus());
  if (!a.hardness) return;
  const double rest = static_cast<double>(image.count) - objects, wanted = objects * a.mining_ratio;
  const auto most = static_cast<int64_t>(wanted < rest ? wanted : rest);
  const int64_t* const order = a.order + image.number * image.count;
  for (int64_t i = threadIdx.x; i < (candidates < most ? candidates : most); i += kBlockThreads)
    image.best()[order[i]] = kIsBackground;
}

// In float whatever the arrays hold.
template <class Compute, class T>
inline void write_targets(const TargetArguments& a) {
  for (int64_t n = blockIdx.x; n < a.images; n += gridDim.x) {
    const TargetImage<Compute, T> image(a, n);
    choose_background(image);
    __syncthreads();
    for (int64_t j = threadIdx.x; j < image.count; j += kBlockThreads) {
      const int64_t place = n * image.count + j, k = image.objects == 0 ? kNoObject : image.best()[j];
      T* const box = static_cast<T*>(a.boxes) + 4 * place;
      for (int i = 0; i < 4; ++i) {
        static_cast<T*>(a.masks)[4 * place + i] = numeric_cast<T>(Compute{k >= 0 ? Compute{1} : Compute{0}});
        box[i] = numeric_cast<T>(Compute{0});
      }
      Compute kind = static_cast<Compute>(a.ignore_label);
      if (k == kIsBackground) kind = 0;
      if (k >= 0) kind = image.label(k, 0) + 1;
      static_cast<T*>(a.kinds)[place] = numeric_cast<T>(kind);
      if (k < 0) continue;
      float own[4], other[4];
      for (int i = 0; i < 4; ++i) {
        own[i] = static_cast<float>(image.anchor(j, i));
        other[i] = static_cast<float>(image.label(k, i + 1));
      }
      for (int axis = 0; axis < 2; ++axis) {
        const Side<float> learned = relative(side_of(other + axis), side_of(own + axis));
        box[axis] = numeric_cast<T>(learned.place / a.variances[axis]);
        box[axis + 2] = numeric_cast<T>(learned.size / a.variances[axis + 2]);
      }
    }
    __syncthreads();
  }
}

}  // namespace headrace::device
#endif
