// How the processes of a job share a store.
#pragma once

namespace headrace::kvstore {

struct Sharing {
  bool asynchronous = false;
  int staleness = -1;  // of an asynchronous one; below 0: any
  bool on_devices = false;
};

}  // namespace headrace::kvstore
