// Which attention this process takes, decided before its command runs.
#pragma once

#include <string>

#include <c10/core/Device.h>

#include "cinnabar/schema/values.h"

namespace cinnabar::worker {

// Sets nn/attention_choice.h: by mem_eff_attn, else by what the chip of `device` and this libtorch can. Returns what
// was chosen and why, for the log.
std::string set_up_attention(const schema::Values& values, at::Device device);

// The same for the option `device`; "" where nothing needs to be said (the processor, without mem_eff_attn). A device
// that does not exist is left to the command, which reports it.
std::string set_up_attention(const schema::Values& values);

}  // namespace cinnabar::worker
