#include "cinnabar/models/model_family.h"

#include "cinnabar/base/error.h"
#include "cinnabar/models/other_files.h"

namespace cinnabar::models {

base::Registry<ModelFamily>& model_families() {
  static base::Registry<ModelFamily> registry("model family");
  return registry;
}

std::unique_ptr<DiffusionModel> load_model(const std::string& path, const LoadOptions& options) {
  const std::shared_ptr<const formats::Checkpoint> checkpoint = formats::Checkpoint::open(path);
  LoadOptions with_source = options;
  with_source.source = checkpoint;
  std::string looked_for;
  for (const std::string& name : model_families().names()) {
    const ModelFamily& family = model_families().at(name);
    if (family.recognises(*checkpoint)) return family.load(*checkpoint, with_source);
    looked_for += "\n  " + name + ": " + family.help;
  }
  if (const std::string other = describe_other_file(*checkpoint); !other.empty()) {
    throw base::Error(base::ErrorCode::Format, path + ": " + other);
  }
  const auto& tensors = checkpoint->tensors();
  throw base::Error(base::ErrorCode::Format, path + ": no known model family has tensors like these (" +
                                                 std::to_string(tensors.size()) + " tensors" +
                                                 (tensors.empty() ? "" : ", the first is " + tensors.begin()->first) +
                                                 "). Looked for:" + looked_for);
}

}  // namespace cinnabar::models
