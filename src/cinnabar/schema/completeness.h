// Whether every option can be shown: rules that rows of the core and of registries keep.
#pragma once

#include <string>
#include <vector>

#include "cinnabar/schema/describe.h"

namespace cinnabar::schema {

// One sentence a finding: a row without group, label or help, a default that is not allowed, a planned name that is
// built.
std::vector<std::string> incomplete_rows(const std::vector<DescribedCommand>& commands);

}  // namespace cinnabar::schema
