// How cuDNN computes a convolution. Only where its headers are.
#pragma once

#include <cstddef>
#include <optional>

#include "backend/cuda/dnn.h"
#include "backend/cuda/dnn_library.h"

namespace headrace {

class DnnPlan {
 public:
  // The first of what the library proposes that is deterministic, does not round what it is given (unless the
  // configuration says so), needs no more than kMostWorkspace and has code for the device. None: `why` says it. The
  // device's context is current.
  static std::optional<DnnPlan> make(cudnnHandle_t handle, const DnnConvolution& convolution, std::string& why);

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
