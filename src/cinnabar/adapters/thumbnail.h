// The picture that modelspec.thumbnail holds (no torch).
#pragma once

#include <string>

namespace cinnabar::adapters {

// A data URL of a PNG, JPEG or WebP picture as it is, or the file of that name (PNG, JPEG, WebP or GIF, by its first
// bytes) as one. Throws Error{Io} when there is no such file and Error{Config} for other data URLs, another kind of
// file or one above 2 MiB, which every reader of the adapter would have to carry.
std::string thumbnail_url(const std::string& given);

}  // namespace cinnabar::adapters
