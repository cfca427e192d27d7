// So many neighbours, which are loaded and stored at once where their address is a multiple of their size.
#pragma once

namespace headrace::device {

template <class Element, int kWidth>
struct alignas(sizeof(Element) * kWidth) Pack {
  Element elements[kWidth];
};

}  // namespace headrace::device
