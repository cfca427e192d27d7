// Who wrote and read each resource last: the order that a program's reads and writes demand, as predecessors of each
// new operation. Operations are named by number, from 1, in the order in which they are pushed. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace headrace::sim {

// A place that is used again for others, and the number that tells whose it was.
struct WorkRef {
  int slot = -1;
  uint64_t number = 0;
};

class Accesses {
 public:
  // `before(WorkRef)` is called for what must come first; it may have ended, or be `work` itself, and may come twice.
  template <class F>
  void read(const void* resource, WorkRef work, F&& before) {
    Access& access = accesses_[resource];
    before(access.writer);
    access.readers.push_back(work);
  }
  template <class F>
  void write(const void* resource, WorkRef work, F&& before) {
    Access& access = accesses_[resource];
    before(access.writer);
    std::ranges::for_each(access.readers, before);
    access.readers.clear();
    access.writer = work;
  }

  // What wrote the resource last and, `for_all`, what read it since.
  std::vector<WorkRef> last(const void* resource, bool for_all) const {
    const auto found = accesses_.find(resource);
    if (found == accesses_.end()) return {};
    std::vector<WorkRef> result{found->second.writer};
    if (for_all) result.insert(result.end(), found->second.readers.begin(), found->second.readers.end());
    return result;
  }

  void forget(const void* resource) { accesses_.erase(resource); }

  // Drops readers that `ended(WorkRef)`, once they may be many: what is only read must not remember all who did.
  template <class F>
  void prune(const void* resource, F&& ended) {
    Access& access = accesses_[resource];
    if (access.readers.size() < access.prune_at) return;
    std::erase_if(access.readers, ended);
    access.prune_at = std::max(kLeastPruned, 2 * access.readers.size());
  }

 private:
  static constexpr size_t kLeastPruned = 8;

  struct Access {
    WorkRef writer;
    std::vector<WorkRef> readers;  // since the writer
    size_t prune_at = kLeastPruned;
  };

  std::unordered_map<const void*, Access> accesses_;
};

}  // namespace headrace::sim
