// The hashes that Stable Diffusion programs know models by (sd-scripts 48d368fa; reference formulas of kohya's
// Additional Networks extension and of AUTOMATIC1111's web interface).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cinnabar/formats/safetensors_writer.h"

namespace cinnabar::formats {

// SHA-256 (64 hex digits) of all tensor bytes in file order, without header: independent of metadata.
std::string sshs_model_hash(const std::vector<NamedTensor>& tensors);

// First 8 hex digits of SHA-256 over bytes 0x100000..0x10ffff of the file as it would be written with only the ss_*
// keys of `metadata`. Below 1 MiB nothing is hashed: "e3b0c442".
std::string sshs_legacy_hash(const std::vector<NamedTensor>& tensors, const Metadata& metadata);

// The same 65,536 bytes of any file as it lies on disk: ss_sd_model_hash, ss_vae_hash. Throws Error{Io}.
std::string legacy_hash_of_file(const std::filesystem::path& path);

// SHA-256 of what lies behind the header of a safetensors file, as it lies. Throws Error{Io} or Error{Format}.
std::string data_hash_of_file(const std::filesystem::path& path);

}  // namespace cinnabar::formats
