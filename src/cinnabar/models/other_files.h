// What a file is that is no base model of a known family: for the message that refuses it.
#pragma once

#include <string>

#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::models {

// One sentence with what it is and what to do ("this is a LoRA or another adapter, ..."); empty when nothing is known.
std::string describe_other_file(const formats::Checkpoint& checkpoint);

}  // namespace cinnabar::models
