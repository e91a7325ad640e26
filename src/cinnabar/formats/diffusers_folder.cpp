#include "cinnabar/formats/diffusers_folder.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/formats/file_kind.h"
#include "cinnabar/formats/json_text.h"
#include "cinnabar/formats/safetensors_header.h"
#include "cinnabar/formats/safetensors_reader.h"
#include "cinnabar/formats/torch_file.h"

namespace cinnabar::formats {

namespace {

using base::Error;
using base::ErrorCode;
using Path = std::filesystem::path;

constexpr std::array<const char*, 6> kParts{"unet",         "transformer",    "vae",
                                            "text_encoder", "text_encoder_2", "text_encoder_3"};

struct WeightsName {
  const char* before;  // the extension
  const char* after;
};
// In order of preference. diffusers 0.32 and transformers 4.54 put the variant of an index before ".json", older ones
// before the extension.
constexpr std::array<WeightsName, 5> kNames{
    {{"", ""}, {"", ".index.json"}, {".fp16", ""}, {"", ".index.fp16.json"}, {".fp16", ".index.json"}}};
constexpr std::array<const char*, 2> kStems{"diffusion_pytorch_model", "model"};
constexpr std::array<const char*, 2> kTorchStems{"diffusion_pytorch_model", "pytorch_model"};

struct Weights {
  Path path;
  bool is_index = false;
};

bool is_file(const Path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

std::optional<Weights> find_weights(const Path& folder) {
  for (const std::string extension : {".safetensors", ".bin"}) {
    for (const WeightsName& name : kNames) {
      for (const std::string stem : extension == ".bin" ? kTorchStems : kStems) {
        const Path path = folder / (stem + name.before + extension + name.after);
        if (is_file(path)) return Weights{path, *name.after != '\0'};
      }
    }
  }
  return std::nullopt;
}

std::unique_ptr<Checkpoint> open_weights(const Path& path) {
  return model_file_kind(path) == FileKind::Safetensors ? open_safetensors(path) : open_torch_file(path);
}

class DiffusersFolder : public Checkpoint {
 public:
  explicit DiffusersFolder(const Path& path) {
    path_ = path;
    for (const char* part : kParts) add_part(part);
    if (!has_prefix("unet.") && !has_prefix("transformer.")) {
      throw Error(ErrorCode::Format, path.string() +
                                         ": no model in this folder; expected a sub-folder unet or transformer with "
                                         "weights, as diffusers writes them. For a single file give its full path");
    }
    add_config("model_index", path / "model_index.json");
    add_config("scheduler", path / "scheduler" / "scheduler_config.json");
    side_json_ = "{" + side_json_ + "}";
  }

  void check() const override {
    for (const auto& file : files_) file->check();
  }

 private:
  void add_part(const std::string& part) {
    const Path folder = path_ / part;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error)) return;
    const std::optional<Weights> weights = find_weights(folder);
    if (!weights) {
      throw Error(ErrorCode::Io, folder.string() +
                                     ": no weights; expected diffusion_pytorch_model.safetensors or "
                                     "model.safetensors (or .fp16, .bin, or an index of several files)");
    }
    if (weights->is_index) {
      add_shards(part, weights->path);
    } else {
      add_file(part, weights->path);
    }
    add_config(part, folder / "config.json");
  }

  void add_file(const std::string& part, const Path& path) {
    auto file = open_weights(path);
    for (const auto& [name, view] : file->tensors()) {
      if (!tensors_.emplace(part + "." + name, view).second) {
        throw Error(ErrorCode::Format,
                    path.string() + ": the tensor " + quote_name(name) + " is in another file of this folder too");
      }
    }
    files_.push_back(std::move(file));
  }

  void add_shards(const std::string& part, const Path& index) {
    const auto json = nlohmann::json::parse(read_json_object(index));
    const auto map = json.find("weight_map");
    if (map == json.end() || !map->is_object()) {
      throw Error(ErrorCode::Format, index.string() + ": no object \"weight_map\"; the index is damaged");
    }
    std::set<std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
      const std::string name = shard.is_string() ? shard.get<std::string>() : "";
      // A file name from a file: it must be one plain name, in the same folder.
      if (name.empty() || name == "." || name == ".." ||
          name.find_first_of(std::string("/\\\0", 3)) != std::string::npos) {
        throw Error(ErrorCode::Format,
                    index.string() + ": the file of " + quote_name(tensor) + " is not a plain file name");
      }
      shards.insert(name);
    }
    for (const std::string& shard : shards) add_file(part, index.parent_path() / shard);
    for (const auto& [tensor, shard] : map->items()) {
      if (find(part + "." + tensor) == nullptr) {
        throw Error(ErrorCode::Format,
                    index.string() + ": the tensor " + quote_name(tensor) + " is in none of the files");
      }
    }
  }

  void add_config(const std::string& key, const Path& path) {
    if (!is_file(path)) return;
    side_json_ += (side_json_.empty() ? "" : ",") + json_string(key) + ":" + read_json_object(path);
  }

  std::vector<std::unique_ptr<Checkpoint>> files_;
};

}  // namespace

std::unique_ptr<Checkpoint> open_diffusers_folder(const Path& path) { return std::make_unique<DiffusersFolder>(path); }

}  // namespace cinnabar::formats
