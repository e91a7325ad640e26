#include "faults/soak/damaged_files.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include "cinnabar/adapters/adapter_set.h"
#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/data/tensor_cache.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/npz.h"
#include "cinnabar/tensor/convert.h"
#include "faults/soak/material.h"
#include "faults/soak/scratch.h"

namespace cinnabar::soak {

namespace {

namespace fs = std::filesystem;

struct Victim {
  fs::path file;
  std::string bytes;
  std::function<void()> read;  // all of it
};

// So that every byte is touched.
void touch(std::span<const std::byte> bytes) {
  uint64_t sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<uint64_t>(byte);
  static std::atomic<uint64_t> sink;
  sink.store(sum);
}

void read_checkpoint(const fs::path& file) {
  const auto found = formats::Checkpoint::open(file);
  for (const auto& [name, view] : found->tensors()) touch(view.bytes);
  found->check();
}

void read_cache(const fs::path& folder) {
  const data::TensorCache cache(folder, "latents");
  for (int i = 0; i < 3; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (!cache.has(key)) continue;
    for (const auto& [name, view] : cache.get(key)) touch(view.bytes);
  }
}

std::vector<Victim> victims(const fs::path& folder) {
  const std::vector<std::pair<std::string, at::Tensor>> tensors{{"lora_up.weight", at::arange(600).to(at::kFloat)},
                                                                {"lora_down.weight", at::ones({300})}};
  std::vector<Victim> all;
  for (const char* name : {"a.safetensors", "a.ckpt"}) {
    adapters::AdapterSet::write_file(folder / name, tensors, {});
    all.push_back({folder / name, {}, [file = folder / name] { read_checkpoint(file); }});
  }
  {
    data::TensorCache cache(folder / "cache", "latents");
    for (int i = 0; i < 3; ++i) {
      const at::Tensor values = at::full({200}, static_cast<double>(i));
      cache.put("key" + std::to_string(i), {{"moments", tensor::view_of(values)}});
    }
    cache.flush();
  }
  for (const auto& entry : fs::directory_iterator(folder / "cache"))
    all.push_back({entry.path(), {}, [cache = folder / "cache"] { read_cache(cache); }});
  const formats::NpyArray array{.shape = {200}, .bytes = std::vector<std::byte>(800, std::byte{3})};
  formats::write_npz(folder / "a.npz", {{"latents", array}});
  all.push_back({folder / "a.npz", {}, [file = folder / "a.npz"] { formats::read_npz(file); }});
  data::Picture picture{.width = 48, .height = 48, .channels = 3, .pixels = {}, .notes = {}};
  for (size_t i = 0; i < size_t{48} * 48 * 3; ++i) picture.pixels.push_back(static_cast<uint8_t>(i * i % 251));
  data::save_png(folder / "a.png", picture, {{"parameters", "steps"}});
  all.push_back({folder / "a.png", {}, [file = folder / "a.png"] { data::load_picture(file); }});
  for (Victim& one : all) one.bytes = base::read_file(one.file);
  return all;
}

void round(const Victim& victim, const std::string& bytes, const std::string& what, Tally& tally) {
  std::ofstream(victim.file, std::ios::binary | std::ios::trunc) << bytes;
  ++tally.rounds;
  try {
    victim.read();
    ++tally.numbers["read as other data"];
  } catch (const base::Error& error) {
    if (error.message().find(victim.file.filename().string()) == std::string::npos)
      tally.fail(what + ": " + victim.file.filename().string() + " is not named: " + error.message());
  } catch (const std::exception& error) {
    tally.fail(what + " of " + victim.file.filename().string() + ": " + error.what());
  }
  std::ofstream(victim.file, std::ios::binary | std::ios::trunc) << victim.bytes;
}

}  // namespace

void read_damaged_files(int64_t rounds, uint64_t seed, Tally& tally) {
  const Scratch scratch;
  std::mt19937_64 random(seed + 1);
  const std::vector<Victim> all = victims(scratch.path());
  const int64_t end = tally.rounds + rounds;
  for (const Victim& victim : all) {
    for (size_t part = 0; part < 64; ++part) {
      const size_t size = victim.bytes.size() * part / 64;
      round(victim, victim.bytes.substr(0, size), "cut to " + std::to_string(size) + " bytes", tally);
    }
  }
  while (tally.rounds < end) {
    const Victim& victim = all[random() % all.size()];
    std::string changed = victim.bytes;
    const size_t span = random() % 2 == 0 ? std::min<size_t>(changed.size(), 512) : changed.size();
    const size_t at = random() % span;
    const auto bit = static_cast<unsigned>(random() % 8);
    changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
    round(victim, changed, "bit " + std::to_string(bit) + " of byte " + std::to_string(at), tally);
  }
}

}  // namespace cinnabar::soak
