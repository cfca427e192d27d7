// History: what a process of a job has done with pushes, for who checks afterwards that none was lost or came twice.
// HEADRACE_HISTORY names a folder, in which each process has a file of lines, each written as a whole before what it
// tells of is known to others:
//
//   joined RANK INCARNATION
//                         a worker takes part from now on
//   acknowledged ID       a worker has heard that the server has the push
//   applied ID            a server has updated what is stored by the push, after those of the lines before
//   frozen INCARNATION N  a server holds still for a checkpoint: request N of worker 0
//   serving SERVER EPOCH  the process serves from now on, where the job has replicas
//   backed SERVER EPOCH   a backup that has come later may take its place
//   copying MARK          it begins to tell that one everything; what was applied before is copied
//   copied MARK           the same, at that one
//
// What a backup is told of is applied there, too, so that the file of the process that has served last has all.
// HEADRACE_STOP_AT names a moment ("applied 20": after that line was written for the 20th time by a process that
// serves; "kept 20": when its backup has said so often that it has something; "frozen 2": when its backup knows of the
// second time that it holds still, and nobody else does) at which the process stops itself, as SIGSTOP does; others of
// the same folder that come to it later do not.
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
// A process that serves has come to a moment. Nothing, unless it is to stop there.
void pass(const char* moment) noexcept;

}  // namespace history
}  // namespace headrace::distributed
