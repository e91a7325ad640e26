#include "cinnabar/formats/checkpoint.h"

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/diffusers_folder.h"
#include "cinnabar/formats/file_kind.h"
#include "cinnabar/formats/json_text.h"
#include "cinnabar/formats/safetensors_header.h"
#include "cinnabar/formats/safetensors_reader.h"
#include "cinnabar/formats/torch_file.h"

namespace cinnabar::formats {

const TensorView* Checkpoint::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorView& Checkpoint::at(const std::string& name) const {
  if (const TensorView* view = find(name)) return *view;
  throw base::Error(base::ErrorCode::Format, path_.string() + ": the tensor " + quote_name(name) +
                                                 " is missing; the file is incomplete or of another model family");
}

bool Checkpoint::has_prefix(const std::string& prefix) const {
  const auto first = tensors_.lower_bound(prefix);
  return first != tensors_.end() && first->first.starts_with(prefix);
}

std::unique_ptr<Checkpoint> Checkpoint::open(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return open_diffusers_folder(path);
  auto checkpoint = model_file_kind(path) == FileKind::Safetensors ? open_safetensors(path) : open_torch_file(path);
  std::filesystem::path side = path;
  side.replace_extension(".json");
  if (std::filesystem::is_regular_file(side, error)) checkpoint->side_json_ = read_json_object(side);
  return checkpoint;
}

}  // namespace cinnabar::formats
