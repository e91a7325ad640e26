// Which models an adapter file was made for: by its metadata, or by what only one family has.
#pragma once

#include <string>

#include "cinnabar/base/error.h"
#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::formats {

// "sd1", "sd2", "sdxl", or what the metadata call another family; "" when nothing tells.
std::string adapter_family(const Checkpoint& file);

// "; the file was made for SDXL, and this model is of the family SD 1: ..." when the two differ; "" otherwise.
std::string other_family_text(const Checkpoint& file, const std::string& model_family);

// What `work` throws about the file, with the reason in its place when the file is for models of another family.
template <class Work>
auto naming_family(const Checkpoint& file, const std::string& model_family, const Work& work) {
  try {
    return work();
  } catch (const base::Error& error) {
    const std::string other = other_family_text(file, model_family);
    if (error.code() != base::ErrorCode::Format || other.empty()) throw;
    throw base::Error(error.code(), file.path().string() + " does not fit this model" + other);
  }
}

}  // namespace cinnabar::formats
