// How libpng reports errors: by longjmp, so nothing with a destructor may live between setjmp and the calls that may
// fail.
#pragma once

#include <png.h>

namespace headrace::codec {

// Keeps the text in `error` of what libpng was given for it, a T.
template <class T>
[[noreturn]] void note_png_error(png_structp png, png_const_charp text) {
  static_cast<T*>(png_get_error_ptr(png))->error = text;
  png_longjmp(png, 1);
}

inline void ignore_png_warning(png_structp, png_const_charp) {}

}  // namespace headrace::codec
