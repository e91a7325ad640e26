#include "cinnabar/noise/entry.h"

namespace cinnabar::noise {

using schema::Level;
using schema::Type;

// The draw itself is in noise_source.cpp.
CINNABAR_REGISTER_NOISE(timestep_range,
                        {.help = "Timesteps are drawn evenly from this range.",
                         .options = {
                             {.name = "min_timestep",
                              .type = Type::Int,
                              .range = schema::Range{0, 999},
                              .group = "Noise",
                              .level = Level::Expert,
                              .label = "Smallest timestep",
                              .help = "Smallest timestep that is trained; 0 when unset. Small timesteps carry fine "
                                      "detail."},
                             {.name = "max_timestep",
                              .type = Type::Int,
                              .range = schema::Range{1, 1000},
                              .group = "Noise",
                              .level = Level::Expert,
                              .label = "Timestep limit",
                              .help = "Timesteps below this one are trained; 1000 when unset. Large timesteps carry "
                                      "composition."}}});

}  // namespace cinnabar::noise
