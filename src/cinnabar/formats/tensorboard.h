// Event files that TensorBoard reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace cinnabar::formats {

// CRC-32C (Castagnoli, polynomial 0x1edc6f41 reflected) of the bytes.
uint32_t crc32c(std::span<const std::byte> bytes);

// Appends one event a call to a new file events.out.tfevents.SECONDS.cinnabar.N in a folder, which is made if missing.
// This is a log: it grows while the run goes on and is never renamed (the exception to atomic files); every event is
// handed to the system at once, so that a killed run keeps what it wrote. A resumed run writes a new file; TensorBoard
// joins them by step. Calls from several threads must be serialised by the caller. Throws Error{Io} or
// Error{OutOfSpace}.
class TensorBoardWriter {
 public:
  explicit TensorBoardWriter(const std::filesystem::path& folder);
  ~TensorBoardWriter();
  TensorBoardWriter(const TensorBoardWriter&) = delete;
  TensorBoardWriter& operator=(const TensorBoardWriter&) = delete;

  // `wall_time_s` is seconds since 1970; 0 means now. `tag` is for example "loss/average".
  void scalar(std::string_view tag, int64_t step, float value, double wall_time_s = 0.0);
  // Shown on the page "Text" as Markdown.
  void text(std::string_view tag, int64_t step, std::string_view value, double wall_time_s = 0.0);
  // Waits until what was written is on the disk.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append(const std::string& event);

  std::filesystem::path path_;
  int fd_ = -1;
};

}  // namespace cinnabar::formats
