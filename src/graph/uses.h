// Uses: who makes, reads and changes the values of a lowered graph, for passes that merge steps. Describes the graph as
// it was given; one thread.
#pragma once

#include <span>
#include <vector>

#include "graph/lower.h"

namespace headrace {

class Uses {
 public:
  static constexpr size_t kNone = SIZE_MAX;

  // `kept`: values that are read after the run, as outputs are.
  explicit Uses(const Lowered& graph, std::span<const int> kept = {});

  // The step that computes the value; kNone for inputs and constants.
  size_t producer(int id) const { return producer_[static_cast<size_t>(id)]; }
  // The one step that reads the value, however often; kNone when there is none, when there are several, and when the
  // value is read after the run. Views count as readers.
  size_t only_reader(int id) const { return only_reader_[static_cast<size_t>(id)]; }
  bool is_read(int id) const { return is_read_[static_cast<size_t>(id)]; }
  // Whether a step after `first` and before `last` changes the memory in which the value lies.
  bool changes_between(int id, size_t first, size_t last) const;

 private:
  void read(int id, size_t step);

  const Lowered& graph_;
  std::vector<size_t> producer_, only_reader_;
  std::vector<uint8_t> is_read_;
  std::vector<std::pair<size_t, int>> changes_;  // steps and the roots that they change
};

}  // namespace headrace
