// Element types of files as libtorch's, and back.
#pragma once

#include <string>

#include <c10/core/ScalarType.h>

#include "cinnabar/formats/dtype.h"

namespace cinnabar::tensor {

at::ScalarType scalar_type(formats::Dtype dtype);
// Throws Error{Internal} for a type that files cannot hold (complex, quantised).
formats::Dtype file_dtype(at::ScalarType type);
// "float"/"fp32", "fp16"/"half", "bf16", "no" (fp32): the words of sd-scripts' precision options. Throws Error{Config}.
at::ScalarType precision_from(const std::string& word);

}  // namespace cinnabar::tensor
