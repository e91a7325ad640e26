#include "cinnabar/train/saver.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <ATen/ATen.h>

#include "cinnabar/adapters/python_text.h"
#include "cinnabar/adapters/thumbnail.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/train/finite_check.h"

namespace cinnabar::train {

namespace {

double unix_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::optional<at::ScalarType> precision_of(const schema::Values& values) {
  const std::string name = values.maybe_text("save_precision").value_or("");
  if (name == "fp16") return at::kHalf;
  if (name == "bf16") return at::kBFloat16;
  if (name == "float" || name == "fp32") return at::kFloat;
  return std::nullopt;
}

bool is_gone(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::status(folder, error).type() == std::filesystem::file_type::not_found;
}

}  // namespace

Saver::Saver(adapters::AdapterSet& set, adapters::TrainingFacts facts, const schema::Values& values,
             base::EventSink& events)
    : set_(set), facts_(std::move(facts)), values_(values), events_(events), folder_(values.text("output_dir")) {
  extension_ = "." + values_.maybe_text("save_model_as").value_or("safetensors");
  if (extension_ != ".safetensors")
    events_.log("save_model_as " + extension_.substr(1) + ": files of this format hold no metadata.");
  if (const auto picture = values_.maybe_text("metadata_thumbnail"))
    values_.set("metadata_thumbnail", adapters::thumbnail_url(*picture));
}

std::filesystem::path Saver::save(const std::string& stem, const SavedAt& at) {
  prepare(stem, at)();
  return path_of(stem);
}

std::function<void()> Saver::prepare(const std::string& stem, const SavedAt& at) {
  adapters::SavePoint point{unix_time_s(), at.step, at.epoch};
  if (at.is_averaged) {
    point.ema = "decay=" + adapters::python_float(values_.maybe_number("ema_decay").value_or(0.999)) +
                ",every=" + std::to_string(values_.maybe_integer("ema_update_every").value_or(1));
  }
  auto tensors = std::make_shared<std::vector<std::pair<std::string, at::Tensor>>>();
  // Live tensors change with the next step.
  for (const auto& [name, tensor] : set_.file_tensors(precision_of(values_)))
    tensors->emplace_back(name, tensor.clone());
  check_finite(*tensors, path_of(stem), true);
  if (!stem.ends_with(kRawEnding)) saved_[stem] = at.step;
  return [tensors, path = path_of(stem), metadata = adapters::training_metadata(facts_, values_, point), at,
          events = &events_, is_told = std::make_shared<bool>(false)] {
    base::kill_point("network.before");
    if (is_gone(path.parent_path())) {
      throw base::Error(base::ErrorCode::Io, "output_dir " + path.parent_path().string() +
                                                 " is gone: moved, removed, or its disk is no longer mounted. Put it "
                                                 "back, or make it anew (mkdir -p)");
    }
    adapters::AdapterSet::write_file(path, *tensors, metadata);
    base::kill_point("network.written");
    if (!std::exchange(*is_told, true)) events->saved(path, "adapter", at.step, at.epoch);
  };
}

bool Saver::make_folder_anew() {
  if (!is_gone(folder_) || !base::make_folders(folder_)) return false;
  events_.warning("output_dir " + folder_.string() +
                  " has not come back and is made anew; what was saved before is not in it");
  return true;
}

SavedFile Saver::nearest(int64_t step) const {
  const auto distance = [&](const auto& item) { return std::abs(item.second - step); };
  const auto found = std::ranges::min_element(saved_, {}, distance);
  return found == saved_.end() ? SavedFile{} : SavedFile{found->first + extension_, found->second};
}

std::function<void()> Saver::prepare_removal(const std::string& stem) {
  saved_.erase(stem);
  return [this, stem] {
    base::kill_point("network.removing");
    for (const std::string& name : {stem + extension_, stem + kRawEnding + extension_}) {
      const std::filesystem::path path = folder_ / name;
      if (base::file_calls().unlink(path) == 0) {
        events_.log("Removed the older " + name + ".");
      } else if (errno != ENOENT) {
        events_.warning("cannot remove the older " + path.string() + ": " + std::strerror(errno));
      }
    }
  };
}

}  // namespace cinnabar::train
