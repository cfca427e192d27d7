// Functions of one double that the C library lacks, accurate to a few units in the last place.
#pragma once

namespace headrace {

double inverse_erf(double x) noexcept;  // NaN outside [-1, 1], infinite at the ends
double digamma(double x) noexcept;      // infinite at 0 and the negative integers, as MXNet's
double trigamma(double x) noexcept;     // infinite there
double log_gamma(double x) noexcept;    // log |gamma(x)|; as std::lgamma, safe on any thread

}  // namespace headrace
