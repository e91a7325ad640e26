#include "cinnabar/sample/sample.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cinnabar/base/drawn_seed.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/file_calls.h"
#include "cinnabar/base/path_kind.h"
#include "cinnabar/base/resources.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/sample/generator.h"
#include "cinnabar/sample/grid.h"
#include "cinnabar/sample/lora_file.h"
#include "cinnabar/sample/lora_tags.h"
#include "cinnabar/sample/parameters_text.h"
#include "cinnabar/sample/picture_name.h"
#include "cinnabar/sample/preview.h"
#include "cinnabar/sample/prompt_file.h"
#include "cinnabar/tensor/device.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/tensor/finite_file.h"

namespace cinnabar::sample {

namespace {

constexpr size_t kModelHashDigits = 10;

std::unique_ptr<models::DiffusionModel> load_model(const std::string& path, const schema::Values& values,
                                                   base::EventSink& events) {
  events.phase("Loading the model.");
  models::LoadOptions options{.dtype = tensor::precision_from(values.maybe_text("mixed_precision").value_or("no")),
                              .device = tensor::device_from(values.maybe_text("device").value_or("auto")),
                              .vae_path = values.maybe_text("vae").value_or("")};
  if (!values.flag("no_half_vae")) options.vae_dtype = options.dtype;
  if (values.flag("v_parameterization")) options.v_parameterization = true;
  options.has_sdscripts_projection = values.flag("sdscripts_text_projection");
  std::unique_ptr<models::DiffusionModel> model = models::load_model(path, options);
  const bool is_nonfinite_allowed = values.flag("allow_nonfinite");
  tensor::check_finite_file(*formats::Checkpoint::open(path), is_nonfinite_allowed, events);
  if (!options.vae_path.empty())
    tensor::check_finite_file(*formats::Checkpoint::open(options.vae_path), is_nonfinite_allowed, events);
  for (const std::string& note : model->info().notes) events.log(note);
  return model;
}

// The first digits of the SHA-256, taken while the model loads and works; empty for folders.
std::future<std::string> start_model_hash(const std::string& path) {
  return std::async(std::launch::async, [path] {
    return std::filesystem::is_regular_file(path) ? base::sha256_hex_of_file(path).substr(0, kModelHashDigits)
                                                  : std::string();
  });
}

std::vector<Prompt> given_prompts(const schema::Values& values, base::EventSink& events) {
  PromptList list;
  const std::vector<std::string> lines = values.texts("prompt");
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string where = lines.size() == 1 ? "prompt" : "prompt " + std::to_string(i + 1);
    auto prompt = parse_prompt_line(lines[i], where, list.notes);
    if (prompt) list.prompts.push_back(std::move(*prompt));
  }
  if (const auto file = values.maybe_text("prompt_file")) {
    PromptList read = read_prompt_file(*file);
    list.prompts.insert(list.prompts.end(), read.prompts.begin(), read.prompts.end());
    list.notes.insert(list.notes.end(), read.notes.begin(), read.notes.end());
  }
  std::vector<std::string> names;
  for (const std::string& word : values.texts("lora")) names.push_back(parse_lora_word(word).path.stem().string());
  apply_lora_tags(list.prompts, names, list.notes);
  for (const std::string& note : list.notes) events.warning(note);
  if (list.prompts.empty()) {
    throw base::Error(base::ErrorCode::Data,
                      "there is no prompt to make a picture of: give --prompt, or a prompt_file "
                      "with at least one line");
  }
  return list.prompts;
}

// Each prompt images_per_prompt times, with seeds that count up.
std::vector<SampleRequest> make_requests(const std::vector<Prompt>& prompts, const schema::Values& values) {
  const int64_t copies = values.maybe_integer("images_per_prompt").value_or(1);
  const auto seed = values.maybe_integer("seed");
  SampleRequest defaults{.negative_prompt = values.maybe_text("negative_prompt").value_or(""),
                         .width_px = values.maybe_integer("width").value_or(0),
                         .height_px = values.maybe_integer("height").value_or(0),
                         .steps = values.maybe_integer("sample_steps").value_or(30),
                         .scale = values.maybe_number("scale").value_or(7.5),
                         .seed = static_cast<uint64_t>(seed ? *seed : base::drawn_seed()),
                         .sampler = values.maybe_text("sample_sampler").value_or("ddim")};
  std::vector<SampleRequest> requests;
  for (const Prompt& prompt : prompts) {
    for (int64_t copy = 0; copy < copies; ++copy) {
      SampleRequest request = request_of(prompt, defaults);
      if (prompt.seed) request.seed += static_cast<uint64_t>(copy);
      requests.push_back(std::move(request));
      ++defaults.seed;
    }
  }
  return requests;
}

// What the model makes of a size that was asked for; "" when it is kept.
std::string size_note(const SampleRequest& asked, const SampleRequest& made) {
  std::string note;
  for (const auto& [name, from, to] :
       {std::tuple("width", asked.width_px, made.width_px), std::tuple("height", asked.height_px, made.height_px)}) {
    if (from == 0 || from == to) continue;
    note += (note.empty() ? "" : "; ") + std::string(name) + " = " + std::to_string(from) + ": taken as " +
            std::to_string(to) + ", which this model can make";
  }
  return note;
}

std::filesystem::path output_folder(const schema::Values& values) {
  return values.maybe_text("output_dir").value_or("output");
}

// Before the model is loaded, which may take long.
void make_output_folder(const std::filesystem::path& folder) {
  if (base::make_folders(folder)) return;
  const int problem = errno;
  throw base::Error(base::is_no_space(problem) ? base::ErrorCode::OutOfSpace : base::ErrorCode::Io,
                    folder.string() + ": the output folder cannot be made: " + std::strerror(problem) +
                        "; name another one with --output_dir");
}

// Writes what the generator makes, and the grid of it.
class Output {
 public:
  Output(const schema::Values& values, PictureFacts facts, std::future<std::string> model_hash, base::EventSink& events)
      : facts_(std::move(facts)),
        model_hash_(std::move(model_hash)),
        events_(events),
        folder_(output_folder(values)),
        stem_(values.maybe_text("output_name").value_or("sample") + "_" + time_text()),
        with_grid_(values.flag("grid")),
        columns_(values.maybe_integer("images_per_prompt").value_or(1)) {}

  void add(size_t index, Generated&& made) {
    if (model_hash_.valid()) facts_.model_hash = model_hash_.get();
    PictureFacts facts = facts_;
    for (const auto& [place, weight] : made.request.lora_weights) facts.loras.at(place).weight = weight;
    const std::string text = parameters_text(made.request, facts);
    if (count_++ == 0) first_text_ = text;
    std::string number = std::to_string(index + 1);
    if (number.size() < 4) number.insert(0, 4 - number.size(), '0');
    const std::filesystem::path path =
        write_new_file(folder_ / (stem_ + "_" + number + "_" + std::to_string(made.request.seed) + ".png"),
                       [&](const auto& file) { data::save_png(file, made.picture, {{"parameters", text}}); });
    events_.sample(path, made.request.prompt, static_cast<int64_t>(made.request.seed), 0);
    if (with_grid_) pictures_.push_back(std::move(made.picture));
  }

  void finish() {
    std::map<std::string, base::EventValue> result{{"output", folder_.string()},
                                                   {"pictures", static_cast<int64_t>(count_)}};
    if (pictures_.size() > 1) {
      // The pictures of one prompt stand in one row.
      const data::Picture grid = join_grid(pictures_, {.columns = columns_ > 1 ? columns_ : 0});
      const std::filesystem::path path = write_new_file(folder_ / (stem_ + "_grid.png"), [&](const auto& file) {
        data::save_png(file, grid, {{"parameters", first_text_}});
      });
      events_.saved(path, "picture", 0);
      result["grid"] = path.string();
    }
    events_.result(result);
  }

 private:
  PictureFacts facts_;
  std::future<std::string> model_hash_;
  base::EventSink& events_;
  std::filesystem::path folder_;
  std::string stem_;
  bool with_grid_;
  int64_t columns_;
  size_t count_ = 0;
  std::string first_text_;
  std::vector<data::Picture> pictures_;
};

}  // namespace

void run(const schema::Values& values, base::EventSink& events, const std::atomic<bool>& stop) {
  const std::string path =
      base::resolved(values.text("pretrained_model_name_or_path"), "embedded/model.safetensors").string();
  const std::vector<SampleRequest> requests = make_requests(given_prompts(values, events), values);
  for (const std::string& note : unused_option_notes(requests, values)) events.warning(note);
  make_output_folder(output_folder(values));
  const std::unique_ptr<models::DiffusionModel> model = load_model(path, values, events);
  std::future<std::string> model_hash = start_model_hash(path);

  GeneratorOptions options{.text = {.max_token_length = values.maybe_integer("max_token_length").value_or(75),
                                    .clip_skip = values.maybe_integer("clip_skip").value_or(0)},
                           .sampler = samplers::with_values({}, values),
                           .batch_size = values.maybe_integer("batch_size").value_or(1),
                           .stop = &stop};
  options.on_call = [&](int64_t done, int64_t total) {
    events.progress({.phase = "sample", .step = done, .total = total});
  };
  PictureFacts facts{.model_name = std::filesystem::path(path).stem().string(),
                     .clip_skip = options.text.clip_skip,
                     .has_karras_sigmas = options.sampler.has_karras_sigmas};
  std::vector<LoadedLora> loras;
  options.set_loras = [&](const std::map<size_t, double>& weights) {
    for (size_t i = 0; i < loras.size(); ++i) {
      const auto own = weights.find(i);
      loras[i].adapters->set_multiplier(own == weights.end() ? loras[i].use.weight : own->second);
    }
  };
  for (const std::string& word : values.texts("lora")) {
    loras.push_back(load_lora(*model, parse_lora_word(word), events, values.flag("allow_nonfinite")));
    facts.loras.push_back(loras.back().use);
  }

  const Generator sizes(*model, options);
  std::set<std::string> told;
  for (const SampleRequest& request : requests) {
    const std::string note = size_note(request, sizes.completed(request));
    if (!note.empty() && told.insert(note).second) events.warning(note);
  }
  events.phase(requests.size() == 1 ? "Making a picture." : "Making " + std::to_string(requests.size()) + " pictures.");
  Output output(values, std::move(facts), std::move(model_hash), events);
  try {
    Generator(*model, options).run(requests, [&](size_t index, Generated&& made) {
      output.add(index, std::move(made));
    });
  } catch (const base::Error& error) {
    if (error.code() != base::ErrorCode::Cancelled) throw;
  }
  output.finish();
}

}  // namespace cinnabar::sample
