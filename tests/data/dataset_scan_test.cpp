#include "cinnabar/data/dataset_scan.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cinnabar/base/error.h"
#include "cinnabar/data/folder_dataset.h"
#include "data/bitmap_header.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

using formats::TemporaryFolder;
namespace fs = std::filesystem;

bool has_issue(const std::vector<Issue>& issues, Severity severity, const std::string& file, const std::string& words) {
  return std::ranges::any_of(issues, [&](const Issue& issue) {
    return issue.severity == severity && issue.path.filename() == file &&
           (issue.message + " | " + issue.action).find(words) != std::string::npos;
  });
}

DatasetOptions options_for(std::vector<SubsetOptions> subsets) {
  return {.bucket = {.enable_bucket = true}, .batch_size = 2, .subsets = std::move(subsets)};
}

std::vector<std::string> names_of(const std::vector<SubsetOptions>& subsets) {
  std::vector<std::string> names;
  for (const SubsetOptions& subset : subsets) {
    names.push_back(subset.image_dir.filename().string() + " " + std::to_string(subset.num_repeats) + " [" +
                    subset.class_tokens + "]");
  }
  return names;
}

TEST_CASE("numbered_folders_become_subsets_in_the_order_of_their_names") {
  const TemporaryFolder folder;
  for (const char* name :
       {"img/3_my_blue cat/a.bmp", "img/10_dog/a.bmp", "img/5/a.bmp", "img/old/a.bmp", "img/0_none/a.bmp",
        "img/-2_less/a.bmp", "img/4 x/a.bmp", "img/.git/a.bmp", "img/loose.bmp"}) {
    folder.put(name, bitmap_header(8, 8));
  }
  std::vector<Issue> issues;
  const auto subsets = subsets_of_folder(folder / "img", {.is_reg = true, .flip_aug = true}, issues);
  CHECK(names_of(subsets) == std::vector<std::string>{"10_dog 10 [dog]", "3_my_blue cat 3 [my_blue cat]", "5 5 []"});
  for (const SubsetOptions& subset : subsets) CHECK((subset.is_reg && subset.flip_aug));
  CHECK(has_issue(issues, Severity::Warning, "old", "does not begin with a number"));
  CHECK(has_issue(issues, Severity::Warning, "0_none", "fewer than 1 repeat"));
  CHECK(has_issue(issues, Severity::Warning, "-2_less", "fewer than 1 repeat"));
  CHECK(has_issue(issues, Severity::Warning, "4 x", "does not begin with a number"));
  CHECK(has_issue(issues, Severity::Warning, "img", "1 picture beside"));
  CHECK(issues.size() == 5);
}

TEST_CASE("pictures_without_numbered_folders_are_used_once_and_said") {
  const TemporaryFolder folder;
  folder.put("flat/a.bmp", bitmap_header(8, 8));
  folder.put("plain/cats/a.bmp", bitmap_header(8, 8));
  fs::create_directories(folder / "plain/empty");
  std::vector<Issue> issues;
  CHECK(names_of(subsets_of_folder(folder / "flat", {}, issues)) == std::vector<std::string>{"flat 1 []"});
  CHECK(has_issue(issues, Severity::Warning, "flat", "1 picture in the folder itself: used"));
  CHECK(names_of(subsets_of_folder(folder / "plain", {}, issues)) == std::vector<std::string>{"cats 1 []"});
  CHECK(has_issue(issues, Severity::Warning, "cats", "used with 1 repeat"));
}

TEST_CASE("a_folder_without_pictures_is_an_error_that_says_what_it_holds") {
  const TemporaryFolder folder;
  folder.put("img/a.mp4", "x");
  folder.put("img/sub/b.txt", "x");
  std::vector<Issue> issues;
  CHECK(subsets_of_folder(folder / "img", {}, issues).empty());
  CHECK(has_issue(issues, Severity::Error, "img", "it holds 1 sub-folders, 0 pictures of its own, 1 .mp4 files"));
  CHECK(subsets_of_folder(folder / "none", {}, issues).empty());
  CHECK(has_issue(issues, Severity::Error, "none", "no such folder"));
  CHECK(subsets_of_folder(folder / "img/a.mp4", {}, issues).empty());
  CHECK(has_issue(issues, Severity::Error, "a.mp4", "not a folder"));
}

TEST_CASE("a_scan_finds_sizes_buckets_and_captions") {
  const TemporaryFolder folder;
  folder.put("10_cat/b.bmp", bitmap_header(512, 512));
  folder.put("10_cat/b.txt", "a cat on a mat\nsecond line");
  folder.put("10_cat/a.BMP", bitmap_header(768, 512));
  folder.put("10_cat/.hidden.bmp", "x");
  const Dataset dataset =
      scan_dataset(options_for({{.image_dir = folder / "10_cat", .num_repeats = 10, .class_tokens = "cat"}}));
  REQUIRE(dataset.samples.size() == 2);
  CHECK_FALSE(dataset.has_errors());
  CHECK(dataset.item_count() == 20);
  const Sample& first = dataset.samples[0];
  CHECK(first.path.filename() == "a.BMP");
  CHECK(first.size == Size{768, 512});
  CHECK(first.bucket.bucket == Size{640, 384});
  CHECK(first.caption == "cat");
  CHECK(first.caption_origin == CaptionOrigin::ClassTokens);
  CHECK(dataset.samples[1].caption == "a cat on a mat");
  CHECK(has_issue(dataset.issues, Severity::Warning, "10_cat",
                  "1 picture without a .caption or .txt file: a.BMP | used with the caption \"cat\""));
  CHECK(has_issue(dataset.issues, Severity::Info, "10_cat", "1 caption from .txt files"));
}

TEST_CASE("a_set_caption_extension_is_the_only_one") {
  const TemporaryFolder folder;
  folder.put("a.bmp", bitmap_header(512, 512));
  folder.put("a.caption", "right");
  folder.put("a.txt", "other");
  SubsetOptions subset{.image_dir = folder / "."};
  CHECK(scan_dataset(options_for({subset})).samples.at(0).caption == "right");
  subset.caption_extension = "txt";
  CHECK(scan_dataset(options_for({subset})).samples.at(0).caption == "other");
  subset.caption_extension = ".tags";
  CHECK(scan_dataset(options_for({subset})).samples.at(0).caption.empty());
}

TEST_CASE("all_that_is_wrong_is_reported_at_once_and_the_rest_is_used") {
  const TemporaryFolder folder;
  folder.put("set/good.bmp", bitmap_header(600, 600));
  folder.put("set/empty.png", "");
  folder.put("set/page.jpg", "<!DOCTYPE html>");
  folder.put("set/small.bmp", bitmap_header(100, 120));
  folder.put("set/bad_text.bmp", bitmap_header(600, 600));
  folder.put("set/bad_text.caption", "\xFF\xFE");
  folder.put("set/blank.bmp", bitmap_header(600, 600));
  folder.put("set/blank.caption", "");
  folder.put("set/film.mp4", "x");
  fs::create_directories(folder / "set/inner");
  fs::create_symlink(folder / "nowhere", folder / "set/link.png");
  fs::create_directories(folder / "bare");
  const Dataset dataset = scan_dataset(options_for({{.image_dir = folder / "set"},
                                                    {.image_dir = folder / "bare"},
                                                    {.image_dir = folder / "gone"},
                                                    {.image_dir = folder / "set/."},
                                                    {.image_dir = folder / "set/inner", .num_repeats = 0}}));
  const std::vector<Issue>& issues = dataset.issues;
  CHECK(has_issue(issues, Severity::Warning, "empty.png", "the file is empty"));
  CHECK(has_issue(issues, Severity::Warning, "page.jpg", "a web page"));
  CHECK(has_issue(issues, Severity::Warning, "small.bmp", "enlarged 4.80 times"));
  CHECK(has_issue(issues, Severity::Warning, "bad_text.bmp", "its caption cannot be used"));
  CHECK(has_issue(issues, Severity::Warning, "set",
                  "1 picture with an empty caption file: blank.bmp | used with an empty caption"));
  CHECK(has_issue(issues, Severity::Warning, "set", "2 pictures without a .caption or .txt file: good.bmp, small.bmp"));
  CHECK(has_issue(issues, Severity::Info, "set", "1 files with extension .mp4"));
  CHECK(has_issue(issues, Severity::Info, "set", "1 folder inside"));
  CHECK(has_issue(issues, Severity::Warning, "link.png", "leads nowhere"));
  CHECK(has_issue(issues, Severity::Warning, "bare", "holds no pictures"));
  CHECK(has_issue(issues, Severity::Error, "gone", "no such folder"));
  CHECK(has_issue(issues, Severity::Warning, ".", "stands twice"));
  CHECK(has_issue(issues, Severity::Warning, "inner", "num_repeats = 0"));
  CHECK(dataset.has_errors());
  std::vector<std::string> names;
  for (const Sample& sample : dataset.samples) names.push_back(sample.path.filename().string());
  CHECK(names == std::vector<std::string>{"blank.bmp", "good.bmp", "small.bmp"});
}

TEST_CASE("pictures_without_a_bucket_are_left_out_by_name") {
  const TemporaryFolder folder;
  folder.put("a.bmp", bitmap_header(50, 600));
  folder.put("b.bmp", bitmap_header(600, 600));
  DatasetOptions options = options_for({{.image_dir = folder / "."}});
  options.bucket.bucket_no_upscale = true;
  const Dataset dataset = scan_dataset(options);
  CHECK(dataset.samples.size() == 1);
  CHECK(has_issue(dataset.issues, Severity::Warning, "a.bmp", "fits no bucket"));
}

TEST_CASE("no_usable_picture_blocks_the_run") {
  const TemporaryFolder folder;
  folder.put("a.bmp", "x");
  CHECK(scan_dataset(options_for({{.image_dir = folder / "."}})).has_errors());
  CHECK(scan_dataset(options_for({})).has_errors());
  CHECK_THROWS_AS((void)scan_dataset({.batch_size = 0}), base::Error);
}

TEST_CASE("odd_names_and_any_number_of_threads_give_the_same_samples") {
  const TemporaryFolder folder;
  const std::string place = "my [set] {x} 'q' 100% #1 \xC3\xA9 \xE6\x97\xA5 ";
  for (int i = 0; i < 30; ++i) folder.put(place + "/" + std::to_string(i) + ".x.bmp", bitmap_header(300 + 20 * i, 500));
  const DatasetOptions options = options_for({{.image_dir = folder / place}});
  const Dataset one = scan_dataset(options, {.threads = 1});
  const Dataset many = scan_dataset(options, {.threads = 7});
  REQUIRE(one.samples.size() == 30);
  REQUIRE(many.samples.size() == 30);
  for (size_t i = 0; i < 30; ++i) {
    CHECK(one.samples[i].path == many.samples[i].path);
    CHECK(one.samples[i].size == many.samples[i].size);
  }
  CHECK(one.issues.size() == many.issues.size());
}

TEST_CASE("regularisation_pictures_match_the_number_of_the_others") {
  const auto samples = [](int64_t train, int64_t repeats, std::vector<int64_t> reg) {
    std::vector<Sample> result(static_cast<size_t>(train), Sample{.repeats = repeats});
    for (const int64_t r : reg) result.push_back({.repeats = r, .is_reg = true});
    balance_regularisation(result);
    std::vector<int64_t> repeats_of_reg;
    for (const Sample& sample : result) {
      if (sample.is_reg) repeats_of_reg.push_back(sample.repeats);
    }
    return repeats_of_reg;
  };
  // One round of their own repeats, then rounds of one.
  CHECK(samples(4, 3, {1, 1, 1, 1, 1}) == std::vector<int64_t>{3, 3, 2, 2, 2});
  // The last one of the first round may go beyond.
  CHECK(samples(5, 1, {3, 3, 3}) == std::vector<int64_t>{3, 3, 0});
  CHECK(samples(5, 1, {}) == std::vector<int64_t>{});
  CHECK(samples(0, 1, {2}) == std::vector<int64_t>{0});
}

TEST_CASE("the_arithmetic_of_regularisation_is_shown") {
  const TemporaryFolder folder;
  folder.put("img/a.bmp", bitmap_header(512, 512));
  for (const char* name : {"reg/a.bmp", "reg/b.bmp", "reg/c.bmp"}) folder.put(name, bitmap_header(512, 512));
  const Dataset dataset = scan_dataset(
      options_for({{.image_dir = folder / "img", .num_repeats = 2}, {.image_dir = folder / "reg", .is_reg = true}}));
  // The third one waits for a later epoch.
  REQUIRE(dataset.samples.size() == 4);
  CHECK(dataset.samples[3].repeats == 0);
  CHECK(dataset.item_count() == 4);
  CHECK(has_issue(dataset.issues, Severity::Info, "",
                  "3 pictures, 3 with repeats, for 2 training pictures with repeats | 2 are used an epoch, so that an "
                  "epoch has 4 pictures; which ones changes from epoch to epoch, by seed"));
}

}  // namespace
}  // namespace cinnabar::data
