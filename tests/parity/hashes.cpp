// adapters/hashes.json: the hashes of every adapter file, recomputed from its tensors and from its bytes; and
// adapters/tools.json, hash_of_checkpoints: the two hashes of the base models.
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/formats/adapter_hashes.h"
#include "cinnabar/formats/checkpoint.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

using formats::NamedTensor;
using nlohmann::json;

void expect_text(Reporter& reporter, const std::string& name, const json& expected, const std::string& found) {
  const bool is_equal = expected.is_string() && expected.get<std::string>() == found;
  if (is_equal) {
    reporter.result(name, 0.0, 0.0);
  } else {
    reporter.fail(name, "found " + found + ", expected " + expected.dump());
  }
}

void check_adapter(const std::filesystem::path& file, const json& expected, Reporter& reporter) {
  const std::string name = "hashes/" + file.filename().string();
  if (!std::filesystem::exists(file)) {
    reporter.skip(name, "no such file in this folder");
    return;
  }
  const auto checkpoint = formats::Checkpoint::open(file);
  std::vector<NamedTensor> tensors;
  for (const auto& [key, view] : checkpoint->tensors()) tensors.push_back({key, view});
  const std::string model_hash = formats::sshs_model_hash(tensors);
  const std::string legacy_hash = formats::sshs_legacy_hash(tensors, checkpoint->metadata());
  expect_text(reporter, name + " model", expected.at("sshs_model_hash"), model_hash);
  expect_text(reporter, name + " legacy", expected.at("sshs_legacy_hash"), legacy_hash);
  expect_text(reporter, name + " file", expected.at("file_sha256"), base::sha256_hex_of_file(file));
  expect_text(reporter, name + " file legacy", expected.at("model_hash_first_0x10000"),
              formats::legacy_hash_of_file(file));
  expect_text(reporter, name + " data", expected.at("addnet_hash_safetensors"), formats::data_hash_of_file(file));
  for (const auto& [field, key] :
       {std::pair("stored_model_hash", "sshs_model_hash"), std::pair("stored_legacy_hash", "sshs_legacy_hash")}) {
    const auto stored = checkpoint->metadata().find(key);
    const bool is_stored = stored != checkpoint->metadata().end();
    if (expected.at(field).is_null()) {
      if (is_stored) reporter.fail(name + " " + field, "found " + stored->second + ", expected none");
    } else {
      expect_text(reporter, name + " " + field, expected.at(field), is_stored ? stored->second : "none");
    }
  }
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  const json hashes = json::parse(base::read_file(folder / "hashes.json"));
  for (const auto& [file, expected] : hashes.items()) check_adapter(folder / file, expected, reporter);

  const std::filesystem::path tools = folder / "tools.json";
  if (!std::filesystem::exists(tools)) return;
  const json checkpoints = json::parse(base::read_file(tools)).value("hash_of_checkpoints", json::object());
  for (const auto& [file, expected] : checkpoints.items()) {
    const std::filesystem::path path = folder.parent_path() / "models" / file;
    const std::string name = "hash_of_checkpoints/" + file;
    if (!std::filesystem::exists(path)) {
      reporter.skip(name, "no file models/" + file);
      continue;
    }
    expect_text(reporter, name + " legacy", expected.at("model_hash"), formats::legacy_hash_of_file(path));
    expect_text(reporter, name + " sha256", expected.at("sha256"), base::sha256_hex_of_file(path));
  }
}

CINNABAR_PARITY_GROUP(hashes, "adapters.hashes", run);

}  // namespace
}  // namespace cinnabar::parity
