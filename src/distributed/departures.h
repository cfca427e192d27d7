// Departures: in which places of an elastic job nobody has come since a worker went. Derived from what a gathering
// keeps; as cheap with a thousand workers that all change as with one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace headrace::distributed {

class Departures {
 public:
  // A worker is in the place of this rank. Of one place incarnations ascend.
  void come(uint32_t rank, uint64_t incarnation);
  // It has gone, after those before it.
  void depart(uint32_t rank, uint64_t incarnation, bool is_lost);

  // How many were lost in whose places nobody has come since.
  size_t lost() const noexcept { return lost_; }
  // Whether another one had come in the place of a worker when the incarnation `until` was given.
  bool is_replaced(uint32_t rank, uint64_t incarnation, uint64_t until) const;

 private:
  struct Place {
    std::vector<uint64_t> incarnations = {};  // that have come, ascending
    size_t lost = 0;                          // of those that are not replaced
  };

  std::map<uint32_t, Place> places_;  // by rank
  size_t lost_ = 0;
};

}  // namespace headrace::distributed
