#include "cinnabar/hardware/advice.h"

#include <algorithm>
#include <cmath>

#include "cinnabar/hardware/advice_tables.h"
#include "cinnabar/hardware/gfx.h"
#include "cinnabar/hardware/text_fields.h"

namespace cinnabar::hardware {

namespace {

constexpr int64_t kGib = int64_t{1} << 30;
// What the system and other programs keep of memory that an integrated GPU shares.
constexpr int64_t kSharedReserve = 4 * kGib;
// More memory does not help a GPU on the system's memory: it is bound by its bandwidth (256 GB/s at most).
constexpr int kUnifiedCapGib = 24;

// "AMD Radeon RX 7600" is the RX 7600; "AMD Radeon RX 7600 XT" is not, and "MI250X / MI250" is the MI250.
bool is_card(const std::string& name, const std::string& card) {
  const std::vector<std::string> words = parts_of(name, ' ');
  const std::vector<std::string> wanted = parts_of(card, ' ');
  const auto found = std::search(words.begin(), words.end(), wanted.begin(), wanted.end());
  if (found == words.end()) return false;
  // A further word of the model's name makes it another card; words such as "Graphics" or "/" do not.
  const auto next = found + static_cast<std::ptrdiff_t>(wanted.size());
  if (next == words.end()) return true;
  return *next == "/" || *next == "Graphics";
}

bool prefers_fp16(const Gpu& gpu) {
  if (gpu.vendor == "nvidia") return gpu.precisions.bf16 != "native";
  return gpu.precisions.bf16 != "native" || gpu.arch == "RDNA3";
}

Recommendation from_tier(const Gpu& gpu, int whole_gib, const char* source) {
  const auto rows = tiers();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const Tier& tier) { return tier.least_gib <= whole_gib; });
  const Tier& tier = row == rows.end() ? rows.back() : *row;
  std::string precision = tier.precision;
  if (precision == "P") precision = prefers_fp16(gpu) ? "fp16" : "bf16";
  return {.source = source,
          .batch_size = tier.batch_size,
          .gradient_accumulation = tier.gradient_accumulation,
          .preset_precision = precision,
          .effective_compute_precision = precision,
          .max_params_billion = tier.max_params_billion};
}

}  // namespace

int64_t memory_budget(const Gpu& gpu) {
  if (gpu.is_integrated && gpu.unified_memory_bytes) {
    return std::max<int64_t>(*gpu.unified_memory_bytes - kSharedReserve, 0);
  }
  const int64_t memory = gpu.vram_bytes.value_or(0);
  return gpu.has_display && memory > 2 * kGib ? memory - kGib : memory;
}

Recommendation recommend_for(const Gpu& gpu) {
  for (const SeedCard& card : seed_cards()) {
    if (!is_card(gpu.name, card.word)) continue;
    Recommendation advice{.source = "seed-table",
                          .batch_size = card.batch_size,
                          .gradient_accumulation = card.gradient_accumulation,
                          .preset_precision = card.precision,
                          .effective_compute_precision = card.precision,
                          .max_params_billion = card.max_params_billion};
    if (advice.preset_precision == "fp8" && gpu.precisions.fp8 == "none") advice.effective_compute_precision = "bf16";
    return advice;
  }
  if (gpu.is_integrated && gpu.unified_memory_bytes) {
    const int whole = static_cast<int>(std::lround(gib(memory_budget(gpu))));
    return from_tier(gpu, std::min(whole, kUnifiedCapGib), "tier-unified");
  }
  return from_tier(gpu, static_cast<int>(std::lround(gib(gpu.vram_bytes.value_or(0)))), "tier");
}

const Gpu* advised_gpu(const Machine& machine) {
  if (machine.default_gpu) return &machine.gpus[static_cast<size_t>(*machine.default_gpu)];
  const Gpu* best = nullptr;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.is_seen_by_runtime || !gpu.vram_bytes) continue;
    const bool is_better = best == nullptr || (best->is_integrated && !gpu.is_integrated) ||
                           (best->is_integrated == gpu.is_integrated && *gpu.vram_bytes > *best->vram_bytes);
    if (is_better) best = &gpu;
  }
  return best;
}

Recommendation recommend(const Machine& machine) {
  const Gpu* gpu = advised_gpu(machine);
  return gpu == nullptr ? Recommendation{} : recommend_for(*gpu);
}

std::vector<AdvisedOption> advised_options(const Machine& machine, const AdviceContext& context) {
  const Recommendation& advice = machine.recommendation;
  if (!machine.default_gpu) {
    return {{"train_batch_size", "1", "the processor trains: no GPU can be used"},
            {"mixed_precision", "no", "the processor computes in fp32"}};
  }
  const Gpu& gpu = machine.gpus[static_cast<size_t>(*machine.default_gpu)];
  const std::string why = "preset of " + gpu.name;
  // Without a fused kernel, attention takes a large part of a step's memory and time above this side.
  constexpr int64_t kWideSide_px = 512;
  const bool is_halved = gpu.sdpa == "math-only" && context.side_px > kWideSide_px && advice.batch_size > 1;
  std::vector<AdvisedOption> options = {
      {"train_batch_size", std::to_string(is_halved ? advice.batch_size / 2 : advice.batch_size),
       is_halved ? why + ", halved above 512 px since the chip has no fused attention" : why},
      {"gradient_accumulation_steps", std::to_string(advice.gradient_accumulation), why},
      {"mixed_precision", advice.effective_compute_precision,
       advice.preset_precision == advice.effective_compute_precision
           ? why
           : "the preset's " + advice.preset_precision + " is storage on this chip: it computes in " +
                 advice.effective_compute_precision}};
  if (advice.preset_precision == "fp8") {
    options.push_back({"fp8_base", "true",
                       gpu.precisions.fp8 == "none" ? "keeps frozen weights in fp8; this chip has no fp8 arithmetic"
                                                    : "keeps frozen weights in fp8"});
  }
  const bool is_tight = gib(memory_budget(gpu)) < 24.0;
  if (is_tight) options.push_back({"gradient_checkpointing", "true", "less than 24 GiB of memory"});
  if (gpu.sdpa == "math-only" && !is_tight)
    options.push_back({"gradient_checkpointing", "true", "no fused attention on this chip"});
  if (context.precision.value_or(advice.effective_compute_precision) == "fp16")
    options.push_back({"no_half_vae", "true", "autoencoders overflow in fp16 (black pictures)"});
  options.push_back({"cache_latents", "true", "the autoencoder leaves the memory after it"});
  return options;
}

std::vector<FamilyAdvice> family_advice(const Machine& machine) {
  const Gpu* gpu = advised_gpu(machine);
  if (gpu == nullptr) return {};
  const int whole =
      static_cast<int>(std::lround(gib(gpu->is_integrated ? memory_budget(*gpu) : gpu->vram_bytes.value_or(0))));
  const auto rows = family_rows();
  const auto row =
      std::find_if(rows.begin(), rows.end(), [&](const FamilyRow& entry) { return entry.least_gib <= whole; });
  const FamilyRow& fits = row == rows.end() ? rows.back() : *row;
  const std::string note = gpu->is_integrated         ? " (slow: bound by the memory's bandwidth)"
                           : gpu->sdpa == "math-only" ? " (no fused attention: half the batch above 512 px)"
                                                      : "";
  return {{"SD 1.5, 512 px", fits.sd15},
          {"SDXL, 1024 px", fits.sdxl + note},
          {"SD 3.5 medium / large, 1024 px", fits.sd3 + note},
          {"Flux.1, 1024 px", fits.flux + note}};
}

}  // namespace cinnabar::hardware
