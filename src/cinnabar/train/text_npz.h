// Text encoder caches of sd-scripts for SDXL (NAME_te_outputs.npz beside the picture).
#pragma once

#include <filesystem>

#include "cinnabar/base/error.h"
#include "cinnabar/data/dataset.h"
#include "cinnabar/models/diffusion_model.h"

namespace cinnabar::train {

std::filesystem::path text_npz_path(const data::Sample& sample);

// T tokens, D1 and D2 widths of the two encoders: one caption's context [T, D1 + D2] and pooled [D2], without batch.
// `like` are states of this run's encoders, whose shapes the file must have. Error{Data} that says what does not fit:
// the file, an array that is missing, another length or width, values that are not finite, a caption file that is
// newer.
base::Result<models::Conditioning> read_text_npz(const data::Sample& sample, const models::Conditioning& like);

// Atomic; as fp32. Throws Error{Io} or Error{OutOfSpace}.
void write_text_npz(const data::Sample& sample, const models::Conditioning& states);

}  // namespace cinnabar::train
