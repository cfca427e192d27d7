// What becomes of words of mt19937, many at a time, for the best instruction set of this machine: the bits of the
// samplers in ops/random/sampling.h. Any thread.
#pragma once

#include <cstdint>

namespace headrace {

// values[i] = offset + factor * u for the uniforms u of n words (float) or n pairs of words (double).
template <class Real>
void uniforms_of_words(const uint32_t* words, int64_t n, Real offset, Real factor, Real* values);

// kept[i] = words[i] <= last ? 1 : 0.
void words_up_to(const uint32_t* words, int64_t n, uint32_t last, uint8_t* kept);

// Points of the square that the polar method accepted: those inside of the unit circle, with the squares of their
// distances from its centre.
template <class Real>
struct PolarPoints {
  static constexpr int64_t kProposals = 2048 * static_cast<int64_t>(sizeof(float)) / static_cast<int64_t>(sizeof(Real));
  static constexpr int64_t kWords = 2 * static_cast<int64_t>(sizeof(Real) / sizeof(uint32_t));  // of one proposal
  static constexpr int64_t kPadding = 16;  // kernels work on whole vectors

  alignas(64) Real x[kProposals + kPadding];
  alignas(64) Real y[kProposals + kPadding];
  alignas(64) Real square[kProposals + kPadding];

  // The points of the first n proposals, n <= kProposals, in order; returns how many there are.
  int64_t accept(const uint32_t* words, int64_t n);

  // values[i] = offset + factor * v for the first n normals v of the points: two of each, or one.
  void normals(bool of_both, int64_t n, Real offset, Real factor, Real* values) const;
};

}  // namespace headrace
