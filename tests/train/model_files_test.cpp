#include "cinnabar/train/model_files.h"

#include <doctest/doctest.h>

#include <chrono>

#include "cinnabar/base/error.h"
#include "cinnabar/base/sha256.h"
#include "cinnabar/train/finite_models.h"
#include "formats/temporary_folder.h"

namespace cinnabar::train {
namespace {

using formats::TemporaryFolder;
namespace fs = std::filesystem;

void set_time(const fs::path& path, int seconds) {
  fs::last_write_time(path, fs::file_time_type(std::chrono::seconds(seconds)));
}

TEST_CASE("a_model_that_is_written_to_while_it_is_used_is_found_out") {
  const TemporaryFolder folder;
  data::ContentHashes hashes("");
  const fs::path path = folder.put("model.safetensors", "weights");
  ModelFiles files;
  CHECK(files.add(path, hashes) == base::sha256_hex("weights"));
  files.check();
  set_time(path, 1000);
  files.check();  // touched alone
  folder.put("model.safetensors", "WEIGHTS");
  set_time(path, 2000);
  CHECK_THROWS_WITH_AS(files.check(), doctest::Contains("was changed by another program"), base::Error);
}

TEST_CASE("a_model_that_is_replaced_or_removed_leaves_the_opened_one_as_it_is") {
  const TemporaryFolder folder;
  data::ContentHashes hashes("");
  const fs::path path = folder.put("model.safetensors", "weights");
  ModelFiles files;
  const std::string hash = files.add(path, hashes);
  CHECK(files.hash_of(path) == hash);
  CHECK(files.hash_of(folder / "other").empty());
  fs::rename(folder.put("other", "others"), path);
  files.check();
  fs::remove(path);
  files.check();
}

TEST_CASE("what_is_known_to_be_finite_is_remembered_by_content") {
  const TemporaryFolder folder;
  const std::string hash = base::sha256_hex("weights");
  FiniteModels(folder / "list").add(hash);
  CHECK(FiniteModels(folder / "list").has(hash));
  CHECK_FALSE(FiniteModels(folder / "list").has(base::sha256_hex("others")));
  CHECK_FALSE(FiniteModels(folder / "none").has(hash));
  FiniteModels forgetful("");
  forgetful.add(hash);
  CHECK(forgetful.has(hash));
}

}  // namespace
}  // namespace cinnabar::train
