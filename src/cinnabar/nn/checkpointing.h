// Gradient checkpointing: a part's inner activations are dropped after the forward pass and computed again in backward.
#pragma once

#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace cinnabar::nn {

using Segment = std::function<at::Tensor(const std::vector<at::Tensor>& inputs)>;

// Runs `segment` on `inputs` (all defined). With `is_recomputed`, and while gradients are recorded, only the inputs are
// kept. Gradients of parameters that the segment captures are added to their .grad in backward, so they must be leaves;
// results are bit-equal with and without recomputing, since both ways gather the gradient of an input inside the
// segment before it leaves. The segment must be a function of its inputs and of parameters: random draws come from
// nn/dropout.h. What it captures must live until backward has run. Second derivatives are not supported.
at::Tensor run_segment(bool is_recomputed, const Segment& segment, const std::vector<at::Tensor>& inputs);

// For results inside a segment that are dear to compute and cheap to keep. When the segment is being recomputed, what
// the same call returned in the forward pass; else what `compute` returns, which is kept when it will be asked for
// again. Calls must come in the same order in both passes, and not inside of a segment within a segment.
std::vector<at::Tensor> kept_or_computed(c10::function_ref<std::vector<at::Tensor>()> compute);

// Whether this thread recomputes a segment: nobody looks at the result of its last layer then, only at what layers keep
// for backward.
bool is_recomputing();

}  // namespace cinnabar::nn
