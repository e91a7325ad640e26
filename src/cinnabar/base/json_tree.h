// JSON from files as a tree, with limits that hold before anything is built.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::base {

struct JsonLimits {
  size_t depth = 64;
  size_t keys = 100'000;  // of all objects together
  size_t key_bytes = 256;
};

struct JsonFault {
  std::optional<size_t> byte;  // where, if it is known
  std::string reason;          // "not valid JSON", "the key \"a\" occurs twice"
};

// Fills `tree`, which keeps the order of keys. What is refused: anything but one JSON value, text that is no UTF-8,
// numbers out of range, keys that occur twice in one object, and what exceeds the limits. Time and memory grow with the
// size of the text alone.
std::optional<JsonFault> read_json_tree(std::string_view text, nlohmann::ordered_json& tree,
                                        const JsonLimits& limits = {});

}  // namespace cinnabar::base
