// Requests and answers on timelines: both ends give a message the same number, so that it is an arrow where the
// timelines of a worker and a server are drawn as one. Any thread.
#pragma once

#include <cstdint>
#include <string>

namespace headrace::distributed {

// A request of a worker, or the answer to it, in the words of both ends.
struct Message {
  const std::string& server;  // its address
  uint64_t incarnation;       // of the worker
  uint64_t request;
  bool is_answer;
};

// Nothing is recorded unless operators are.
void tell_sent(const Message& message);
void tell_received(const Message& message);

}  // namespace headrace::distributed
