// Keys of one call on their way: which go together, and what takes the place of their arrays meanwhile. Any thread.
#pragma once

#include <span>
#include <vector>

#include "headrace/communicator.hpp"
#include "kvstore/entries.h"

namespace headrace::kvstore {

// Of a call that writes the arrays of `parts`.
Extent extent_of(std::span<const Part> parts);
// Into the order in which updaters see them.
void sort_by_keys(std::span<Part> parts);

std::vector<NDArray> stored_in(std::span<const Part> parts);
// Their arrays, joined on each device.
std::vector<NDArray> joined(std::span<const Part> parts);
// Writes what arrived of joined arrays on each device into their arrays there.
void take_apart(std::span<const NDArray> arrived, std::span<const Part> parts);

// Which small arrays are joined: none; those that are sent from device to device; those of the host as well, as where
// they are sent to other ranks.
enum class Joining : uint8_t { kNone, kOnDevices, kEverywhere };

// Neighbours that travel together, as many as make a bucket, or one alone: parts from begin up to end.
struct Run {
  size_t begin, end;
};
std::vector<Run> runs_of(std::span<const Part> parts, Joining joining);

// An array of a call, and the one that takes its place while the store works in another dtype.
struct StandIn {
  NDArray given, used;
};
// Puts new arrays of what is stored, which have nothing to keep, in place of those of other dtypes that a call wants to
// have written.
std::vector<StandIn> stand_ins_for(std::span<Part> parts);
// With `keeps`, an array whose stand-in has failed stays as it is.
void deliver(std::span<const StandIn> stand_ins, bool keeps);

}  // namespace headrace::kvstore
