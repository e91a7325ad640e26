#include "cinnabar/train/disk_check.h"

#include <array>
#include <cstdio>

#include "cinnabar/base/error.h"

namespace cinnabar::train {

std::string bytes_text(int64_t bytes) {
  static constexpr std::array<const char*, 4> kUnits = {"kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes) / 1000.0;
  size_t unit = 0;
  while (value >= 1000.0 && unit + 1 < kUnits.size()) {
    value /= 1000.0;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %s", value, kUnits.at(unit));
  return text;
}

void check_space(const std::filesystem::path& folder, const SaveSizes& sizes) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.capacity == 0) return;
  const auto needed = static_cast<int64_t>(2.2 * static_cast<double>(sizes.network_bytes + sizes.state_bytes));
  const auto free = static_cast<int64_t>(space.available);
  if (free >= needed) return;
  throw base::Error(base::ErrorCode::OutOfSpace,
                    "output_dir " + folder.string() + " has " + bytes_text(free) +
                        " left; two saves of this run need " + bytes_text(needed) + " (network " +
                        bytes_text(sizes.network_bytes) +
                        (sizes.state_bytes > 0 ? ", state " + bytes_text(sizes.state_bytes) : "") +
                        "): free some space or choose another folder");
}

}  // namespace cinnabar::train
