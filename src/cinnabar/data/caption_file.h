// The caption of a picture: a text file beside it, else the class tokens of its folder (dataset-config.md section 3).
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
  bool keeps_lines = false;            // enable_wildcard: all lines that are not blank, not only the first
};

enum class CaptionOrigin { File, ClassTokens, None };

struct Caption {
  std::string text;  // UTF-8, stripped; several lines are joined by "\n"
  CaptionOrigin origin = CaptionOrigin::None;
  std::filesystem::path file{};      // set when origin is File
  bool had_byte_order_mark = false;  // dropped from the text; to be reported (sd-scripts keeps it as text)
};

// In order: beside the picture with its name, then without the last four "_" parts of the path (face coordinates, from
// five parts on) where that stays in the same folder.
std::vector<std::filesystem::path> caption_candidates(const std::filesystem::path& picture, std::string_view extension);

// Error{Data} for a file that is empty or not UTF-8, with the byte; Error{Io} for one that cannot be read.
base::Result<Caption> read_caption(const std::filesystem::path& picture, const CaptionFileOptions& options);

}  // namespace cinnabar::data
