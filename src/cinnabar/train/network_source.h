// Where the network of a run comes from: its options, the files it is built from or continues, the files that are
// merged into the model before.
#pragma once

#include <memory>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/events.h"
#include "cinnabar/optim/flat_parameters.h"
#include "cinnabar/schema/values.h"
#include "cinnabar/train/loaded_model.h"

namespace cinnabar::train {

// base_weights and base_weights_multiplier: adds the adapters to the model's weights, in fp32, rounded to the weights'
// type. LoadedModel::merged names what was added, for cache keys. Throws Error{Format} for a file that fits no layer,
// and Error{Config} for more multipliers than files.
void merge_base_weights(const schema::Values& values, LoadedModel& base, base::EventSink& events);

// The network of the options, on the model's layers, with the values of network_weights; with dim_from_weights its
// layers, ranks and alphas are those of the file.
std::unique_ptr<adapters::AdapterSet> make_network(const schema::Values& values, const LoadedModel& base, uint64_t seed,
                                                   base::EventSink& events);

// learning_rate, unet_lr and text_encoder_lr; a list gives each text encoder its own.
adapters::PartRates part_rates(const schema::Values& values);

// scale_weight_norms: scales layers down whose update has a larger norm. Nothing without the option. To be
// called after every micro-step. Throws Error{Config} when the kind of adapter cannot do that.
std::optional<adapters::NormReport> limit_norms(const schema::Values& values, adapters::AdapterSet& set,
                                                optim::FlatParameters& parameters);

}  // namespace cinnabar::train
