// What a scan finds about names, captions and places of pictures.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "cinnabar/base/error.h"
#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/health_report.h"
#include "cinnabar/data/preview_pictures.h"
#include "cinnabar/data/weighted_captions.h"
#include "data/bitmap_header.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

using formats::TemporaryFolder;
namespace fs = std::filesystem;

Dataset scan_of(const SubsetOptions& subset) {
  return scan_dataset({.bucket = {.resolution = {64, 64}}, .subsets = {subset}}, {.threads = 1});
}

const Issue* find_issue(const std::vector<Issue>& issues, const std::string& kind) {
  const auto found = std::ranges::find(issues, kind, &Issue::kind);
  return found == issues.end() ? nullptr : &*found;
}

TEST_CASE("pictures_that_share_a_name_are_told") {
  const TemporaryFolder folder;
  for (const char* name : {"set/a.bmp", "set/a.png", "set/b.bmp", "set/in/b.bmp"})
    folder.put(name, bitmap_header(64, 64));
  const Dataset dataset = scan_of({.image_dir = folder / "set", .recursive = true});
  CHECK(dataset.samples.size() == 4);
  const Issue* issue = find_issue(dataset.issues, "shared_name");
  REQUIRE(issue != nullptr);
  CHECK(issue->severity == Severity::Warning);
  CHECK(issue->message.find("2 pictures share the name a (a.bmp, a.png)") == 0);
  CHECK(std::ranges::count(dataset.issues, "shared_name", &Issue::kind) == 1);
}

TEST_CASE("pictures_stand_in_the_order_of_their_paths") {
  const TemporaryFolder folder;
  for (const char* name :
       {"a.bmp", "a/x.bmp", "a-b/x.bmp", "a b/x.bmp", "a/x y.bmp", "ä.bmp", "B.bmp", "a/x/y.bmp", "a.b.bmp"})
    folder.put("set/" + std::string(name), bitmap_header(64, 64));
  const Dataset dataset = scan_of({.image_dir = folder / "set", .recursive = true});
  std::vector<fs::path> found;
  for (const Sample& sample : dataset.samples) found.push_back(sample.path);
  REQUIRE(found.size() == 9);
  CHECK(std::ranges::is_sorted(found));
}

TEST_CASE("what_has_the_name_of_a_caption_and_is_no_file_is_told") {
  const TemporaryFolder folder;
  folder.put("set/a.bmp", bitmap_header(64, 64));
  REQUIRE(::mkfifo((folder / "set/a.txt").c_str(), 0600) == 0);
  const Dataset dataset = scan_of({.image_dir = folder / "set"});
  const Issue* issue = find_issue(dataset.issues, "odd_caption");
  REQUIRE(issue != nullptr);
  CHECK(issue->path.filename() == "a.txt");
  CHECK(issue->message.find("FIFO") != std::string::npos);
}

TEST_CASE("a_face_outside_the_picture_is_told") {
  const TemporaryFolder folder;
  folder.put("set/far_500_20_10_10.bmp", bitmap_header(64, 64));
  folder.put("set/near_30_20_10_10.bmp", bitmap_header(64, 64));
  CHECK(find_issue(scan_of({.image_dir = folder / "set"}).issues, "face_outside") == nullptr);
  const Dataset dataset = scan_of({.image_dir = folder / "set", .face_crop_aug_range = std::array{2.0, 4.0}});
  CHECK(std::ranges::count(dataset.issues, "face_outside", &Issue::kind) == 1);
  CHECK(find_issue(dataset.issues, "face_outside")->path.filename() == "far_500_20_10_10.bmp");
}

TEST_CASE("weights_of_captions_that_cannot_be_read_are_told_by_picture") {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) folder.put("set/" + std::string(name) + ".bmp", bitmap_header(64, 64));
  folder.put("set/a.txt", std::string(18, '(') + "cat" + std::string(18, ')'));
  folder.put("set/b.txt", "a (red:1.2.3) fox");
  folder.put("set/c.txt", "a (red:1.2) fox");
  Dataset dataset = scan_of({.image_dir = folder / "set"});
  CHECK(find_issue(dataset.issues, "bad_weights") == nullptr);
  check_weighted_captions(dataset);
  CHECK(std::ranges::count(dataset.issues, "bad_weights", &Issue::kind) == 2);
  CHECK(find_issue(dataset.issues, "bad_weights")->path.filename() == "a.bmp");
  CHECK(summary_text(health_counts({dataset})).find("Nothing is wrong") == std::string::npos);
}

TEST_CASE("previews_are_known_by_place_and_name") {
  CHECK(is_preview("out/sample/cat_e000003_00_20260131093000_42.png"));
  CHECK(is_preview("out/sample/my_cat_000100_01_20260131093000.png"));
  CHECK(is_preview("out/sample/e000003_00_20260131093000.png"));
  CHECK_FALSE(is_preview("out/other/cat_e000003_00_20260131093000_42.png"));
  CHECK_FALSE(is_preview("out/sample/cat_20260131093000.png"));
  CHECK_FALSE(is_preview("out/sample/cat_1_2_3_4.png"));
}

TEST_CASE("previews_of_runs_are_no_training_pictures") {
  const TemporaryFolder folder;
  const std::string preview = "set/out/sample/cat_000100_01_20260131093000.png";
  folder.put("set/a.bmp", bitmap_header(64, 64));
  folder.put("set/sample/b.bmp", bitmap_header(64, 64));
  folder.put(preview, bitmap_header(64, 64));
  const Dataset dataset = scan_of({.image_dir = folder / "set", .recursive = true});
  CHECK(dataset.samples.size() == 2);
  const Issue* issue = find_issue(dataset.issues, "previews");
  REQUIRE(issue != nullptr);
  CHECK(issue->treatment == Treatment::LeftOut);
  // Whoever names the folder wants them.
  CHECK(scan_of({.image_dir = folder / "set/out/sample"}).samples.size() == 1);
  std::vector<Issue> issues;
  fs::remove(folder / "set/a.bmp");
  fs::remove_all(folder / "set/sample");
  fs::rename(folder / "set/out/sample", folder / "set/sample");
  CHECK(subsets_of_folder(folder / "set", {}, issues).empty());
  CHECK(find_issue(issues, "previews") != nullptr);
}

TEST_CASE("previews_that_will_lie_among_pictures_are_told") {
  const TemporaryFolder folder;
  folder.put("set/a.bmp", bitmap_header(64, 64));
  std::vector<Dataset> datasets = {scan_of({.image_dir = folder / "set"})};
  report_preview_place(datasets, folder / "out");
  CHECK(find_issue(datasets[0].issues, "previews_among_pictures") == nullptr);
  report_preview_place(datasets, folder / "set/out");
  CHECK(find_issue(datasets[0].issues, "previews_among_pictures") != nullptr);
}

TEST_CASE("a_folder_of_no_repeats_is_left_out_alone_as_beside_others") {
  const TemporaryFolder folder;
  folder.put("img/0_x/a.bmp", bitmap_header(64, 64));
  std::vector<Issue> issues;
  CHECK(subsets_of_folder(folder / "img", {}, issues).empty());
  REQUIRE(issues.size() == 2);
  CHECK(issues[0].message == "the name asks for fewer than 1 repeat");
  CHECK(issues[1].kind == "no_pictures");
}

TEST_CASE("a_finding_is_one_sentence") {
  CHECK(to_string(Issue{.message = "a multiple of 64.", .action = "used so"}) == "a multiple of 64; used so");
}

}  // namespace
}  // namespace cinnabar::data
