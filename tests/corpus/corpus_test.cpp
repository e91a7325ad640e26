// Every file of the corpus through the reader that the programs use for its kind.
#include <doctest/doctest.h>

#include <fstream>
#include <functional>
#include <map>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/caption_file.h"
#include "cinnabar/data/dataset_file.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/formats/npz.h"
#include "cinnabar/sample/prompt_file.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/text/byte_pairs.h"
#include "cinnabar/text/weighted_prompt.h"

namespace cinnabar::test {
namespace {

namespace fs = std::filesystem;

using Reader = std::function<void(const fs::path&)>;

void read_prompts(const fs::path& path) {
  const sample::PromptList list = sample::read_prompt_file(path);
  std::string notes;
  for (const std::string& note : list.notes) notes += note + "\n";
  if (!notes.empty()) throw base::Error(base::ErrorCode::Data, notes);
}

void read_dataset(const fs::path& path) {
  schema::Problems ignored;
  data::read_dataset_file(path, schema::resolve(schema::train_schema(), "train", {}, ignored).values);
}

void read_caption(const fs::path& path) {
  const auto caption = data::read_caption_file(path, true);
  try {
    (void)text::parse_weighted_prompt(caption.value().text);
  } catch (const base::Error& error) {
    if (!caption) throw;
    // Weights are read much later, when only the text is known: the message shows it.
    CHECK(error.message().starts_with("the prompt \""));
    throw base::Error(error.code(), path.filename().string() + ": " + error.message());
  }
}

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> kReaders = {
      {"safetensors", [](const fs::path& path) { formats::Checkpoint::open(path); }},
      {"ckpt", [](const fs::path& path) { formats::Checkpoint::open(path); }},
      {"npz", [](const fs::path& path) { formats::read_npz(path); }},
      {"config",
       [](const fs::path& path) {
         schema::read_config(schema::train_schema(), "train", {"--config_file", path.string()});
       }},
      {"dataset", read_dataset},
      {"prompts", read_prompts},
      {"caption", read_caption},
      {"record", [](const fs::path& path) { base::parse_manifest(base::read_file(path, 4 << 20), path.string()); }},
      {"vocabulary", [](const fs::path& path) { const text::BytePairs pairs(path, 3); }},
      {"picture", [](const fs::path& path) { data::load_picture(path); }},
  };
  return kReaders;
}

// What is said about a file; "-" when nothing is wrong with it.
std::string verdict(const Reader& read, const fs::path& path) {
  try {
    read(path);
    return "-";
  } catch (const base::Error& error) {
    CHECK(error.code() != base::ErrorCode::Internal);
    return error.message();
  }
}

struct Row {
  std::string name;
  std::string expected;
};

std::vector<Row> rows_of(const std::string& kind) {
  std::ifstream in(std::string(CINNABAR_CORPUS) + "/corpus/" + kind + ".tsv");
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    const size_t tab = line.find('\t');
    rows.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return rows;
}

void check_kind(const std::string& kind, size_t least_bad_files) {
  size_t bad_files = 0;
  for (const Row& row : rows_of(kind)) {
    const fs::path path = fs::path(CINNABAR_CORPUS) / "corpus" / kind / row.name;
    REQUIRE(fs::exists(path));
    const std::string found = verdict(readers().at(kind), path);
    INFO(kind, "/", row.name, "\nexpected: ", row.expected, "\nfound: ", found.substr(0, 500));
    if (row.expected == "-") {
      CHECK(found == "-");
      continue;
    }
    ++bad_files;
    CHECK(found.find(row.expected) != std::string::npos);
    // The user must learn which file it is.
    CHECK(found.find(path.filename().string()) != std::string::npos);
  }
  CHECK(bad_files >= least_bad_files);
}

TEST_CASE("bad_safetensors_files_give_the_expected_message") { check_kind("safetensors", 80); }
TEST_CASE("bad_checkpoints_give_the_expected_message") { check_kind("ckpt", 90); }
TEST_CASE("bad_arrays_give_the_expected_message") { check_kind("npz", 30); }
TEST_CASE("bad_configurations_give_the_expected_message") { check_kind("config", 40); }
TEST_CASE("bad_data_set_files_give_the_expected_message") { check_kind("dataset", 40); }
TEST_CASE("bad_prompt_files_give_the_expected_message") { check_kind("prompts", 40); }
TEST_CASE("bad_captions_give_the_expected_message") { check_kind("caption", 15); }
TEST_CASE("bad_manifests_give_the_expected_message") { check_kind("record", 20); }
TEST_CASE("bad_vocabularies_give_the_expected_message") { check_kind("vocabulary", 15); }
TEST_CASE("bad_pictures_give_the_expected_message") { check_kind("picture", 50); }

}  // namespace
}  // namespace cinnabar::test
