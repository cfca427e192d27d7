// Threads that announce themselves as busy on every core: loops find none that is idle.
#pragma once

#include <latch>
#include <thread>
#include <vector>

#include "base/machine.h"
#include "device/cores.h"

namespace headrace {

class BusyCores {
 public:
  BusyCores() : announced_(core_count()), over_(1) {
    for (int i = 0; i < core_count(); ++i)
      threads_.emplace_back([this] {
        const BusyThread busy;
        announced_.count_down();
        over_.wait();
      });
    announced_.wait();
  }
  ~BusyCores() { end(); }

  // Returns when no core is announced any more.
  void end() {
    if (threads_.empty()) return;
    over_.count_down();
    threads_.clear();
  }

 private:
  std::latch announced_, over_;
  std::vector<std::jthread> threads_;
};

}  // namespace headrace
