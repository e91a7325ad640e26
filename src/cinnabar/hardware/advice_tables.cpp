#include "cinnabar/hardware/advice_tables.h"

#include <array>

namespace cinnabar::hardware {

namespace {

constexpr std::array kSeedCards{SeedCard{"RX 7600", 2, 4, "fp16", 7}, SeedCard{"RX 7800 XT", 4, 2, "fp16", 13},
                                SeedCard{"RX 7900 XTX", 8, 1, "bf16", 30}, SeedCard{"MI250", 16, 1, "fp8", 70}};

// Memory of one device. Judgment in the shape of the presets above; the largest model is meant with quantised or
// offloaded frozen weights (30 billion parameters in bf16 are 60 GB).
constexpr std::array kTiers{Tier{128, 32, 1, "bf16", 100}, Tier{64, 16, 1, "bf16", 70}, Tier{48, 12, 1, "bf16", 50},
                            Tier{32, 8, 1, "bf16", 34},    Tier{24, 8, 1, "bf16", 30},  Tier{20, 4, 2, "bf16", 20},
                            Tier{16, 4, 2, "P", 13},       Tier{10, 2, 4, "P", 10},     Tier{8, 2, 4, "P", 7},
                            Tier{6, 1, 8, "fp16", 3},      Tier{0, 1, 8, "fp16", 1}};

// Arithmetic, not measurement: weights, adapters with optimizer state, activations with checkpointing.
constexpr std::array kFamilies{
    FamilyRow{128, "batch 64 and more", "batch 32; full fine-tuning", "batch 32 / 16; full fine-tuning",
              "16-bit weights, batch 8 to 16; full fine-tuning with 8-bit Adam"},
    FamilyRow{64, "batch 32 and more", "batch 16; full fine-tuning with AdamW", "batch 16 / 8",
              "16-bit weights, batch 4 to 6"},
    FamilyRow{48, "batch 32", "batch 12; full fine-tuning", "batch 12 / 4", "16-bit weights, batch 2 to 4"},
    FamilyRow{32, "batch 16", "batch 8; full fine-tuning", "batch 8 / 2",
              "16-bit weights (24 GB), checkpointing, batch 1 to 2"},
    FamilyRow{24, "batch 16", "batch 4 to 8, checkpointing; full fine-tuning with 8-bit Adam or Adafactor",
              "batch 4 / 16-bit weights with checkpointing", "8-bit weights, checkpointing, batch 1 to 2"},
    FamilyRow{20, "batch 8 and more", "batch 4, checkpointing", "batch 4 / 8-bit weights, checkpointing",
              "8-bit weights, checkpointing"},
    FamilyRow{16, "batch 8", "batch 2 to 4, checkpointing", "batch 2 / 8-bit weights, checkpointing",
              "8- or 4-bit weights, checkpointing, offload"},
    FamilyRow{10, "batch 4", "batch 1 to 2, checkpointing", "checkpointing / 8-bit weights, checkpointing, offload",
              "4-bit weights, checkpointing, offload"},
    FamilyRow{8, "batch 2 to 4, fp16", "batch 1, 8- or 16-bit weights, checkpointing",
              "8-bit weights, checkpointing / 4-bit weights, checkpointing, offload",
              "4-bit weights, checkpointing, offload, 512 to 768 px (slow)"},
    FamilyRow{6, "batch 1, checkpointing", "batch 1, 768 px, 4-bit weights, checkpointing, offload", "does not fit",
              "does not fit"},
    FamilyRow{0, "batch 1, 4-bit weights, checkpointing", "does not fit", "does not fit", "does not fit"}};

}  // namespace

std::span<const SeedCard> seed_cards() { return kSeedCards; }
std::span<const Tier> tiers() { return kTiers; }
std::span<const FamilyRow> family_rows() { return kFamilies; }

}  // namespace cinnabar::hardware
