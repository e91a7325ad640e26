// The network of a run: made, attached, loaded, and put into the flat buffers of what is trained.
#pragma once

#include <memory>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/events.h"
#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/loaded_model.h"

namespace cinnabar::train {

// Merges base_weights, makes the network (network_source.h) and reads gradient_checkpointing. The model must outlive
// the set.
std::unique_ptr<adapters::AdapterSet> attach_network(const schema::Values& values, LoadedModel& base, uint64_t seed,
                                                     base::EventSink& events);

// Fills `parameters` by group from learning_rate, unet_lr and text_encoder_lr, in fp16 or bf16 with full_fp16 and
// full_bf16. Layers that the loss does not depend on are left out. Returns whether a text encoder is trained. Throws
// Error{Config} when nothing would be trained.
bool gather_parameters(const schema::Values& values, const LoadedModel& base, adapters::AdapterSet& set,
                       optim::FlatParameters& parameters, base::EventSink& events);

}  // namespace cinnabar::train
