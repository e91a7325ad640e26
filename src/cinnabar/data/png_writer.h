// PNG files with text, as image generators write their settings into them.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "cinnabar/data/picture.h"

namespace cinnabar::data {

// Atomic. Texts (UTF-8) become tEXt chunks where Latin-1 holds them, else iTXt; the keyword "parameters" is the one
// that stable-diffusion-webui and its relatives read. Keywords are 1 to 79 printable ASCII characters. Throws
// Error{Io}, Error{OutOfSpace}.
void save_png(const std::filesystem::path& path, const Picture& picture,
              const std::map<std::string, std::string>& texts = {});
// The bytes of that file.
std::string encode_png(const Picture& picture, const std::map<std::string, std::string>& texts = {});

// The tEXt and uncompressed iTXt chunks of a PNG file, as UTF-8. Throws Error{Io} or Error{Data}.
std::map<std::string, std::string> read_png_texts(const std::filesystem::path& path);

}  // namespace cinnabar::data
