// A model file or folder of any supported format, as named tensors (no torch).
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/formats/dtype.h"

namespace cinnabar::formats {

// One tensor, contiguous, little-endian. `bytes` stay valid while the Checkpoint lives (mapped where the format allows)
// and are aligned for their dtype.
struct TensorView {
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

class Checkpoint {
 public:
  virtual ~Checkpoint() = default;

  // Opens a safetensors file, a .ckpt/.pt file (restricted reader, nothing is executed) or a diffusers folder; the kind
  // is found from the content and must agree with the extension. Throws Error{Io} or Error{Format}.
  static std::unique_ptr<Checkpoint> open(const std::filesystem::path& path);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const TensorView* find(const std::string& name) const;
  // Throws Error{Format} that names the missing tensor and the file.
  const TensorView& at(const std::string& name) const;
  bool has_prefix(const std::string& prefix) const;
  // To be called after the tensors' bytes were copied: throws Error{Io} when a mapped file was shortened meanwhile (its
  // missing part then reads as zeros).
  virtual void check() const {}
  // safetensors __metadata__ (empty for other formats).
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::filesystem::path& path() const { return path_; }
  // Content of NAME.json beside the file, or of a diffusers folder's configurations as {"unet": {...}, ...}; "" if
  // none.
  const std::string& side_json() const { return side_json_; }

 protected:
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
  std::filesystem::path path_;
  std::string side_json_;
};

}  // namespace cinnabar::formats
