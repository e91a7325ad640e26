// All commands with their options, as the pages and forms need them.
#pragma once

#include <vector>

#include "cinnabar/schema/describe.h"

namespace cinnabar::cli {

std::vector<schema::DescribedCommand> described_commands();

}  // namespace cinnabar::cli
