#include "cinnabar/sample/preview.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <map>
#include <utility>

#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/local_time.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/sample/lora_tags.h"
#include "cinnabar/samplers/entry.h"

namespace cinnabar::sample {

namespace {

// Of the option output_name: unset in the reference, and then not part of the names of pictures.
constexpr const char* kDefaultOutputName = "last";

std::string padded(int64_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return text.size() >= digits ? text : std::string(digits - text.size(), '0') + text;
}

bool is_one_colour(const data::Picture& picture) {
  const auto channels = static_cast<size_t>(picture.channels);
  for (size_t i = channels; i < picture.pixels.size(); ++i) {
    if (picture.pixels[i] != picture.pixels[i - channels]) return false;
  }
  return true;
}

}  // namespace

std::string time_text() { return base::local_time("%Y%m%d%H%M%S"); }

std::vector<std::string> unused_option_notes(const std::vector<SampleRequest>& requests, const schema::Values& values) {
  std::map<std::string, std::vector<std::string>> unused;
  for (const SampleRequest& request : requests) {
    unused.try_emplace(request.sampler, samplers::unused_options(request.sampler, values));
  }
  std::vector<std::string> notes;
  for (const auto& [sampler, options] : unused) {
    for (const std::string& option : options) notes.push_back(option + ": has no effect with the sampler " + sampler);
  }
  return notes;
}

Previews::Previews(const schema::Values& values, const models::ModelInfo& info, PictureFacts facts,
                   base::EventSink& events)
    : generator_{.text = {.max_token_length = values.maybe_integer("max_token_length").value_or(75),
                          .clip_skip = values.maybe_integer("clip_skip").value_or(0)},
                 .sampler = samplers::with_values({}, values)},
      facts_(std::move(facts)),
      every_n_steps_(values.maybe_integer("sample_every_n_steps").value_or(0)),
      every_n_epochs_(values.maybe_integer("sample_every_n_epochs").value_or(0)),
      at_start_(values.flag("sample_at_first")) {
  facts_.clip_skip = generator_.text.clip_skip;
  facts_.has_karras_sigmas = generator_.sampler.has_karras_sigmas;
  folder_ = std::filesystem::path(values.maybe_text("output_dir").value_or(".")) / "sample";
  const std::string name = values.maybe_text("output_name").value_or(kDefaultOutputName);
  if (name != kDefaultOutputName) prefix_ = name + "_";

  const auto prompts = values.maybe_text("sample_prompts");
  if (!prompts) {
    if (every_n_steps_ > 0 || every_n_epochs_ > 0 || at_start_)
      events.warning("no preview pictures: sample_prompts names no file of prompts");
    return;
  }
  PromptList list;
  try {
    list = read_prompt_file(*prompts);
  } catch (const base::Error& error) {
    list.notes.push_back("no preview pictures: " + error.message());
  }
  // A sampler that the schema lets pass, but no program that was started without it.
  std::string sampler = values.maybe_text("sample_sampler").value_or("ddim");
  if (samplers::entries().find(sampler) == nullptr) {
    list.notes.push_back("sample_sampler = " + sampler + ": no such sampler, ddim is taken");
    sampler = "ddim";
  }
  if (generator_.sampler.noise_table == "zero_terminal" && info.objective != models::Objective::Velocity) {
    list.notes.emplace_back(
        "sample_noise_table = zero_terminal: only for models that predict v; the plain one is taken");
    generator_.sampler.noise_table = "plain";
  }
  drop_lora_tags(list.prompts, list.notes);
  // Without a seed of its own a prompt gets the run's, so that its pictures show the training and not the noise.
  SampleRequest defaults{.width_px = info.native_side_px,
                         .height_px = info.native_side_px,
                         .seed = static_cast<uint64_t>(values.maybe_integer("seed").value_or(0)),
                         .sampler = sampler};
  for (const Prompt& prompt : list.prompts) {
    requests_.push_back(request_of(prompt, defaults));
    has_seed_.push_back(prompt.seed.has_value());
    ++defaults.seed;
  }
  for (std::string& note : unused_option_notes(requests_, values)) list.notes.push_back(std::move(note));
  for (const std::string& note : list.notes) events.warning(note);
}

bool Previews::due(const PreviewPoint& point) const {
  if (requests_.empty()) return false;
  if (point.is_start) return at_start_;
  if (every_n_epochs_ > 0) return point.is_epoch_end && point.epoch % every_n_epochs_ == 0;
  return every_n_steps_ > 0 && !point.is_epoch_end && point.step > 0 && point.step % every_n_steps_ == 0;
}

std::string Previews::place_of(const PreviewPoint& point) const {
  const bool has_epoch = point.is_start || point.is_epoch_end;
  return prefix_ + (has_epoch ? "e" + padded(point.epoch, 6) : padded(point.step, 6)) + "_";
}

std::filesystem::path Previews::path_of(const PreviewPoint& point, size_t index, const std::string& time) const {
  const std::string seed = has_seed_.at(index) ? "_" + std::to_string(requests_[index].seed) : std::string();
  return folder_ / (place_of(point) + padded(static_cast<int64_t>(index), 2) + "_" + time + seed + ".png");
}

bool Previews::is_missing(const PreviewPoint& point) const {
  const std::string beginning = place_of(point);
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(beginning)) return false;
  }
  return true;
}

bool Previews::write(const std::filesystem::path& path, const Generated& made, base::EventSink& events) {
  try {
    // Of output_dir nothing is made: when it is gone, its disk may come back.
    if (base::file_calls().make_folder(folder_, 0777) != 0 && errno != EEXIST) {
      throw base::Error(base::ErrorCode::Io, "cannot make " + folder_.string() + ": " + std::strerror(errno));
    }
    data::save_png(path, made.picture, {{"parameters", parameters_text(made.request, facts_)}});
    is_unwritable_ = false;
    return true;
  } catch (const base::Error& error) {
    if (!std::exchange(is_unwritable_, true)) {
      events.warning("preview pictures are lost: " + error.message() +
                     ". The training goes on; this is told once, until one can be written again");
    }
    return false;
  }
}

void Previews::run(models::DiffusionModel& model, const PreviewPoint& point, base::EventSink& events,
                   const std::atomic<bool>& stop) {
  const auto total = static_cast<int64_t>(requests_.size());
  for (size_t i = 0; i < requests_.size() && !stop; ++i) {
    try {
      GeneratorOptions options = generator_;
      options.stop = &stop;
      const Generated made = Generator(model, options).one(requests_[i]);
      if (is_one_colour(made.picture)) {
        events.warning("the preview picture of prompt " + std::to_string(i + 1) + " (\"" + requests_[i].prompt +
                       "\") has a single colour; training may have diverged");
      }
      const std::filesystem::path path = path_of(point, i, time_text());
      if (write(path, made, events))
        events.sample(path, made.request.prompt, static_cast<int64_t>(made.request.seed), point.step);
      events.progress({.phase = "sample", .step = static_cast<int64_t>(i) + 1, .total = total});
    } catch (const std::exception& error) {
      if (stop) return;
      events.warning("the preview picture of prompt " + std::to_string(i + 1) + " (\"" + requests_[i].prompt +
                     "\") failed: " + base::first_line(error.what()));
    }
  }
}

}  // namespace cinnabar::sample
