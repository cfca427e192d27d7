// BriefGroup: a group that does not last as long as the process. What was pushed with it, and has failed, may still be
// queued when a test is over.
#pragma once

#include "collective/group.h"
#include "engine/runtime.h"

namespace headrace::collective {

class BriefGroup final : public Group {
 public:
  using Group::Group;
  ~BriefGroup() {
    end({});
    runtime().engine.drain();
  }
};

}  // namespace headrace::collective
