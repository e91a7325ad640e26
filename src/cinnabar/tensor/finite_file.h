// Model and adapter files with values that are no numbers: found when they are loaded, by tensor name.
#pragma once

#include "cinnabar/base/events.h"
#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::tensor {

bool is_floating(formats::Dtype dtype);
// Whether all values are numbers; always true for whole numbers.
bool is_finite(const formats::TensorView& view);

// Looks at every floating tensor of the file, on all threads. NaN or infinite values are Error{Format} that names the
// file, the first tensors and how many there are; with `is_allowed` (option allow_nonfinite) a warning instead, and
// false.
bool check_finite_file(const formats::Checkpoint& file, bool is_allowed, base::EventSink& events);

}  // namespace cinnabar::tensor
