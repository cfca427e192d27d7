#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "backend/cpu/parallel.h"
#include "base/check.h"
#include "ops/detection/boxes.h"
#include "ops/detection/multibox_target.h"

namespace headrace {
namespace {

enum class Role : uint8_t { kIgnored, kBackground, kObject };

// The anchors of one image.
template <class T>
class Matching {
 public:
  Matching(const T* anchors, int64_t count, const T* labels, int64_t objects, int64_t width)
      : labels_(labels),
        width_(width),
        count_(count),
        objects_(objects),
        roles_(static_cast<size_t>(count)),
        best_(static_cast<size_t>(count)),
        shares_(static_cast<size_t>(count * objects)) {
    for (int64_t j = 0; j < count; ++j)
      for (int64_t k = 0; k < objects; ++k) shares_[at(j, k)] = overlap(anchors + 4 * j, object(k), BoxFormat::kCorner);
  }

  // Each object has the anchor that shares most with it, the best pair first; then other anchors have the object that
  // they share most with, if that is enough.
  void match(double threshold) {
    std::vector<char> has_anchor(static_cast<size_t>(objects_), 0);
    for (int64_t round = 0; round < objects_; ++round) {
      int64_t anchor = -1, object = -1;
      float most = 1e-6f;
      for (int64_t j = 0; j < count_; ++j)
        for (int64_t k = 0; roles_[index(j)] != Role::kObject && k < objects_; ++k)
          if (!has_anchor[index(k)] && static_cast<float>(shares_[at(j, k)]) > most) {
            most = static_cast<float>(shares_[at(j, k)]);
            anchor = j;
            object = k;
          }
      if (anchor < 0) break;
      has_anchor[index(object)] = 1;
      take(anchor, object);
    }
    if (!(threshold > 0)) return;
    for (int64_t j = 0; j < count_; ++j) {
      if (roles_[index(j)] == Role::kObject) continue;
      const int64_t k = most_shared(j);
      if (k >= 0 && static_cast<float>(shares_[at(j, k)]) > static_cast<float>(threshold)) take(j, k);
    }
  }

  void take_rest_for_background() {
    for (Role& role : roles_)
      if (role != Role::kObject) role = Role::kBackground;
  }

  // Of the anchors that share little with objects, those of which the network is least sure that they are background.
  void mine(const T* predictions, int64_t classes, const TargetAttrs& a) {
    const int64_t objects = std::count(roles_.begin(), roles_.end(), Role::kObject);
    const auto wanted =
        std::min(static_cast<double>(objects) * a.negative_mining_ratio, static_cast<double>(count_ - objects));
    std::vector<std::pair<float, int64_t>> hardest;
    for (int64_t j = 0; j < count_; ++j) {
      if (roles_[index(j)] == Role::kObject) continue;
      const int64_t k = most_shared(j);
      if (k >= 0 && static_cast<float>(shares_[at(j, k)]) < static_cast<float>(a.negative_mining_thresh))
        hardest.emplace_back(background_probability(predictions + j, classes), j);
    }
    std::ranges::stable_sort(hardest, {}, &std::pair<float, int64_t>::first);
    for (size_t n = 0; n < std::min(hardest.size(), static_cast<size_t>(wanted)); ++n)
      roles_[index(hardest[n].second)] = Role::kBackground;
  }

  Role role(int64_t anchor) const { return roles_[index(anchor)]; }
  // The class and the corners of an anchor's object.
  const T* label_of(int64_t anchor) const { return labels_ + best_[index(anchor)] * width_; }

 private:
  static size_t index(int64_t i) { return static_cast<size_t>(i); }
  size_t at(int64_t anchor, int64_t object) const { return index(anchor * objects_ + object); }
  const T* object(int64_t k) const { return labels_ + k * width_ + 1; }

  void take(int64_t anchor, int64_t object) {
    roles_[index(anchor)] = Role::kObject;
    best_[index(anchor)] = object;
  }

  int64_t most_shared(int64_t anchor) const {
    int64_t best = -1;
    float most = -1;
    for (int64_t k = 0; k < objects_; ++k)
      if (static_cast<float>(shares_[at(anchor, k)]) > most) {
        most = static_cast<float>(shares_[at(anchor, k)]);
        best = k;
      }
    return best;
  }

  float background_probability(const T* scores, int64_t classes) const {
    T most = scores[0], sum = 0;
    for (int64_t k = 1; k < classes; ++k) most = std::max(most, scores[k * count_]);
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(scores[k * count_] - most);
    return static_cast<float>(std::exp(scores[0] - most) / sum);
  }

  const T* labels_;
  int64_t width_, count_, objects_;
  std::vector<Role> roles_;
  std::vector<int64_t> best_;
  std::vector<T> shares_;
};

// In float32 whatever the arrays hold, as MXNet has it.
template <class T>
void write_encoded_box(const T* anchor, const T* box, const Doubles& variances, T* out) {
  float corners[4], of_box[4];
  for (int k = 0; k < 4; ++k) {
    corners[k] = static_cast<float>(anchor[k]);
    of_box[k] = static_cast<float>(box[k]);
  }
  for (size_t axis : {0, 1}) {
    const Side<float> learned = relative(side_of(of_box + axis), side_of(corners + axis));
    out[axis] = static_cast<T>(learned.place / static_cast<float>(variances[axis]));
    out[axis + 2] = static_cast<T>(learned.size / static_cast<float>(variances[axis + 2]));
  }
}

// Labels up to the first of class -1.
template <class T>
int64_t object_count(const char* name, const T* labels, int64_t most, int64_t width) {
  for (int64_t k = 0; k < most; ++k) {
    const T* label = labels + k * width;
    if (label[0] != -1) continue;
    check(std::count(label + 1, label + 5, T{-1}) == 4, ErrorKind::kRuntime,
          "{}: a label of class -1 ends the list, so its coordinates must be -1, too", name);
    return k;
  }
  return most;
}

template <class T>
void write_anchor_targets(KernelContext& c, const TargetAttrs& a) {
  const Shape &label = c.input(TargetAttrs::kLabel).shape, &prediction = c.input(TargetAttrs::kPrediction).shape;
  const int64_t count = prediction[2], width = label[2], classes = prediction[1];
  const Reals<T> anchors(c.input(TargetAttrs::kAnchor)), labels(c.input(TargetAttrs::kLabel)),
      predictions(c.input(TargetAttrs::kPrediction));
  RealResult<T> boxes(c.output(0), 0), masks(c.output(1), 0), kinds(c.output(2), static_cast<T>(a.ignore_label));
  const double cost = 20.0 * static_cast<double>(label[0] * label[1] * count);
  parallel_for(label[0], 1, cost, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const T* own = labels.at(b * label[1] * width);
      const int64_t objects = object_count(c.name(), own, label[1], width);
      if (objects == 0) continue;
      Matching<T> matching(anchors.at(0), count, own, objects, width);
      matching.match(a.overlap_threshold);
      if (a.negative_mining_ratio > 0)
        matching.mine(predictions.at(b * classes * count), classes, a);
      else
        matching.take_rest_for_background();
      for (int64_t j = 0; j < count; ++j) {
        const Role role = matching.role(j);
        if (role != Role::kIgnored) kinds[b * count + j] = 0;
        if (role != Role::kObject) continue;
        const T* found = matching.label_of(j);
        kinds[b * count + j] = found[0] + 1;
        std::fill_n(masks.at((b * count + j) * 4), 4, T{1});
        write_encoded_box(anchors.at(4 * j), found + 1, a.variances, boxes.at((b * count + j) * 4));
      }
    }
  });
  boxes.store();
  masks.store();
  kinds.store();
}

void write_on_host(KernelContext& c, const TargetAttrs& a) {
  with_real(c.output(0).dtype, [&]<class T>() { write_anchor_targets<T>(c, a); });
}

}  // namespace

const decltype(write_targets) write_targets{"write_targets", write_on_host};

}  // namespace headrace
