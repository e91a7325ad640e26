// The caption of a picture: a text file beside it, else the class tokens of its folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cinnabar/base/error.h"

namespace cinnabar::data {

struct CaptionFileOptions {
  std::string extension = ".caption";  // a missing leading dot is added
  std::string class_tokens{};          // for pictures without a file
  bool keeps_lines = false;            // all lines that are not blank, not only the first (uses_all_lines)
  bool has_face_names = false;         // picture names may end in face coordinates that caption files lack
};

enum class CaptionOrigin { File, ClassTokens, None };

struct Caption {
  std::string text;  // UTF-8, stripped; several lines are joined by "\n"
  CaptionOrigin origin = CaptionOrigin::None;
  std::string file{};                // path, set when origin is File
  bool had_byte_order_mark = false;  // dropped from the text; to be reported (sd-scripts keeps it as text)
};

// Beside the picture with its name; with `has_face_names` then without the last four "_" parts of the path (from five
// parts on) where that stays in the same folder. sd-scripts always tries both, so that photo_1_2_3_4.png takes the
// caption of photo.png.
std::vector<std::string> caption_candidates(const std::filesystem::path& picture, std::string_view extension,
                                            bool has_face_names = false);

inline constexpr size_t kMaxCaptionBytes = size_t{1} << 20;

// One caption file, or what was read of it. Errors as below.
base::Result<Caption> read_caption_file(const std::filesystem::path& file, bool keeps_lines);
base::Result<Caption> parse_caption_file(std::string_view content, const std::string& file, bool keeps_lines);

// Error{Data} for a file that is empty or not UTF-8, with the byte; Error{Io} for one that cannot be read.
base::Result<Caption> read_caption(const std::filesystem::path& picture, const CaptionFileOptions& options);

}  // namespace cinnabar::data
