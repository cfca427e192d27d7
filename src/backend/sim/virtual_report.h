// What a program took on a simulated machine, and why. Times are picoseconds of virtual time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::sim {

struct StreamUse {
  std::string device;  // "host", "gpu(0)"
  std::string name;    // "cores", "compute", "host to device", "from gpu(1)"...
  int64_t busy_ps = 0;
  int64_t operations = 0;
};

struct LinkUse {
  std::string name;  // a direction, "gpu0>switch", or a capacity that both share
  int64_t busy_ps = 0;
  uint64_t bytes = 0;
};

// Operations of one name on one stream that nothing else hid.
struct PathUse {
  std::string name;
  std::string place;  // "gpu(0) compute"
  int64_t time_ps = 0;
  int64_t count = 0;
};

struct PathOperation {
  std::string name, place;
  int64_t begin_ps = 0, end_ps = 0;
};

// Operations count when they have ended.
struct VirtualReport {
  std::string machine;
  int64_t total_ps = 0;    // the frontend's clock
  int64_t pushing_ps = 0;  // of it: the frontend stated operations and worked itself
  int64_t waiting_ps = 0;  // of it: the frontend waited
  int64_t ended = 0;
  int64_t pending = 0;              // pushed and not yet ended: wait for all to have them in the report
  int64_t busy_ps = 0;              // at least one stream ran
  int64_t overlapping_ps = 0;       // at least two did
  std::vector<StreamUse> streams;   // those that ran something; host first, then by GPU
  std::vector<LinkUse> links;       // those that carried something
  std::vector<PathUse> path;        // the critical path up to now, longest first
  int64_t path_frontend_ps = 0;     // the rest of it: nothing ran that mattered, the frontend was not yet that far
  std::vector<PathOperation> last;  // the newest operations of the critical path, at most 1000, in order of time

  // From 0, one stream at a time, to 1.
  double overlap() const;
  // All of it as tables.
  std::string text() const;
};

}  // namespace headrace::sim
