// Batch normalisation of axis 1 whose statistics are those of the data on several devices: calls of a layer on each of
// them wait for each other, forward and backward (docs/gluon.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headrace/ndarray.hpp"
#include "op/op_def.h"

namespace headrace {

struct SyncBatchNorm {
  double eps = 1e-3, momentum = 0.9;
  bool fix_gamma = true;
  int64_t devices = 1;
  std::string key = "";  // of the layer: calls with one key meet
};

// `in`: data, gamma, beta, moving mean and variance, all on one device. Gives the result, the mean and
// 1 / sqrt(variance + eps) of the data on all devices, and updates the moving statistics of this one; gamma becomes 1
// where it is fixed. Asynchronous; the results carry an error when the other devices do not call the layer.
std::vector<NDArray> sync_batch_norm_train(std::span<const NDArray> in, const SyncBatchNorm& layer);

// The operator of which the result is, whose gradient waits for the other devices, too.
OpDef sync_batch_norm_apply();

}  // namespace headrace
