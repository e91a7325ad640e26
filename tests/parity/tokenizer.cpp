// CLIP ids, rows of 77 and weighted prompts against the reference tokenizer.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/text/clip_tokenizer.h"
#include "cinnabar/text/weighted_prompt.h"
#include "parity/reporter.h"

namespace cinnabar::parity {
namespace {

using Json = nlohmann::json;
using Ids = std::vector<int64_t>;
using Rows = std::vector<Ids>;

Json read(const std::filesystem::path& file) { return Json::parse(base::read_file(file)); }

std::string label(const std::string& kind, size_t number, const std::string& text) {
  std::string shown = text.substr(0, 24);
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7E; }, '.');
  return kind + "." + std::to_string(number) + " " + shown;
}

std::string shown(const Ids& ids) {
  std::string text;
  for (const int64_t id : ids) text += std::to_string(id) + " ";
  return text;
}

// Ids have no tolerance: the error is the number of places that differ.
void compare(Reporter& reporter, const std::string& name, const Ids& got, const Ids& expected) {
  if (got == expected) return reporter.result(name, 0.0, 0.0);
  reporter.fail(name, "got " + shown(got) + "expected " + shown(expected));
}

void compare(Reporter& reporter, const std::string& name, const Rows& got, const Rows& expected) {
  if (got.size() != expected.size())
    return reporter.fail(name, std::to_string(got.size()) + " rows, expected " + std::to_string(expected.size()));
  for (size_t i = 0; i < got.size(); ++i)
    if (got[i] != expected[i]) return compare(reporter, name + " row " + std::to_string(i), got[i], expected[i]);
  reporter.result(name, 0.0, 0.0);
}

text::Padding padding_of(const std::string& key) {
  if (key.starts_with("sdxl_te2")) return text::Padding::ZeroPlain;
  return key.starts_with("sd2") ? text::Padding::Zero : text::Padding::EndToken;
}

void run_ids(const std::filesystem::path& folder, const text::ClipTokenizer& tokenizer, Reporter& reporter) {
  size_t number = 0;
  for (const Json& row : read(folder / "clip_ids.json")) {
    const auto words = row.at("text").get<std::string>();
    const auto ids = row.at("ids").get<Ids>();
    compare(reporter, label("clip_ids", number, words), tokenizer.encode(words), ids);
    const Ids bang = row.contains("ids_pad_bang") ? row.at("ids_pad_bang").get<Ids>() : ids;
    compare(reporter, label("clip_ids_pad_bang", number++, words), tokenizer.encode(words, text::Padding::Zero), bang);
  }
}

void run_chunks(const std::filesystem::path& folder, const text::ClipTokenizer& tokenizer, Reporter& reporter) {
  size_t number = 0;
  for (const Json& row : read(folder / "clip_chunks.json")) {
    const auto words = row.at("text").get<std::string>();
    const int64_t length = row.at("max_token_length").is_null() ? 0 : row.at("max_token_length").get<int64_t>();
    for (const auto& [key, expected] : row.items()) {
      if (!expected.is_array()) continue;
      const std::string name = label("clip_chunks." + key + "." + std::to_string(length), number, words);
      compare(reporter, name, tokenizer.encode_chunks(words, length, padding_of(key)), expected.get<Rows>());
      if (key == "sd2_and_sdxl_te2")
        compare(reporter, name + " (te2)", tokenizer.encode_chunks(words, length, text::Padding::ZeroPlain),
                expected.get<Rows>());
    }
    ++number;
  }
}

double largest_difference(const std::vector<std::vector<double>>& got,
                          const std::vector<std::vector<double>>& expected) {
  if (got.size() != expected.size()) return INFINITY;
  double largest = 0.0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].size() != expected[i].size()) return INFINITY;
    for (size_t k = 0; k < got[i].size(); ++k) largest = std::max(largest, std::abs(got[i][k] - expected[i][k]));
  }
  return largest;
}

void run_weighted(const std::filesystem::path& folder, const text::ClipTokenizer& tokenizer, Reporter& reporter) {
  constexpr double kWeightTolerance = 1e-6;  // the tokenizer goldens' own
  size_t number = 0;
  for (const Json& row : read(folder / "weighted.json")) {
    const auto words = row.at("text").get<std::string>();
    const std::vector<text::WeightedPiece> pieces = text::parse_weighted_prompt(words);
    double error = pieces.size() == row.at("parsed").size() ? 0.0 : INFINITY;
    for (size_t i = 0; i < pieces.size() && std::isfinite(error); ++i) {
      const Json& expected = row.at("parsed")[i];
      error = expected[0].get<std::string>() == pieces[i].text
                  ? std::max(error, std::abs(expected[1].get<double>() - pieces[i].weight))
                  : INFINITY;
    }
    reporter.result(label("weighted.parsed", number, words), error, kWeightTolerance);
    for (const auto& [key, expected] : row.items()) {
      const size_t at = key.find("_ids_");
      if (at == std::string::npos) continue;
      const std::string model = key.substr(0, at);
      const std::string length = key.substr(at + 5);
      const text::WeightedRows rows =
          text::encode_weighted_chunks(tokenizer, words, std::stoll(length), padding_of(model));
      compare(reporter, label("weighted." + key, number, words), rows.ids, expected.get<Rows>());
      const auto weights = row.at(model + "_weights_" + length).get<std::vector<std::vector<double>>>();
      reporter.result(label("weighted." + model + "_weights_" + length, number, words),
                      largest_difference(rows.weights, weights), kWeightTolerance);
    }
    ++number;
  }
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  const text::ClipTokenizer& tokenizer = text::ClipTokenizer::shared();
  run_ids(folder, tokenizer, reporter);
  run_chunks(folder, tokenizer, reporter);
  run_weighted(folder, tokenizer, reporter);
  reporter.skip("t5_ids", "the T5 tokenizer is not built yet");
}

CINNABAR_PARITY_GROUP(tokenizer, "tokenizer", run);

}  // namespace
}  // namespace cinnabar::parity
