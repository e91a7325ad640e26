#include "faults/soak/material.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/checkpoint.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

const Words& pick(const std::vector<Words>& choices, std::mt19937_64& random) {
  return choices[random() % choices.size()];
}

void add(Words& words, const Words& more) { words.insert(words.end(), more.begin(), more.end()); }

// Name -> bytes.
std::map<std::string, std::string> tensors_of(const fs::path& path) {
  std::map<std::string, std::string> result;
  const auto file = formats::Checkpoint::open(path);
  for (const auto& [name, view] : file->tensors())
    result[name] = std::string(reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size());
  return result;
}

std::string tensor_difference(const fs::path& expected, const fs::path& found) {
  if (fs::exists(expected) != fs::exists(found)) return found.string() + ": only one of both has it";
  if (!fs::exists(expected)) return {};
  const auto one = tensors_of(expected);
  const auto other = tensors_of(found);
  if (one.size() != other.size()) return found.string() + ": another number of tensors";
  for (const auto& [name, bytes] : one) {
    if (!other.contains(name)) return found.string() + ": no " + name;
    if (other.at(name) != bytes) return found.string() + ": " + name + " differs";
  }
  return {};
}

std::vector<json> events_of(const fs::path& run) {
  std::vector<json> events;
  if (!fs::exists(run / "events.jsonl")) return events;
  std::istringstream lines(base::read_file(run / "events.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    json event = json::parse(line, nullptr, false);
    if (event.is_object()) events.push_back(std::move(event));
  }
  return events;
}

std::vector<fs::path> runs_of(const fs::path& workspace) {
  std::vector<fs::path> runs;
  for (const auto& run : fs::directory_iterator(workspace / "runs")) runs.push_back(run.path());
  std::sort(runs.begin(), runs.end(), [](const fs::path& a, const fs::path& b) {
    // TIME-NAME before TIME-NAME-2 before TIME-NAME-10.
    const std::string one = a.filename().string();
    const std::string other = b.filename().string();
    const std::string time = one.substr(0, 15);
    if (time != other.substr(0, 15)) return time < other.substr(0, 15);
    return one.size() != other.size() ? one.size() < other.size() : one < other;
  });
  return runs;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

void copy_pictures(const fs::path& folder) {
  const fs::path source = fs::path(CINNABAR_SHARE_DIR) / "embedded/pictures/1_subjects";
  std::vector<std::string> stems;
  for (const auto& entry : fs::directory_iterator(source)) {
    if (entry.path().extension() == ".png") stems.push_back(entry.path().stem().string());
  }
  std::sort(stems.begin(), stems.end());
  for (size_t i = 0; i < 5; ++i) {
    const fs::path to = folder / "data" / (i < 3 ? "2_three" : "1_two");
    fs::create_directories(to);
    for (const char* extension : {".png", ".txt"}) fs::copy(source / (stems[i] + extension), to);
  }
}

Words drawn_training(uint64_t seed) {
  std::mt19937_64 random(seed);
  Words words{"train",
              "--pretrained_model_name_or_path",
              "embedded",
              "--train_data_dir",
              "data",
              "--output_dir",
              "out",
              "--output_name",
              "run",
              "--workspace",
              "work",
              "--threads",
              "1",
              "--resolution",
              "64",
              "--seed",
              "7",
              "--network_module",
              "networks.lora",
              "--network_dim",
              "2",
              "--save_state",
              "--max_train_steps",
              "10"};
  add(words,
      pick({{"--optimizer_type", "AdamW", "--learning_rate", "1e-3"},
            {"--optimizer_type", "AdamW8bit", "--learning_rate", "1e-3"},
            {"--optimizer_type", "Lion", "--learning_rate", "1e-4"},
            {"--optimizer_type", "SGDNesterov", "--learning_rate", "1e-2"},
            {"--optimizer_type", "Prodigy", "--learning_rate", "1"},
            {"--optimizer_type", "DAdaptAdam", "--learning_rate", "1"},
            {"--optimizer_type", "AdaFactor", "--learning_rate", "1e-3", "--optimizer_args", "relative_step=False"},
            {"--optimizer_type", "AdamWScheduleFree", "--learning_rate", "1e-3"}},
           random));
  add(words, pick({{},
                   {},
                   {"--mixed_precision", "bf16"},
                   {"--mixed_precision", "fp16"},
                   {"--mixed_precision", "bf16", "--full_bf16"}},
                  random));
  add(words, pick({{"--train_batch_size", "1"},
                   {"--train_batch_size", "2"},
                   {"--train_batch_size", "1", "--gradient_accumulation_steps", "2"},
                   {"--train_batch_size", "3", "--micro_batch_size", "2"}},
                  random));
  add(words, pick({{},
                   {"--network_dropout", "0.2"},
                   {"--network_args", "rank_dropout=0.2", "module_dropout=0.1"},
                   {"--scale_weight_norms", "0.5"}},
                  random));
  add(words, pick({{}, {"--ema"}, {"--ema", "--ema_decay", "0.9", "--ema_save_raw"}}, random));
  add(words, pick({{}, {"--validation_split", "0.4", "--validate_every_n_steps", "3", "--max_validation_steps", "1"}},
                  random));
  add(words, pick({{},
                   {"--cache_latents"},
                   {"--cache_latents_to_disk", "--vae_batch_size", "2"},
                   {"--shuffle_caption", "--flip_aug", "--caption_dropout_rate", "0.2"},
                   {"--cache_latents_to_disk", "--network_train_unet_only", "--cache_text_encoder_outputs_to_disk"}},
                  random));
  add(words, pick({{"--max_data_loader_n_workers", "0"},
                   {"--max_data_loader_n_workers", "1"},
                   {"--max_data_loader_n_workers", "2"}},
                  random));
  add(words, pick({{"--lr_scheduler", "constant"},
                   {"--lr_scheduler", "cosine", "--lr_warmup_steps", "2"},
                   {"--lr_scheduler", "polynomial"}},
                  random));
  add(words, pick({{"--save_every_n_steps", "2"},
                   {"--save_every_n_steps", "3", "--save_last_n_steps", "3"},
                   {"--save_every_n_epochs", "1"},
                   {"--save_every_n_steps", "1", "--save_last_n_steps", "2"}},
                  random));
  add(words, pick({{}, {"--noise_offset", "0.05"}, {"--gradient_checkpointing"}}, random));
  return words;
}

Words full_training() {
  return {"train",
          "--pretrained_model_name_or_path",
          "embedded",
          "--train_data_dir",
          "data",
          "--output_dir",
          "out",
          "--output_name",
          "run",
          "--workspace",
          "work",
          "--threads",
          "1",
          "--resolution",
          "64",
          "--seed",
          "7",
          "--network_module",
          "networks.lora",
          "--network_dim",
          "2",
          "--network_train_unet_only",
          "--network_dropout",
          "0.1",
          "--learning_rate",
          "1e-3",
          "--lr_scheduler",
          "cosine",
          "--train_batch_size",
          "2",
          "--ema",
          "--cache_latents_to_disk",
          "--save_state",
          "--save_every_n_steps",
          "2",
          "--save_last_n_steps",
          "2",
          "--max_train_steps",
          "7"};
}

std::string difference_of_states(const fs::path& expected, const fs::path& found) {
  const fs::path state = "out/run-state";
  for (const fs::path& file :
       {fs::path("out/run.safetensors"), fs::path("out/run-raw.safetensors"), state / "parameters.safetensors",
        state / "optimizer.safetensors", state / "ema.safetensors"}) {
    if (const std::string text = tensor_difference(expected / file, found / file); !text.empty()) return text;
  }
  const json one = json::parse(base::read_file(expected / state / "state.json"));
  const json other = json::parse(base::read_file(found / state / "state.json"));
  for (const char* key : {"position", "loss_window", "validation", "loss_scale", "ema_updates"}) {
    if (one.at(key) == other.at(key)) continue;
    return "state.json: " + std::string(key) + " is " + other.at(key).dump() + " in place of " + one.at(key).dump();
  }
  return {};
}

std::string difference(const fs::path& expected, const fs::path& found) {
  if (const std::string text = difference_of_states(expected, found); !text.empty()) return text;
  const auto saved = [](const fs::path& folder) {
    return json::parse(base::read_file(folder / "out/run-state/state.json")).at("saved_files");
  };
  if (saved(expected) != saved(found)) return "state.json: saved_files is " + saved(found).dump();
  const auto losses = losses_of(expected / "work");
  const auto others = losses_of(found / "work");
  // The last lines of a killed program may be missing in its record; a resumed run writes them again unless nothing was
  // left to do.
  for (const auto& [step, loss] : others) {
    if (!losses.contains(step)) return "a loss of step " + std::to_string(step) + ", which the unbroken run has not";
    if (losses.at(step) != loss) return "the loss of step " + std::to_string(step) + " differs";
  }
  const auto names = names_in(expected / "out");
  const auto other_names = names_in(found / "out");
  if (names == other_names) return {};
  std::string text = "other files in out:";
  for (const std::string& name : other_names) text += " " + name;
  text += "; expected:";
  for (const std::string& name : names) text += " " + name;
  return text;
}

std::map<int64_t, std::string> losses_of(const fs::path& workspace) {
  std::map<int64_t, std::string> losses;
  for (const fs::path& run : runs_of(workspace)) {
    for (const json& event : events_of(run)) {
      if (event.value("type", "") == "progress" && event.value("phase", "") == "train")
        losses[event.at("step")] = event.at("loss").dump() + " " + event.value("grad_norm", json()).dump();
    }
  }
  return losses;
}

// A training that begins from nothing. Of a run that was killed before its configuration was written nothing is known.
bool is_begun_anew(const fs::path& run) {
  if (!fs::exists(run / "config.json")) return false;
  const json config = json::parse(base::read_file(run / "config.json"));
  return !config.at("values").contains("resume");
}

std::string broken_claim(const fs::path& workspace, int64_t& lost_steps) {
  int64_t claimed = 0;  // by any run of this training so far
  int64_t reached = 0;  // by the run before
  for (const fs::path& run : runs_of(workspace)) {
    if (is_begun_anew(run)) claimed = 0;
    for (const json& event : events_of(run)) {
      const std::string type = event.value("type", "");
      if (type == "resumed") {
        const int64_t step = event.at("step");
        if (step < claimed) {
          return run.filename().string() + " went on from step " + std::to_string(step) +
                 ", though the state of step " + std::to_string(claimed) + " was said to be saved";
        }
        lost_steps = std::max(lost_steps, reached - step);
      }
      if (type == "saved" && event.value("kind", "") == "state")
        claimed = std::max(claimed, event.at("step").get<int64_t>());
      if (type == "progress" && event.value("phase", "") == "train") reached = event.at("step");
    }
  }
  return {};
}

std::string leftover(const fs::path& folder) {
  for (const fs::path& below : {folder / "out", folder / "data", folder / "data/.cinnabar-cache"}) {
    if (!fs::exists(below)) continue;
    for (const std::string& name : names_in(below)) {
      const bool is_temporary = name.starts_with(".committing-") || (name.starts_with(".") && name.ends_with(".tmp"));
      if (is_temporary || name == ".cinnabar-write-test" || name == ".run.lock") return (below / name).string();
    }
  }
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    try {
      if (entry.is_directory()) base::verify_folder(entry.path());
      if (entry.path().extension() == ".safetensors") formats::Checkpoint::open(entry.path());
    } catch (const base::Error& error) {
      return error.message();
    }
  }
  return {};
}

}  // namespace cinnabar::soak
