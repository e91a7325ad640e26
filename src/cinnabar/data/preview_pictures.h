// Preview pictures of runs, which must not become training pictures of the next one.
#pragma once

#include <filesystem>
#include <vector>

#include "cinnabar/data/dataset.h"

namespace cinnabar::data {

// Whether the path is that of a preview: sample/NAME_e000003_00_20260131093000_42.png, as runs name them.
bool is_preview(const std::filesystem::path& path);

// Leaves out the previews that lie in folders below those that were named as folders of pictures, with an Issue.
void leave_out_previews(Dataset& dataset);

// For a run that will make previews: an Issue when "sample" in `output_dir` lies in a folder of pictures.
void report_preview_place(std::vector<Dataset>& datasets, const std::filesystem::path& output_dir);

}  // namespace cinnabar::data
