// History: what a process of a job has done with pushes, for who checks afterwards that none was lost or came twice.
// HEADRACE_HISTORY names a folder, in which each process has a file of lines, each written as a whole before what it
// tells of is known to others:
//
//   acknowledged ID     a worker has heard that the server has the push
//   applied ID          a server has updated what is stored by the push, after those of the lines before
//   frozen              a server holds still for a checkpoint
//
// ID: store, key, rank, incarnation, number of the push of that key. Any thread.
#pragma once

#include <string>

#include "distributed/protocol.pb.h"

namespace headrace::distributed {

namespace history {

// Empty, where none is kept.
std::string id_of(const PushRequest& push, uint64_t incarnation);
// Nothing, where none is kept. A line that cannot be written is told to the standard error output.
void write(const char* what, const std::string& id = {}) noexcept;

}  // namespace history
}  // namespace headrace::distributed
