// Pictures whose names differ in the extension alone: what lies beside a picture is found by the rest of its name.
#pragma once

#include <filesystem>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// An Issue for each name of a folder that several of `pictures` have.
std::vector<Issue> shared_name_issues(const std::vector<const std::filesystem::path*>& pictures);

}  // namespace cinnabar::data
