// Losses. Each gives one value per sample, shape (n,): the mean over all axes but `batch_axis`, unless it says
// otherwise. `weight` scales the loss of every element, `sample_weight`, an array that broadcasts, that of single
// elements or samples. RuntimeError: prediction and label differ in their numbers of elements. TypeError: one is none.
#pragma once

#include <string>

#include "headrace/ndarray.hpp"

namespace headrace::gluon::loss {

// Cross-entropy of the softmax over `axis`. Labels are class numbers, clipped to those that exist, or (`sparse_label`
// false) probabilities in the shape of the predictions. `from_logits`: predictions are log-probabilities already.
struct SoftmaxCrossEntropyLoss {
  int64_t axis = -1;
  bool sparse_label = true;
  bool from_logits = false;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// Cross-entropy of independent yes-or-no labels, from scores or (`from_sigmoid`) from probabilities. `pos_weight`, an
// array that broadcasts, scales the part of positive labels.
struct SigmoidBinaryCrossEntropyLoss {
  bool from_sigmoid = false;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {},
                     const NDArray& pos_weight = {}) const;
};

// weight / 2 (label - pred)^2.
struct L2Loss {
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// |label - pred|.
struct L1Loss {
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// label (log label - pred) with log-probabilities, or scores (`from_logits` false) whose softmax is over `axis`; the
// sum over all axes but the batch's.
struct KLDivLoss {
  bool from_logits = true;
  int64_t axis = -1;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// The square of small differences, over 2 rho, and the absolute value, less rho / 2, of those above rho.
struct HuberLoss {
  double rho = 1;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// max(0, margin - pred label), labels -1 and 1.
struct HingeLoss {
  double margin = 1;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// The square of that.
struct SquaredHingeLoss {
  double margin = 1;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// log(1 + exp(-pred label)) for labels -1 and 1 ("signed") or 0 and 1 ("binary"). ValueError: another format.
struct LogisticLoss {
  std::string label_format = "signed";
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& sample_weight = {}) const;
};

// max(0, |positive - pred|^2 - |negative - pred|^2 + margin).
struct TripletLoss {
  double margin = 1;
  double weight = 1;
  int64_t batch_axis = 0;
  NDArray operator()(const NDArray& pred, const NDArray& positive, const NDArray& negative,
                     const NDArray& sample_weight = {}) const;
};

// Negative log-likelihood of counts for rates, or log-rates (`from_logits`); `compute_full` adds Stirling's
// approximation of log(target!) for targets above 1. The mean over everything, of shape (1,).
struct PoissonNLLLoss {
  bool from_logits = true;
  bool compute_full = false;
  double weight = 1;
  NDArray operator()(const NDArray& pred, const NDArray& target, const NDArray& sample_weight = {}) const;
};

// 1 - cos(a, b) for label 1, max(0, cos(a, b) - margin) for label -1, and 0 for others; shape (n, 1), cosines over the
// last axis.
struct CosineEmbeddingLoss {
  double margin = 0;
  double weight = 1;
  NDArray operator()(const NDArray& input1, const NDArray& input2, const NDArray& label,
                     const NDArray& sample_weight = {}) const;
};

// Connectionist temporal classification: minus the log-probability of each label over all alignments. Predictions are
// scores before softmax, of which the last is the blank, in the layout "NTC" or "TNC"; labels ("NT" or "TN") are
// classes, and -1 behind their end. Lengths have shape (n,). ValueError: another layout.
struct CTCLoss {
  std::string layout = "NTC";
  std::string label_layout = "NT";
  double weight = 1;
  NDArray operator()(const NDArray& pred, const NDArray& label, const NDArray& pred_lengths = {},
                     const NDArray& label_lengths = {}, const NDArray& sample_weight = {}) const;
};

// Smoothed deep metric learning (Bonadiman, Kumar and Mittal 2019): rows i of x1 and x2, both of shape (n, d), belong
// together. For each i the Kullback-Leibler divergence of the softmax over j of -|x1[i] - x2[j]|^2 from the
// distribution with 1 - smoothing_parameter at j = i and the rest spread evenly. ValueError: other than two axes.
struct SDMLLoss {
  double smoothing_parameter = 0.3;
  double weight = 1;
  NDArray operator()(const NDArray& x1, const NDArray& x2) const;
};

}  // namespace headrace::gluon::loss
