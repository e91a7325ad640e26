#include "cinnabar/base/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cinnabar/base/utf8.h"

namespace cinnabar::base {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShownKeyBytes = 80;

// Builds the tree from the parser's events. The library's own builder looks for every new key among those before it,
// which for an ordered object takes time that grows with the square of their number, and lets a later key replace an
// earlier one.
class TreeEvents : public nlohmann::json_sax<Json> {
 public:
  TreeEvents(Json& root, const JsonLimits& limits) : root_(root), limits_(limits) {}

  std::optional<JsonFault> fault() const { return fault_; }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }  // JSON text has none

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool end_object() override {
    const bool is_fine = has_unique_keys(open_.back()->get_ref<const Json::object_t&>());
    open_.pop_back();
    return is_fine;
  }
  bool key(string_t& value) override {
    if (value.size() > limits_.key_bytes) {
      return refuse("the key \"" + shown_text(value, kShownKeyBytes) + "\" has " + std::to_string(value.size()) +
                    " bytes; at most " + std::to_string(limits_.key_bytes) + " are allowed");
    }
    if (++keys_ > limits_.keys) return refuse("more than " + std::to_string(limits_.keys) + " keys");
    key_ = std::move(value);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    constexpr int kNumberOutOfRange = 406;
    fault_ = {position, error.id == kNumberOutOfRange ? "a number is out of range" : "not valid JSON"};
    return false;
  }

 private:
  bool refuse(const std::string& reason) {
    fault_ = {std::nullopt, reason};
    return false;
  }

  Json* add(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (open_.back()->is_array()) {
      auto& list = open_.back()->get_ref<Json::array_t&>();
      list.push_back(std::move(value));
      return &list.back();
    }
    auto& object = open_.back()->get_ref<Json::object_t&>();
    object.emplace_back(std::move(key_), std::move(value));
    return &object.back().second;
  }

  bool open(Json value) {
    if (open_.size() >= limits_.depth) {
      return refuse("lists or tables nest deeper than " + std::to_string(limits_.depth) + " levels");
    }
    // Only the innermost container grows, so the ones around it stay where they are.
    open_.push_back(add(std::move(value)));
    return true;
  }

  bool has_unique_keys(const Json::object_t& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.size());
    for (const auto& [name, value] : object) keys.emplace_back(name);
    std::ranges::sort(keys);
    const auto twice = std::ranges::adjacent_find(keys);
    if (twice == keys.end()) return true;
    return refuse("the key \"" + shown_text(*twice, kShownKeyBytes) + "\" occurs twice in one table");
  }

  Json& root_;
  const JsonLimits& limits_;
  std::optional<JsonFault> fault_;
  std::vector<Json*> open_;
  std::string key_;
  size_t keys_ = 0;
};

}  // namespace

std::optional<JsonFault> read_json_tree(std::string_view text, Json& tree, const JsonLimits& limits) {
  tree = nullptr;
  TreeEvents events(tree, limits);
  const bool is_read = Json::sax_parse(text.begin(), text.end(), &events);
  if (is_read) return std::nullopt;
  tree = nullptr;
  return events.fault().value_or(JsonFault{std::nullopt, "not valid JSON"});
}

}  // namespace cinnabar::base
