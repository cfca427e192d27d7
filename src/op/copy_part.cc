#include "op/copy_part.h"

#include "ndarray/strided_copy.h"

namespace headrace {

const decltype(copy_elements) copy_elements{
    "copy_elements",
    [](KernelContext&, void* to, const Strides& to_strides, const void* from, const Strides& from_strides,
       const Shape& shape, DType dtype) { strided_copy(to, to_strides, from, from_strides, shape, dtype); }};

}  // namespace headrace
