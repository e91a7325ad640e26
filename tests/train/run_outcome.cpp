#include "train/run_outcome.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <set>
#include <stdexcept>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/base/events.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/safetensors_writer.h"
#include "cinnabar/jobs/command_schemas.h"
#include "cinnabar/models/model_family.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/train/trainer.h"

namespace cinnabar::test {

namespace {

namespace fs = std::filesystem;

const std::map<std::string, std::string> kBase{{"--pretrained_model_name_or_path", "tiny.safetensors"},
                                               {"--train_data_dir", "data"},
                                               {"--resolution", "64"},
                                               {"--output_dir", "out"},
                                               {"--output_name", "x"},
                                               {"--network_dim", "2"},
                                               {"--learning_rate", "1e-2"},
                                               {"--seed", "1"},
                                               {"--max_train_steps", "2"},
                                               {"--max_data_loader_n_workers", "0"},
                                               {"--device", "cpu"}};

void write_model(const std::string& family, uint64_t seed, const fs::path& path) {
  const auto model = models::model_families().at(family).create({.size = "tiny", .seed = seed});
  std::vector<at::Tensor> kept;
  std::vector<formats::NamedTensor> tensors;
  for (const auto& [name, value] : models::file_tensors(*model)) {
    kept.push_back(value.detach().to(at::kCPU).contiguous());
    tensors.push_back({name, tensor::view_of(kept.back())});
  }
  const std::string side = std::to_string(model->info().native_side_px);
  formats::write_safetensors(path, std::move(tensors), {{"modelspec.resolution", side + "x" + side}});
}

// A smooth picture with something in it; `channels` 4 has a half transparent side.
void write_picture(const fs::path& path, data::Size size, int64_t channels) {
  data::Picture picture{.width = size.width, .height = size.height, .channels = channels, .pixels = {}, .notes = {}};
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      for (int64_t c = 0; c < channels; ++c) {
        const int64_t value =
            c == 3 ? (x * 2 < size.width ? 60 : 255) : (x * (c + 2) + y * 3 + (x / 9 + y / 7) * 40) % 256;
        picture.pixels.push_back(static_cast<uint8_t>(value));
      }
    }
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  data::save_png(path, picture);
}

void write_text(const fs::path& path, const std::string& text) {
  if (path.has_parent_path()) fs::create_directories(path.parent_path());
  base::write_file(path, text);
}

// Dates and times of names, and what else differs from run to run, become one sign.
std::string without_times(std::string text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end - i >= 10) {
      result += '#';
      i = end;
    } else {
      result += text.substr(i, std::max<size_t>(1, end - i));
      i = std::max(end, i + 1);
    }
  }
  return result;
}

// The line of the memory used differs by a MiB from run to run; that it is said is what counts.
std::string without_amounts(const std::string& text) {
  if (!text.starts_with("Memory: ")) return text;
  std::string result;
  for (const char letter : text) {
    if (std::isdigit(static_cast<unsigned char>(letter)) == 0) result += letter;
  }
  return result;
}

std::set<fs::path> files_below(const fs::path& folder) {
  std::set<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.insert(entry.path().lexically_relative(folder));
  }
  return files;
}

// The keys of TensorBoard records, found by their beginnings.
std::string record_keys(const std::string& bytes) {
  std::set<std::string> keys;
  for (const std::string start : {"loss/", "lr/", "norm/", "max_norm/"}) {
    for (size_t at = bytes.find(start); at != std::string::npos; at = bytes.find(start, at + 1)) {
      size_t end = at;
      while (end < bytes.size() && std::isgraph(static_cast<unsigned char>(bytes[end])) != 0) ++end;
      keys.insert(bytes.substr(at, end - at));
    }
  }
  std::string text;
  for (const std::string& key : keys) text += key + " ";
  return text;
}

void read_events(const std::vector<std::string>& lines, std::map<Part, std::string>& outcome) {
  for (const std::string& line : lines) {
    const auto event = nlohmann::json::parse(line);
    const std::string type = event.at("type");
    if (type == "log" || type == "warning" || type == "phase") {
      outcome[Part::Messages] += type + ": " + without_amounts(event.at("text").get<std::string>()) + "\n";
    }
    if (type != "progress") continue;
    const std::string phase = event.at("phase");
    if (phase == "train") {
      outcome[Part::Losses] += event.at("loss").dump() + " ";
    } else {
      outcome[Part::Progress] += phase + " " + event.at("step").dump() + "/" + event.at("total").dump() + "\n";
    }
  }
}

void read_network(const fs::path& path, std::map<Part, std::string>& outcome) {
  if (!fs::exists(path)) return;
  const auto file = formats::Checkpoint::open(path);
  const auto& metadata = file->metadata();
  outcome[Part::Weights] = metadata.at("sshs_model_hash");
  std::set<std::string> parts;
  for (const auto& [key, view] : file->tensors()) {
    outcome[Part::Types] += key + " " + std::string(formats::to_string(view.dtype)) + "\n";
    const at::Tensor values = tensor::copy(view, at::kFloat);
    if (!values.isfinite().all().item<bool>()) outcome[Part::Error] += key + " is not finite\n";
    // Up matrices begin as zeros. "lora_te1_text_model_...": te1.
    const bool is_changed = key.ends_with(".lora_up.weight") && values.any().item<bool>();
    if (is_changed) parts.insert(key.substr(5, key.find('_', 5) - 5));
  }
  for (const std::string& part : parts) outcome[Part::Trained] += part + " ";
  for (const auto& [key, value] : metadata) {
    const bool is_varying = key.starts_with("sshs_") || key.starts_with("ss_training_started") ||
                            key.starts_with("ss_training_finished") || key == "ss_session_id" ||
                            key == "modelspec.date" || key == "modelspec.hash_sha256";
    if (!is_varying) outcome[Part::Metadata] += key + "=" + value + "\n";
  }
}

// Three pictures in two folders, with captions that every option of captions changes, and what goes with them.
void make_trained_pictures() {
  write_picture("data/2_cat/a.png", {96, 64}, 3);
  write_picture("data/1_dog/b.png", {64, 64}, 4);
  write_picture("data/1_dog/c.png", {128, 160}, 3);
  for (const char* name : {"2_cat/a", "1_dog/b", "1_dog/c"}) {
    const std::string path = std::string("data/") + name;
    write_text(path + ".txt", "cat;sat, red ||| {big|small}, (soft:1.4);;round, one, two, three");
    write_text(path + ".other", "something else");
  }
  write_picture("reg/1_pet/r.png", {64, 64}, 3);
  write_text("reg/1_pet/r.txt", "a pet");
  write_picture("masks/a.png", {96, 64}, 3);
  write_picture("masks/b.png", {64, 64}, 3);
  write_picture("masks/c.png", {64, 80}, 3);
  for (const char* name : {"masks/2_cat/a", "masks/1_dog/b", "masks/1_dog/c"}) {
    write_picture(std::string(name) + ".png",
                  std::string(name).ends_with("b") ? data::Size{64, 64} : data::Size{96, 64}, 3);
  }
}

// A prompt for every sampler, other names of it included, and the other two kinds of prompt files.
void write_more_prompts() {
  std::string lines;
  const schema::Schema schema = jobs::train_schema();
  for (const schema::EntryTable& table : schema.tables()) {
    if (table.kind != "sampler") continue;
    for (const schema::Entry& entry : table.entries)
      lines += "a cat --d 1 --s 2 --w 64 --h 64 --ss " + entry.name + "\n";
  }
  write_text("samplers.txt", lines);
  write_text("prompts.toml",
             "[prompt]\nwidth = 64\nheight = 64\nsample_steps = 2\n[[prompt.subset]]\nprompt = \"a (red:1.3) cat\"\n"
             "seed = 1\n[[prompt.subset]]\nprompt = \"a dog\"\nnegative_prompt = \"a cat\"\nscale = 2.5\n");
  write_text("prompts.json",
             R"([{"prompt": "a cat", "width": 64, "height": 96, "sample_steps": 2}, "a dog --s 2 --w 64 --h 64"])");
}

// Data set files: two sizes, masks and captions of one subset's own, regularisation.
void write_data_sets() {
  write_text("set.toml",
             "[[datasets]]\nresolution = 64\nbatch_size = 1\n[[datasets.subsets]]\nimage_dir = \"deep/1_d\"\n");
  write_text("sets.json", R"({"general": {"caption_extension": ".txt", "shuffle_caption": true, "flip_aug": true},
    "datasets": [{"resolution": 64, "batch_size": 2, "subsets": [
        {"image_dir": "data/2_cat", "num_repeats": 2, "keep_tokens": 1, "alpha_mask": true},
        {"image_dir": "data/1_dog", "caption_prefix": "photo,", "random_crop": true}]},
      {"resolution": [96, 64], "enable_bucket": true, "min_bucket_reso": 32, "max_bucket_reso": 128,
       "bucket_reso_steps": 32, "subsets": [{"image_dir": "data/1_dog", "color_aug": true},
        {"image_dir": "reg/1_pet", "is_reg": true, "class_tokens": "pet"}]}]})");
}

// Folders that single options need, and prompts.
void make_data() {
  make_trained_pictures();
  write_picture("deep/1_d/p.png", {64, 64}, 3);
  write_picture("deep/1_d/inner/q.png", {64, 64}, 3);
  write_picture("broken/1_d/p.png", {64, 64}, 3);
  write_text("broken/1_d/q.png", "no picture");
  write_picture("faces/1_f/face_40_40_20_20.png", {128, 96}, 3);
  write_text("faces/1_f/face.txt", "someone");
  write_picture("lines/1_l/p.png", {64, 64}, 3);
  write_text("lines/1_l/p.txt", "first line\nsecond line");
  write_picture("bare/1_b/p.png", {64, 64}, 3);
  write_picture("bare/1_b/q.png", {64, 64}, 3);
  write_text("bare/1_b/q.txt", "with a caption");
  write_picture("cached/1_c/p.png", {64, 64}, 3);
  write_text("cached/1_c/p.txt", "kept");
  write_data_sets();
  for (const char* name : {"p", "q", "r", "s"}) write_picture(std::string("many/1_m/") + name + ".png", {64, 64}, 3);
  write_text("long.txt", "a cat --d 1 --s 16 --w 64 --h 64\n");
  write_text("prompts.txt", "a cat --d 1 --s 3 --w 64 --h 64\n");
  write_more_prompts();
}

}  // namespace

Laboratory::Laboratory(const std::string& family) {
  fs::current_path(folder_ / "");
  at::set_num_threads(1);
  write_model(family, 1, "tiny.safetensors");
  write_model(family, 2, "other.safetensors");
  if (family == "sdxl") {
    fs::copy_file("tiny.safetensors", "xl.safetensors");
  } else {
    write_model("sdxl", 1, "xl.safetensors");
  }
  make_data();
  compute({"--pretrained_model_name_or_path", family == "sd1" ? "embedded" : "tiny.safetensors", "--train_data_dir",
           "cached", "--write_npz"});
  const auto before = compute({"--output_name", "before", "--save_state_on_train_end"});
  if (before.contains(Part::Error)) throw std::runtime_error("the first run fails: " + before.at(Part::Error));
  fs::rename("out/before.safetensors", "before.safetensors");
  fs::rename("out/before-state", "before-state");
  fs::remove_all("out");
  own_files_ = files_below(".");
}

const std::map<Part, std::string>& Laboratory::run(const Words& words) {
  auto found = known_.find(words);
  if (found == known_.end()) found = known_.emplace(words, compute(words)).first;
  return found->second;
}

std::map<Part, std::string> Laboratory::compute(const Words& words) const {
  if (!own_files_.empty()) {
    for (const fs::path& file : files_below(".")) {
      if (!own_files_.contains(file)) fs::remove(file);
    }
  }
  for (const fs::path& file : files_below("data")) {
    if (file.extension() == ".npz") fs::remove("data" / file);
  }
  const std::set<fs::path> before = files_below(".");
  Words all;
  for (const auto& [name, value] : kBase) {
    if (std::find(words.begin(), words.end(), name) == words.end()) all.insert(all.end(), {name, value});
  }
  all.insert(all.end(), words.begin(), words.end());
  std::map<Part, std::string> outcome;
  base::RecordedEvents events;
  std::string name = "x";
  fs::path folder = "out";
  try {
    const schema::Config config = schema::read_config(jobs::train_schema(), "train", all);
    name = config.values.text("output_name");
    folder = config.values.text("output_dir");
    const std::atomic<bool> stop{false};
    train::run(config.values, events, stop);
  } catch (const std::exception& error) {
    outcome[Part::Error] = error.what();
  }
  outcome[Part::Threads] = std::to_string(at::get_num_threads());
  at::set_num_threads(1);
  read_events(events.lines(), outcome);
  read_network(folder / (name + ".safetensors"), outcome);
  for (const fs::path& file : files_below(".")) {
    if (before.contains(file)) continue;
    const std::string shown = without_times(file.string());
    outcome[Part::Files] += shown + "\n";
    if (file.extension() == ".png") {
      outcome[Part::Pictures] += shown + " " + base::sha256_hex(base::read_file(file)) + "\n";
    }
    if (shown.find("tfevents") != std::string::npos) {
      outcome[Part::Records] +=
          shown.substr(0, shown.find("events.out")) + " " + record_keys(base::read_file(file)) + "\n";
    }
  }
  return outcome;
}

std::string part_of(const std::map<Part, std::string>& outcome, Part part) {
  const auto found = outcome.find(part);
  return found == outcome.end() ? "" : found->second;
}

}  // namespace cinnabar::test
