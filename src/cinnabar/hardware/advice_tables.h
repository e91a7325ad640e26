// The numbers behind advice.h.
#pragma once

#include <span>

namespace cinnabar::hardware {

struct SeedCard {
  const char* word;  // of the card's name: all words of `name` match exactly
  int batch_size;
  int gradient_accumulation;
  const char* precision;
  int max_params_billion;
};
// Presets that are promised by name of card.
std::span<const SeedCard> seed_cards();

struct Tier {
  int least_gib;
  int batch_size;
  int gradient_accumulation;
  const char* precision;  // "P": fp16 on GCN and RDNA1 to 3, else bf16
  int max_params_billion;
};
// Descending in memory; the last row holds for all below.
std::span<const Tier> tiers();

struct FamilyRow {
  int least_gib;
  const char* sd15;  // 512 px
  const char* sdxl;  // 1024 px
  const char* sd3;   // medium / large
  const char* flux;
};
std::span<const FamilyRow> family_rows();

}  // namespace cinnabar::hardware
