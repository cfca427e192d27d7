// How cuDNN computes a convolution. Only where its headers are.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/cuda/dnn.h"
#include "backend/cuda/dnn_library.h"

namespace headrace {

class DnnPlan {
 public:
  // The first `most` of what the library proposes, best first, that sum in float32, need no more than kMostWorkspace,
  // have code for the device and, unless the configuration says otherwise, are deterministic and do not round what they
  // are given. None: `why` says it. The device's context is current.
  static std::vector<DnnPlan> candidates(cudnnHandle_t handle, const DnnConvolution& convolution, size_t most,
                                         std::string& why);

  size_t workspace_bytes() const noexcept { return workspace_bytes_; }
  // On the handle's stream.
  DnnStatus execute(cudnnHandle_t handle, const DnnConvolution& convolution, void* workspace) const;

  static constexpr int64_t kMostWorkspace = int64_t{512} << 20;
  static constexpr uintptr_t kMostAlignment = 16;  // that makes a difference

 private:
  DnnPlan(DnnDescriptor config, DnnDescriptor plan, size_t workspace_bytes) noexcept
      : config_(std::move(config)), plan_(std::move(plan)), workspace_bytes_(workspace_bytes) {}

  DnnDescriptor config_, plan_;
  size_t workspace_bytes_;
};

}  // namespace headrace
