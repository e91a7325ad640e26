#include "cinnabar/data/dataset_file.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/data/dataset_keys.h"
#include "cinnabar/data/dataset_settings.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

DatasetFile read(const std::string& text, const schema::Values& values = {}) {
  schema::Problems problems;
  DatasetFile file = datasets_from_tree(parse_config_tree(text, "data.toml"), {}, values, problems);
  problems.raise();
  return file;
}

std::string message_of(const std::string& text, const schema::Values& values = {}) {
  try {
    (void)read(text, values);
  } catch (const base::Error& error) {
    return error.message();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// One data set with one subset, with lines added at each level.
std::string file_with(const std::string& general, const std::string& dataset, const std::string& subset) {
  return "[general]\n" + general + "\n[[datasets]]\n" + dataset + "\n[[datasets.subsets]]\nimage_dir = \"img\"\n" +
         subset + "\n";
}

// What a key changes, as a text, so that one table tests them all.
using Seen = std::string (*)(const DatasetOptions&, const SubsetOptions&);
struct KeyCase {
  const char* name;
  const char* value;
  const char* other;  // a second value, for precedence
  Seen seen;
  const char* shown;
  const char* other_shown;
};

std::string flag(bool value) { return value ? "true" : "false"; }

#define SEEN(expression)                                               \
  [](const DatasetOptions& D, const SubsetOptions& S) -> std::string { \
    (void)D, (void)S;                                                  \
    return expression;                                                 \
  }

const std::vector<KeyCase>& key_cases() {
  static const std::vector<KeyCase> kCases = {
      {"color_aug", "true", "false", SEEN(flag(S.color_aug)), "true", "false"},
      {"flip_aug", "true", "false", SEEN(flag(S.flip_aug)), "true", "false"},
      {"random_crop", "true", "false", SEEN(flag(S.random_crop)), "true", "false"},
      {"cache_info", "true", "false", SEEN(flag(S.cache_info)), "true", "false"},
      {"recursive", "true", "false", SEEN(flag(S.recursive)), "true", "false"},
      {"face_captions", "true", "false", SEEN(flag(S.has_face_names)), "true", "false"},
      {"skip_uncaptioned", "true", "false", SEEN(flag(S.skip_uncaptioned)), "true", "false"},
      {"num_repeats", "7", "3", SEEN(std::to_string(S.num_repeats)), "7", "3"},
      {"class_tokens", "\"a dog\"", "\"a cat\"", SEEN(S.class_tokens), "a dog", "a cat"},
      {"caption_extension", "\".txt\"", "\"tags\"", SEEN(S.caption_extension.value_or("unset")), ".txt", "tags"},
      {"face_crop_aug_range", "[2.0, 4.0]", "[1.5, 3.0]",
       SEEN(S.face_crop_aug_range ? std::to_string((*S.face_crop_aug_range)[1]) : "unset"), "4.000000", "3.000000"},
      {"custom_attributes", "{ a = 1 }", "{ b = 2 }", SEEN(S.custom_attributes), "{\"a\":1}", "{\"b\":2}"},
      {"shuffle_caption", "true", "false", SEEN(flag(S.caption.shuffle_caption)), "true", "false"},
      {"enable_wildcard", "true", "false", SEEN(flag(S.caption.enable_wildcard)), "true", "false"},
      {"keep_tokens", "2", "1", SEEN(std::to_string(S.caption.keep_tokens)), "2", "1"},
      {"keep_tokens_separator", "\"|||\"", "\"+\"", SEEN(S.caption.keep_tokens_separator), "|||", "+"},
      {"secondary_separator", "\";;;\"", "\"%\"", SEEN(S.caption.secondary_separator), ";;;", "%"},
      {"caption_separator", "\";\"", "\".\"", SEEN(S.caption.caption_separator), ";", "."},
      {"caption_joiner", "\", \"", "\"; \"", SEEN(S.caption.caption_joiner), ", ", "; "},
      {"caption_lines", "\"join\"", "\"random\"", SEEN(std::to_string(static_cast<int>(S.caption.caption_lines))), "3",
       "2"},
      {"caption_prefix", "\"x\"", "\"y\"", SEEN(S.caption.caption_prefix), "x", "y"},
      {"caption_suffix", "\"x\"", "\"y\"", SEEN(S.caption.caption_suffix), "x", "y"},
      {"token_warmup_min", "3", "5", SEEN(std::to_string(S.caption.token_warmup_min)), "3", "5"},
      {"token_warmup_step", "0.5", "100", SEEN(std::to_string(S.caption.token_warmup_step)), "0.500000", "100.000000"},
      {"caption_dropout_rate", "0.25", "1", SEEN(std::to_string(S.caption.caption_dropout_rate)), "0.250000",
       "1.000000"},
      {"caption_tag_dropout_rate", "0.25", "1", SEEN(std::to_string(S.caption.caption_tag_dropout_rate)), "0.250000",
       "1.000000"},
      {"caption_dropout_every_n_epochs", "2", "3", SEEN(std::to_string(S.caption.caption_dropout_every_n_epochs)), "2",
       "3"},
      {"batch_size", "4", "2", SEEN(std::to_string(D.batch_size)), "4", "2"},
      {"enable_bucket", "true", "false", SEEN(flag(D.bucket.enable_bucket)), "true", "false"},
      {"bucket_no_upscale", "true", "false", SEEN(flag(D.bucket.bucket_no_upscale)), "true", "false"},
      {"bucket_reso_steps", "32", "16", SEEN(std::to_string(D.bucket.bucket_reso_steps)), "32", "16"},
      {"min_bucket_reso", "128", "64", SEEN(std::to_string(D.bucket.min_bucket_reso)), "128", "64"},
      {"max_bucket_reso", "2048", "1536", SEEN(std::to_string(D.bucket.max_bucket_reso)), "2048", "1536"},
      {"resolution", "[512, 768]", "640", SEEN(to_string(D.bucket.resolution)), "512x768", "640x640"},
      {"network_multiplier", "0.5", "2.0", SEEN(std::to_string(D.network_multiplier)), "0.500000", "2.000000"},
      {"validation_seed", "5", "6", SEEN(std::to_string(D.validation_seed.value_or(0))), "5", "6"},
      {"validation_split", "0.25", "0.5", SEEN(std::to_string(D.validation_split)), "0.250000", "0.500000"},
      {"resize_interpolation", "\"box\"", "\"area\"",
       SEEN(std::to_string(
           static_cast<int>(S.resize_interpolation.value_or(D.resize_interpolation.value_or(Interpolation::Nearest))))),
       "2", "0"},
  };
  return kCases;
}

#undef SEEN

std::string seen(const std::string& text, const KeyCase& one) {
  const DatasetFile file = read(text);
  return one.seen(file.datasets.at(0), file.datasets.at(0).subsets.at(0));
}

TEST_CASE("every_key_changes_what_it_says_at_every_place_it_may_stand") {
  for (const KeyCase& one : key_cases()) {
    INFO(one.name);
    const DatasetKey* key = find_dataset_key(one.name);
    REQUIRE(key != nullptr);
    const std::string line = std::string(one.name) + " = " + one.value;
    const std::string other = std::string(one.name) + " = " + one.other;
    CHECK(seen(file_with("", "", ""), one) != one.shown);
    if (key->in_general) CHECK(seen(file_with(line, "", ""), one) == one.shown);
    if (key->in_dataset) CHECK(seen(file_with(other, line, ""), one) == one.shown);
    if (key->in_subset) CHECK(seen(file_with(other, other, line), one) == one.shown);
    if (key->in_subset) CHECK(seen(file_with(line, line, other), one) == one.other_shown);
  }
}

TEST_CASE("no_key_is_without_a_case") {
  const std::vector<std::string> apart = {"image_dir", "conditioning_data_dir", "metadata_file", "is_reg",
                                          "alpha_mask"};
  for (const DatasetKey& key : dataset_keys()) {
    INFO(key.name);
    const bool has_case = std::ranges::any_of(key_cases(), [&](const KeyCase& one) { return one.name == key.name; });
    CHECK(has_case != (std::ranges::find(apart, key.name) != apart.end()));
  }
}

TEST_CASE("the_command_line_holds_where_the_file_says_nothing") {
  schema::Values values;
  values.set("train_batch_size", int64_t{3});
  values.set("dataset_repeats", int64_t{9});
  values.set("resolution", std::string("640,384"));
  values.set("shuffle_caption", true);
  values.set("alpha_mask", true);
  values.set("keep_tokens", int64_t{1});
  const DatasetFile file = read(file_with("", "", "keep_tokens = 4"), values);
  const DatasetOptions& dataset = file.datasets.at(0);
  CHECK(dataset.batch_size == 3);
  CHECK(dataset.bucket.resolution == Size{640, 384});
  CHECK(dataset.subsets[0].num_repeats == 9);
  CHECK(dataset.subsets[0].caption.shuffle_caption);
  CHECK(dataset.subsets[0].caption.keep_tokens == 4);
  CHECK(dataset.subsets[0].alpha_mask);
  CHECK_FALSE(
      read(file_with("shuffle_caption = false", "", "alpha_mask = false"), values).datasets[0].subsets[0].alpha_mask);
  CHECK_FALSE(
      read(file_with("shuffle_caption = false", "", ""), values).datasets[0].subsets[0].caption.shuffle_caption);
}

TEST_CASE("keys_of_one_data_set_do_not_reach_the_next") {
  const DatasetFile file = read(
      "[[datasets]]\nresolution = 512\nbatch_size = 4\n[[datasets.subsets]]\nimage_dir = \"a\"\nis_reg = true\n"
      "[[datasets.subsets]]\nimage_dir = \"b\"\n"
      "[[datasets]]\nresolution = 768\n[[datasets.subsets]]\nimage_dir = \"a\"\n");
  REQUIRE(file.datasets.size() == 2);
  CHECK(file.datasets[0].subsets.size() == 2);
  CHECK(file.datasets[0].subsets[0].is_reg);
  CHECK_FALSE(file.datasets[0].subsets[1].is_reg);
  CHECK(file.datasets[1].batch_size == 1);
  CHECK(file.datasets[1].bucket.resolution == Size{768, 768});
  CHECK(file.datasets[1].subsets[0].image_dir == "a");
}

TEST_CASE("json_has_the_same_structure") {
  const DatasetFile file = read(
      R"({"general": {"keep_tokens": 2, "caption_prefix": null}, "datasets": [{"resolution": [512, 768],
          "subsets": [{"image_dir": "a", "is_reg": true}]}]})");
  CHECK(file.datasets.at(0).bucket.resolution == Size{512, 768});
  CHECK(file.datasets[0].subsets.at(0).caption.keep_tokens == 2);
  CHECK(file.datasets[0].subsets[0].is_reg);
  CHECK(holds(message_of(R"({"datasets": [{"subsets": [{"image_dirr": "a"}]}]})"),
              "data.toml: datasets[1].subsets[1].image_dirr"));
}

TEST_CASE("mistakes_are_named_with_line_table_and_what_was_meant") {
  const std::string message = message_of(
      "[general]\nshufle_caption = true\n[[datasets]]\nresolution = 512\nalpha_mask = true\nimage_dir = \"x\"\n"
      "[[datasets.subsets]]\nimage_dir = \"a\"\nbatch_size = 2\nnum_repeats = 1.5\nflip_aug = 1\n"
      "[[datasets.subsets]]\nnum_repeats = 2\n");
  CHECK(holds(message, "data.toml:2: general.shufle_caption: unknown key; did you mean \"shuffle_caption\"?"));
  CHECK(holds(message,
              "data.toml:5: datasets[1].alpha_mask: this key does not belong in [[datasets]], but in "
              "[[datasets.subsets]]"));
  CHECK(holds(message, "data.toml:6: datasets[1].image_dir: this key does not belong"));
  CHECK(holds(message,
              "data.toml:9: datasets[1].subsets[1].batch_size: this key does not belong in "
              "[[datasets.subsets]], but in [general] or [[datasets]]"));
  CHECK(holds(message, "data.toml:10: datasets[1].subsets[1].num_repeats = 1.5: expected a whole number"));
  CHECK(holds(message, "data.toml:11: datasets[1].subsets[1].flip_aug = 1: expected true or false"));
  CHECK(holds(message, "data.toml:12: datasets[1].subsets[2].image_dir: missing"));
  CHECK(holds(message, "7 problems"));
}

TEST_CASE("types_are_strict_where_the_reference_is") {
  CHECK(holds(message_of(file_with("network_multiplier = 1", "", "")), "decimal point"));
  CHECK(holds(message_of(file_with("validation_split = 1", "", "")), "decimal point"));
  CHECK(holds(message_of(file_with("face_crop_aug_range = [2, 4]", "", "")), "decimal points"));
  CHECK(holds(message_of(file_with("caption_dropout_rate = \"0.1\"", "", "")), "expected a number from 0.0 to 1.0"));
  CHECK(holds(message_of(file_with("caption_dropout_rate = 1.5", "", "")), "expected a number from 0.0 to 1.0"));
  CHECK(holds(message_of(file_with("caption_separator = \"\"", "", "")), "at least one character"));
  CHECK(holds(message_of(file_with("resolution = [512]", "", "")), "[WIDTH, HEIGHT]"));
  CHECK(holds(message_of(file_with("resolution = 512.0", "", "")), "[WIDTH, HEIGHT]"));
  CHECK(holds(message_of(file_with("resize_interpolation = \"soft\"", "", "")), "lanczos"));
  CHECK(holds(message_of(file_with("caption_lines = \"all\"", "", "")), "\"join\""));
  CHECK(message_of(file_with("caption_dropout_rate = 1", "", "")).empty());
}

TEST_CASE("structure_is_checked") {
  CHECK(holds(message_of(""), "no data set"));
  CHECK(holds(message_of("[[datasets]]\nresolution = 512\n"), "datasets[1].subsets: missing"));
  CHECK(holds(message_of("[datasets]\nresolution = 512\n"), "at least one [[datasets]]"));
  CHECK(holds(message_of("resolution = 512\n" + file_with("", "", "")), "Put this key under one of them"));
  CHECK(holds(message_of("network_dim = 4\n" + file_with("", "", "")), "command line"));
  CHECK(holds(message_of(file_with("", "enable_bucket = true\nresolution = 128", "")), "min_bucket_reso"));
  CHECK(holds(message_of(file_with("", "enable_bucket = true\nbucket_reso_steps = 20", "")), "multiple of 8"));
  CHECK(holds(message_of("[general\n"), "data.toml:1: not valid TOML"));
  CHECK(holds(message_of("{\"general\": \n"), "not valid JSON"));
}

TEST_CASE("metadata_files_are_refused_and_masks_need_masked_loss") {
  CHECK(holds(message_of(file_with("", "", "metadata_file = \"m.json\"")), "not supported yet"));
  const std::string masks = file_with("", "", "conditioning_data_dir = \"masks\"");
  CHECK(holds(message_of(masks), "masked_loss"));
  schema::Values values;
  values.set("masked_loss", true);
  CHECK(read(masks, values).datasets[0].subsets[0].conditioning_data_dir == "masks");
  CHECK(holds(message_of(masks + "random_crop = true\n", values), "random_crop: not possible"));
  CHECK(holds(message_of(masks + "[[datasets.subsets]]\nimage_dir = \"b\"\n", values), "all of them"));
  // Regularisation pictures need no masks, and belong into this data set.
  CHECK(read(masks + "\n[[datasets.subsets]]\nimage_dir = \"b\"\nis_reg = true\n", values).datasets[0].subsets.size() ==
        2);
}

TEST_CASE("windows_paths_are_explained") {
  const std::string table =
      message_of(file_with("", "", "").replace(0, 0, "") + "conditioning_data_dir = \"C:\\new\\table\"\n");
  CHECK(holds(table, "control characters"));
  CHECK(holds(table, "\"C:/new/table\""));
  const std::string escape = message_of("[[datasets]]\n[[datasets.subsets]]\nimage_dir = \"C:\\data\\Users\"\n");
  CHECK(holds(escape, "data.toml:3: not valid TOML"));
  CHECK(holds(escape, "\"C:/data/Users\""));
  const std::string json = message_of("{\"datasets\": [{\"subsets\": [{\n\"image_dir\": \"C:\\Users\"}]}]}");
  CHECK(holds(json, "data.toml:2: not valid JSON"));
  CHECK(read("[[datasets]]\n[[datasets.subsets]]\nimage_dir = 'C:\\new\\a \"b\"'\n").datasets[0].subsets[0].image_dir ==
        "C:\\new\\a \"b\"");
}

TEST_CASE("what_has_no_effect_is_said") {
  const DatasetFile file =
      read(file_with("cache_info = true\nnetwork_multiplier = 0.5\ncustom_attributes = { a = 1 }", "", ""));
  const auto has = [&](const std::string& part) {
    return std::ranges::any_of(file.notices, [&](const std::string& notice) { return holds(notice, part); });
  };
  CHECK(has("network_multiplier has no effect"));
  CHECK(has("cache_info has no effect"));
  CHECK(has("custom_attributes has no effect"));
  CHECK(has("resolution is not given"));
  CHECK(read(file_with("resolution = 512", "", "")).notices.empty());
}

TEST_CASE("folders_beside_the_file_are_found_and_said") {
  const formats::TemporaryFolder folder;
  folder.put("set/img/a.png", "x");
  const auto path = folder.put("set/data.toml", file_with("resolution = 512", "", ""));
  const DatasetFile file = read_dataset_file(path, {});
  CHECK(file.datasets[0].subsets[0].image_dir == folder / "set/img");
  CHECK(file.notices.size() == 1);
  CHECK_THROWS_AS((void)read_dataset_file(folder / "none.toml", {}), base::Error);
}

TEST_CASE("options_that_change_what_is_cached_are_refused_by_subset") {
  const auto message = [](const char* cache, const std::string& line) -> std::string {
    schema::Values values;
    values.set(cache, true);
    try {
      check_caches(values, read(file_with("", "", line)).datasets);
    } catch (const base::Error& error) {
      return error.message();
    }
    return "";
  };
  CHECK(holds(message("cache_text_encoder_outputs", "shuffle_caption = true"), "img: shuffle_caption"));
  CHECK(holds(message("cache_text_encoder_outputs_to_disk", "caption_dropout_rate = 0.1"), "caption_dropout_rate"));
  CHECK(message("cache_text_encoder_outputs", "caption_prefix = \"x\"").empty());
  CHECK(holds(message("cache_latents", "color_aug = true"), "color_aug with cache_latents"));
  CHECK(message("cache_latents", "shuffle_caption = true").empty());
}

}  // namespace
}  // namespace cinnabar::data
