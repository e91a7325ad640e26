// Faults that users of other trainers reported: what the scan finds, and what it does about it.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/folder_dataset.h"
#include "cinnabar/data/health_report.h"
#include "cinnabar/data/picture.h"
#include "cinnabar/data/picture_end.h"
#include "cinnabar/data/png_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

using formats::TemporaryFolder;
namespace fs = std::filesystem;

std::string png_bytes() {
  const TemporaryFolder folder;
  Picture picture = blank_picture({64, 64}, 3);
  for (size_t i = 0; i < picture.pixels.size(); ++i) picture.pixels[i] = static_cast<uint8_t>(i * 7919 >> 3);
  save_png(folder / "a.png", picture, {});
  return base::read_file(folder / "a.png");
}

std::string jpeg_bytes(const std::string& name = "progressive.jpg") {
  return base::read_file(fs::path(CINNABAR_TESTS_DIR) / "data/pictures" / name);
}

const std::string& good_png() {
  static const std::string kBytes = png_bytes();
  return kBytes;
}

std::string decode_failure(const fs::path& path) {
  try {
    (void)load_picture(path);
    return {};
  } catch (const base::Error& error) {
    return error.message();
  }
}

Dataset scan(const SubsetOptions& subset, bool decodes_all = false) {
  return scan_dataset({.bucket = {.resolution = {64, 64}}, .subsets = {subset}},
                      {.decode_failure = decode_failure, .decodes_all = decodes_all});
}

const Issue* find(const Dataset& dataset, const std::string& kind, const std::string& file = "") {
  for (const Issue& issue : dataset.issues) {
    if (issue.kind == kind && (file.empty() || issue.path.filename() == file)) return &issue;
  }
  return nullptr;
}

std::vector<std::string> names(const Dataset& dataset) {
  std::vector<std::string> result;
  for (const Sample& sample : dataset.samples) result.push_back(sample.path.filename().string());
  return result;
}

TEST_CASE("case_01_a_truncated_jpeg_is_named_and_left_out") {
  const TemporaryFolder folder;
  const std::string whole = jpeg_bytes();
  folder.put("good.jpg", whole);
  folder.put("cut.jpg", whole.substr(0, whole.size() * 6 / 10));
  const Dataset dataset = scan({.image_dir = folder / "."});
  CHECK(names(dataset) == std::vector<std::string>{"good.jpg"});
  const Issue* issue = find(dataset, "cut_off", "cut.jpg");
  REQUIRE(issue != nullptr);
  CHECK(issue->treatment == Treatment::LeftOut);
  CHECK(issue->message.find("cut off") != std::string::npos);
  CHECK(health_counts({dataset}).left_out == 1);
}

TEST_CASE("case_01_an_end_mark_of_a_thumbnail_does_not_count") {
  const TemporaryFolder folder;
  // An APP1 segment that holds the end mark, in front of a picture that has none.
  const std::string whole = jpeg_bytes();
  const std::string thumbnail("\xFF\xE1\x00\x08Thmb\xFF\xD9", 10);
  const std::string with_thumbnail = whole.substr(0, 2) + thumbnail + whole.substr(2);
  CHECK(missing_end(folder.put("a.jpg", with_thumbnail), PictureKind::Jpeg).empty());
  const std::string cut = with_thumbnail.substr(0, with_thumbnail.size() * 8 / 10);
  CHECK(missing_end(folder.put("b.jpg", cut), PictureKind::Jpeg).find("FF D9") != std::string::npos);
}

TEST_CASE("case_02_broken_png_chunks_are_found_without_decoding") {
  const TemporaryFolder folder;
  std::string broken = good_png();
  const size_t data = broken.rfind("IDAT");
  REQUIRE(data != std::string::npos);
  // The length of the chunk half of what it is: no decoder finds all pixels (some do without the last bytes).
  uint32_t length = 0;
  for (size_t i = 0; i < 4; ++i) length = length << 8 | static_cast<uint8_t>(broken[data - 4 + i]);
  length /= 2;
  for (size_t i = 0; i < 4; ++i) broken[data - 4 + i] = static_cast<char>(length >> (24 - 8 * i) & 0xFF);
  CHECK(missing_end(folder.put("length.png", broken), PictureKind::Png).find("no chunk") != std::string::npos);
  CHECK(missing_end(folder.put("cut.png", good_png().substr(0, good_png().size() / 2)), PictureKind::Png)
            .find("ends inside") != std::string::npos);
  CHECK(missing_end(folder.put("good.png", good_png()), PictureKind::Png).empty());
  folder.put("zero.png", "");
  const Dataset dataset = scan({.image_dir = folder / "."});
  CHECK(names(dataset) == std::vector<std::string>{"good.png"});
  CHECK(find(dataset, "cut_off", "length.png") != nullptr);
  CHECK(find(dataset, "cut_off", "cut.png") != nullptr);
  REQUIRE(find(dataset, "broken_picture", "zero.png") != nullptr);
  CHECK(find(dataset, "broken_picture", "zero.png")->message == "the file is empty; expected a picture");
}

TEST_CASE("damage_inside_is_found_when_everything_is_decoded") {
  const TemporaryFolder folder;
  std::string damaged = good_png();
  const size_t data = damaged.find("IDAT");
  for (size_t i = 0; i < 12; ++i) damaged[data + 20 + i] = '\x55';
  folder.put("damaged.png", damaged);
  folder.put("good.png", good_png());
  CHECK(scan({.image_dir = folder / "."}).samples.size() == 2);
  const Dataset dataset = scan({.image_dir = folder / "."}, true);
  CHECK(names(dataset) == std::vector<std::string>{"good.png"});
  CHECK(find(dataset, "undecodable", "damaged.png") != nullptr);
}

TEST_CASE("case_04_turned_pictures_take_the_bucket_of_what_is_seen") {
  const TemporaryFolder folder;
  for (int i = 1; i <= 8; ++i) {  // stored as 32x16
    const std::string name = "orientation_" + std::to_string(i) + ".jpg";
    folder.put(name, jpeg_bytes(name));
  }
  const BucketOptions bucket{.resolution = {32, 32},
                             .enable_bucket = true,
                             .min_bucket_reso = 8,
                             .max_bucket_reso = 64,
                             .bucket_reso_steps = 8};
  const Dataset dataset =
      scan_dataset({.bucket = bucket, .subsets = {{.image_dir = folder / ".", .class_tokens = "x"}}}, {});
  REQUIRE(dataset.samples.size() == 8);
  for (size_t i = 0; i < 8; ++i) {
    CAPTURE(i);
    const Sample& sample = dataset.samples[i];
    CHECK(sample.size == (i < 4 ? Size{32, 16} : Size{16, 32}));
    CHECK((sample.bucket.bucket.width > sample.bucket.bucket.height) == (i < 4));
  }
}

TEST_CASE("case_10_extensions_of_any_case_are_used_and_unknown_kinds_are_counted") {
  const TemporaryFolder folder;
  folder.put("a.Jpg", jpeg_bytes());
  folder.put("b.jfif", jpeg_bytes());
  folder.put("c.TIFF", jpeg_bytes("orientation_6.tiff"));
  folder.put("d.Avif", jpeg_bytes("quadrants.avif"));
  folder.put("e.gif", jpeg_bytes("animated.gif"));
  folder.put("f.jxl", "x");
  folder.put("g.JXL", "x");
  folder.put("h.mp4", "x");
  const Dataset dataset = scan({.image_dir = folder / "."});
  CHECK(names(dataset) == std::vector<std::string>{"a.Jpg", "b.jfif", "c.TIFF", "d.Avif", "e.gif"});
  CHECK(find(dataset, "animated", "e.gif") != nullptr);
  REQUIRE(find(dataset, "unsupported_pictures") != nullptr);
  CHECK(find(dataset, "unsupported_pictures")->message.find("2 files with extension .jxl") == 0);
  CHECK(find(dataset, "unsupported_pictures")->treatment == Treatment::LeftOut);
  REQUIRE(find(dataset, "other_files") != nullptr);
  CHECK(find(dataset, "other_files")->message.find("1 files with extension .mp4") == 0);
}

TEST_CASE("case_11_files_of_operating_systems_are_ignored") {
  const TemporaryFolder folder;
  for (const char* name : {"._a.jpg", ".DS_Store", "Thumbs.db", "thumbs.DB", "desktop.ini"})
    folder.put(name, std::string(4096, '\0'));
  folder.put("a.png", good_png());
  folder.put("a.txt", "a");
  const Dataset dataset = scan({.image_dir = folder / ".", .caption_extension = ".txt"});
  CHECK(names(dataset) == std::vector<std::string>{"a.png"});
  CHECK(dataset.issues.empty());
  CHECK(summary_text(health_counts({dataset})) ==
        "Found 1 picture; an epoch has 1, with repeats. Nothing is wrong with them.");
}

TEST_CASE("a_warning_about_what_is_used_is_a_finding_and_nothing_is_called_mended") {
  const TemporaryFolder folder;
  folder.put("a.png", good_png());
  const Dataset dataset = scan({.image_dir = folder / "."});
  const HealthCounts counts = health_counts({dataset});
  CHECK(counts.noted == 1);
  CHECK(counts.fixed == 0);
  CHECK(summary_text(counts) ==
        "Found 1 picture; an epoch has 1, with repeats. Findings: 0 left out, 0 fixed, 1 to look at (the warnings "
        "above).");
}

TEST_CASE("case_12_names_with_two_dots_keep_their_own_captions") {
  const TemporaryFolder folder;
  folder.put("aaa.bbb.png", good_png());
  folder.put("aaa.ccc.png", good_png());
  folder.put("aaa.bbb.txt", "first");
  folder.put("aaa.ccc.txt", "second");
  const Dataset dataset = scan({.image_dir = folder / "."});
  REQUIRE(dataset.samples.size() == 2);
  CHECK(dataset.samples[0].caption == "first");
  CHECK(dataset.samples[1].caption == "second");
}

TEST_CASE("case_14_captions_of_other_pictures_are_not_taken_unless_asked") {
  const TemporaryFolder folder;
  folder.put("photo.png", good_png());
  folder.put("photo.txt", "a photo");
  folder.put("photo_1_2_3_4.png", good_png());
  SubsetOptions subset{.image_dir = folder / "."};
  const Dataset exact = scan(subset);
  CHECK(exact.samples[1].caption.empty());
  REQUIRE(find(exact, "other_caption") != nullptr);
  CHECK(find(exact, "other_caption")->action.find("face_captions") != std::string::npos);
  subset.has_face_names = true;
  CHECK(scan(subset).samples[1].caption == "a photo");
}

TEST_CASE("case_15_odd_paths_are_found_and_letters_may_be_composed_or_not") {
  const TemporaryFolder folder;
  const std::string place = "my [set] {x} 'q' 100% #1 \xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80 ";
  const std::string composed = "caf\xC3\xA9";
  const std::string decomposed = "cafe\xCC\x81";
  folder.put(place + "/" + composed + ".png", good_png());
  folder.put(place + "/" + decomposed + ".txt", "a cafe");
  const Dataset dataset = scan({.image_dir = folder / place});
  REQUIRE(dataset.samples.size() == 1);
  CHECK(dataset.samples[0].caption == "a cafe");
  // The folder itself, written the other way.
  folder.put(composed + "/a.png", good_png());
  const Dataset other = scan({.image_dir = folder / decomposed});
  CHECK(other.samples.size() == 1);
  CHECK(find(other, "composed_name") != nullptr);
  CHECK(path_as_written(folder / "none") == folder / "none");
}

TEST_CASE("case_17_a_byte_order_mark_and_line_ends_do_not_reach_the_caption") {
  const TemporaryFolder folder;
  folder.put("a.png", good_png());
  folder.put("a.txt",
             "\xEF\xBB\xBF"
             "1girl, solo\r\n");
  const Dataset dataset = scan({.image_dir = folder / "."});
  CHECK(dataset.samples.at(0).caption == "1girl, solo");
  REQUIRE(find(dataset, "byte_order_mark", "a.txt") != nullptr);
  CHECK(find(dataset, "byte_order_mark")->treatment == Treatment::Fixed);
}

TEST_CASE("case_18_missing_and_empty_captions_are_counted_or_skipped") {
  const TemporaryFolder folder;
  for (const char* name : {"a.png", "b.png", "c.png", "d.png"}) folder.put(name, good_png());
  folder.put("a.txt", "");
  folder.put("b.txt", "\r\n\r\n");
  folder.put("c.caption", "only here");
  SubsetOptions subset{.image_dir = folder / ".", .class_tokens = "dog", .caption_extension = ".txt"};
  const Dataset dataset = scan(subset);
  REQUIRE(dataset.samples.size() == 4);
  for (const Sample& sample : dataset.samples) CHECK(sample.caption == "dog");
  CHECK(find(dataset, "empty_caption")->message.find("2 pictures with an empty caption file: a.png, b.png") == 0);
  CHECK(find(dataset, "no_caption")->message.find("2 pictures without a .txt file: c.png, d.png") == 0);
  CHECK(find(dataset, "other_caption")->message.find("c.caption") != std::string::npos);
  subset.caption_extension.reset();
  CHECK(scan(subset).samples[2].caption == "only here");
  subset.skip_uncaptioned = true;
  const Dataset skipped = scan(subset);
  CHECK(names(skipped) == std::vector<std::string>{"c.png"});
  CHECK(find(skipped, "skipped_caption")->treatment == Treatment::LeftOut);
}

TEST_CASE("case_19_lines_beyond_the_first_are_read_when_the_policy_uses_them") {
  const TemporaryFolder folder;
  folder.put("a.png", good_png());
  folder.put("a.txt", "one\n\n two\nthree\n");
  SubsetOptions subset{.image_dir = folder / "."};
  CHECK(scan(subset).samples.at(0).caption == "one");
  subset.caption.caption_lines = CaptionLines::Join;
  CHECK(scan(subset).samples.at(0).caption == "one\ntwo\nthree");
}

TEST_CASE("a_mark_that_stays_in_captions_is_said") {
  const TemporaryFolder folder;
  folder.put("a.png", good_png());
  folder.put("a.txt", "a ||| b");
  SubsetOptions subset{.image_dir = folder / "."};
  subset.caption.keep_tokens_separator = "|||";
  CHECK(find(scan(subset), "unused_separator") != nullptr);
  subset.caption.shuffle_caption = true;
  CHECK(find(scan(subset), "unused_separator") == nullptr);
}

TEST_CASE("case_21_every_layout_of_folders_works_or_says_what_was_seen") {
  const TemporaryFolder folder;
  folder.put("flat/a.png", good_png());
  folder.put("plain/abc/a.png", good_png());
  folder.put("numbered/10_abc/a.png", good_png());
  folder.put("nested/10_abc/10_abc/a.png", good_png());
  folder.put("nothing/10_abc/readme.md", "x");
  const auto scanned = [&](const std::string& name, bool recursive) {
    std::vector<Issue> issues;
    Dataset dataset = scan_dataset({.bucket = {.resolution = {64, 64}},
                                    .subsets = subsets_of_folder(folder / name, {.recursive = recursive}, issues)});
    dataset.issues.insert(dataset.issues.begin(), issues.begin(), issues.end());
    return dataset;
  };
  CHECK(scanned("flat", false).item_count() == 1);
  CHECK(scanned("plain", false).item_count() == 1);
  CHECK(scanned("numbered", false).item_count() == 10);
  CHECK(scanned("nested", true).item_count() == 10);
  const Dataset cut = scanned("nested", false);
  CHECK(cut.has_errors());
  CHECK(find(cut, "inner_folders")->action.find("recursive") != std::string::npos);
  const Dataset nothing = scanned("nothing", false);
  CHECK(nothing.has_errors());
  CHECK(find(nothing, "nothing_to_train")->message.find("0 were found") != std::string::npos);
}

TEST_CASE("case_22_loops_are_cut_dangling_links_are_listed_and_equal_names_stay_apart") {
  const TemporaryFolder folder;
  folder.put("d/a.png", good_png());
  folder.put("d/sub/a.png", jpeg_bytes());
  fs::create_directory_symlink("..", folder / "d/sub/loop");
  fs::create_symlink(folder / "gone.png", folder / "d/dangling.png");
  const Dataset dataset = scan({.image_dir = folder / "d", .recursive = true});
  REQUIRE(dataset.samples.size() == 2);
  CHECK(dataset.samples[0].path != dataset.samples[1].path);
  CHECK(dataset.samples[0].size != dataset.samples[1].size);
  CHECK(find(dataset, "folder_loop") != nullptr);
  CHECK(find(dataset, "dangling_link", "dangling.png") != nullptr);
}

TEST_CASE("case_25_cache_files_of_other_tools_are_no_pictures") {
  const TemporaryFolder folder;
  folder.put("a.png", good_png());
  folder.put("a_0064x0064_sd.npz", "x");
  const Dataset dataset = scan({.image_dir = folder / ".", .class_tokens = "x"});
  CHECK(dataset.samples.size() == 1);
  CHECK(find(dataset, "other_files") == nullptr);
}

TEST_CASE("turned_pictures_are_listed_as_fixed") {
  const TemporaryFolder folder;
  folder.put("a.jpg", jpeg_bytes("orientation_6.jpg"));
  const Dataset dataset = scan({.image_dir = folder / ".", .class_tokens = "x"});
  REQUIRE(find(dataset, "turned", "a.jpg") != nullptr);
  CHECK(find(dataset, "turned")->treatment == Treatment::Fixed);
}

TEST_CASE("many_findings_of_one_kind_are_summed_up_and_all_stand_in_the_json") {
  const TemporaryFolder folder;
  folder.put("good.png", good_png());
  for (int i = 0; i < 20; ++i) folder.put("bad" + std::to_string(i) + ".png", "");
  const Dataset dataset = scan({.image_dir = folder / ".", .class_tokens = "x"});
  const std::vector<ReportLine> lines = report_lines({dataset, dataset});
  const auto about_bad = std::ranges::count_if(
      lines, [](const ReportLine& line) { return line.text.find("the file is empty") != std::string::npos; });
  CHECK(about_bad == 5);
  CHECK(std::ranges::any_of(lines, [](const ReportLine& line) {
    return line.text.find("and 16 more findings of this kind (broken_picture)") == 0;
  }));
  const auto json = nlohmann::json::parse(health_json({dataset, dataset}));
  CHECK(json["summary"]["left_out"] == 20);
  CHECK(json["summary"]["pictures"] == 2);
  const auto& findings = json["findings"];
  CHECK(std::count_if(findings.begin(), findings.end(), [](const auto& finding) {
          return finding["kind"] == "broken_picture" && finding["treatment"] == "left out" &&
                 finding["action"] == "left out" && finding["severity"] == "warning";
        }) == 20);
  CHECK(json["datasets"][0]["subsets"][0]["pictures"] == 1);
}

}  // namespace
}  // namespace cinnabar::data
