#include "cinnabar/data/scan_index.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/dataset_scan.h"
#include "data/bitmap_header.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

using formats::TemporaryFolder;
namespace fs = std::filesystem;

FileStamp old_stamp(uint64_t size) { return {.size = size, .written_ns = 1000, .changed_ns = 2000, .inode = 7}; }

IndexEntry entry_of(uint64_t size, int64_t width) {
  IndexEntry entry{.stamp = old_stamp(size)};
  entry.facts.info.kind = PictureKind::WebP;
  entry.facts.info.stored = {width, 20};
  entry.facts.info.upright = {20, width};
  entry.facts.info.orientation = 6;
  entry.facts.info.notes = {"animated: the first frame is used"};
  entry.facts.missing_end = "the file has 3 of 4 bytes";
  entry.caption = CaptionFacts{.name = "a.txt",
                               .stamp = old_stamp(9),
                               .keeps_lines = true,
                               .text = "a cat\non a mat",
                               .had_byte_order_mark = true};
  return entry;
}

TEST_CASE("an_index_gives_back_what_was_found_out") {
  const TemporaryFolder folder;
  const fs::path file = folder / "index";
  {
    ScanIndex index(file, folder / "img");
    index.add(folder / "img/b.webp", entry_of(5, 30));
    index.add(folder / "img/a.webp", entry_of(6, 40));
    index.add(folder / "elsewhere.webp", entry_of(6, 40));
    CHECK(index.save().empty());
  }
  ScanIndex index(file, folder / "img");
  CHECK(index.problem().empty());
  CHECK(index.size() == 2);
  const auto found = index.find(folder / "img/b.webp", old_stamp(5));
  REQUIRE(found);
  CHECK(found->facts.info.kind == PictureKind::WebP);
  CHECK(found->facts.info.stored == Size{30, 20});
  CHECK(found->facts.info.upright == Size{20, 30});
  CHECK(found->facts.info.orientation == 6);
  CHECK(found->facts.info.notes == std::vector<std::string>{"animated: the first frame is used"});
  CHECK(found->facts.missing_end == "the file has 3 of 4 bytes");
  REQUIRE(found->caption);
  CHECK(found->caption->text == "a cat\non a mat");
  CHECK((found->caption->keeps_lines && found->caption->had_byte_order_mark && found->caption->name == "a.txt"));
  CHECK_FALSE(index.find(folder / "img/c.webp", old_stamp(5)));
}

TEST_CASE("a_file_that_differs_in_any_part_of_its_stamp_is_not_known") {
  const TemporaryFolder folder;
  {
    ScanIndex index(folder / "index", folder / "img");
    index.add(folder / "img/a.png", entry_of(5, 30));
    index.save();
  }
  ScanIndex index(folder / "index", folder / "img");
  FileStamp stamp = old_stamp(5);
  CHECK(index.find(folder / "img/a.png", stamp));
  stamp.size = 6;
  CHECK_FALSE(index.find(folder / "img/a.png", stamp));
  stamp = old_stamp(5);
  stamp.written_ns = 1001;
  CHECK_FALSE(index.find(folder / "img/a.png", stamp));
  stamp = old_stamp(5);
  stamp.changed_ns = 2001;
  CHECK_FALSE(index.find(folder / "img/a.png", stamp));
  stamp = old_stamp(5);
  stamp.inode = 8;
  CHECK_FALSE(index.find(folder / "img/a.png", stamp));
}

TEST_CASE("files_that_changed_a_moment_ago_and_files_that_are_gone_are_not_remembered") {
  const TemporaryFolder folder;
  {
    ScanIndex index(folder / "index", folder / "img");
    IndexEntry fresh = entry_of(5, 30);
    fresh.stamp.changed_ns = int64_t{std::time(nullptr)} * 1'000'000'000;
    index.add(folder / "img/fresh.png", fresh);
    IndexEntry fresh_caption = entry_of(5, 30);
    fresh_caption.caption->stamp.written_ns = fresh.stamp.changed_ns;
    index.add(folder / "img/half.png", fresh_caption);
    index.add(folder / "img/gone.png", entry_of(5, 30));
    index.save();
  }
  {
    ScanIndex index(folder / "index", folder / "img");
    CHECK(index.size() == 2);
    const auto half = index.find(folder / "img/half.png", old_stamp(5));
    REQUIRE(half);
    CHECK_FALSE(half->caption);
    index.save();
  }
  CHECK(ScanIndex(folder / "index", folder / "img").size() == 1);
}

TEST_CASE("an_index_with_any_byte_changed_or_missing_is_not_used_and_says_so") {
  const TemporaryFolder folder;
  {
    ScanIndex index(folder / "index", folder / "img");
    index.add(folder / "img/a.png", entry_of(5, 30));
    index.save();
  }
  const std::string good = base::read_file(folder / "index");
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    folder.put("bad", bad);
    ScanIndex index(folder / "bad", folder / "img");
    CHECK_FALSE(index.problem().empty());
    CHECK_FALSE(index.find(folder / "img/a.png", old_stamp(5)));
    folder.put("bad", good.substr(0, i));
    CHECK_FALSE(ScanIndex(folder / "bad", folder / "img").problem().empty());
  }
}

Dataset scanned(const TemporaryFolder& folder, bool has_index) {
  ScanOptions scan{.threads = 1};
  if (has_index) scan.index_folder = folder / "indexes";
  return scan_dataset({.bucket = {.enable_bucket = true},
                       .batch_size = 1,
                       .subsets = {{.image_dir = folder / "img", .class_tokens = "thing"}}},
                      scan);
}

std::vector<std::string> texts_of(const Dataset& dataset) {
  std::vector<std::string> texts;
  for (const Sample& sample : dataset.samples)
    texts.push_back(sample.path.filename().string() + " " + to_string(sample.size) + " " + sample.caption);
  for (const Issue& issue : dataset.issues) texts.push_back(issue.kind + " " + issue.message);
  return texts;
}

// Writes an index for the folder as it is, whose stamps are those of the files now.
void index_as_if_old(const TemporaryFolder& folder) {
  const fs::path file = ScanIndex::file_for(folder / "indexes", folder / "img");
  constexpr int64_t kMuchLater = int64_t{1} << 62;  // files just written are old by this clock
  ScanIndex index(file, folder / "img", kMuchLater);
  for (const auto& one : fs::directory_iterator(folder / "img")) {
    if (one.path().extension() != ".bmp") continue;
    struct stat info{};
    REQUIRE(::stat(one.path().c_str(), &info) == 0);
    IndexEntry entry{.stamp = stamp_of(info)};
    entry.facts.info.kind = PictureKind::Bmp;
    entry.facts.info.stored = entry.facts.info.upright = {77, 77};  // not what the file says: shows who was asked
    index.add(one.path(), entry);
  }
  CHECK(index.save().empty());
}

TEST_CASE("a_scan_asks_the_index_and_reads_what_changed") {
  const TemporaryFolder folder;
  folder.put("img/a.bmp", bitmap_header(50, 50));
  folder.put("img/b.bmp", bitmap_header(60, 60));
  folder.put("img/a.txt", "one");
  index_as_if_old(folder);
  const Dataset first = scanned(folder, true);
  REQUIRE(first.samples.size() == 2);
  CHECK(first.samples[0].size == Size{77, 77});
  CHECK(first.samples[0].caption == "one");
  folder.put("img/b.bmp", bitmap_header(61, 61));
  folder.put("img/a.txt", "two");
  const Dataset second = scanned(folder, true);
  CHECK(second.samples[0].caption == "two");
  CHECK(second.samples[1].size == Size{61, 61});
}

TEST_CASE("a_scan_finds_the_same_with_an_index_without_and_with_a_bad_one") {
  const TemporaryFolder folder;
  folder.put("img/a.bmp", bitmap_header(50, 50));
  folder.put("img/b.bmp", bitmap_header(60, 60));
  folder.put("img/b.txt", "");
  folder.put("img/c.bmp", "no picture");
  const auto expected = texts_of(scanned(folder, false));
  CHECK(texts_of(scanned(folder, true)) == expected);
  CHECK(texts_of(scanned(folder, true)) == expected);
  folder.put("indexes/" + ScanIndex::file_for("", folder / "img").string(), "cinnabar-scan-index-1\nrubbish");
  const Dataset dataset = scanned(folder, true);
  const auto is_told = [](const Issue& issue) { return issue.kind == "bad_index"; };
  CHECK(std::ranges::count_if(dataset.issues, is_told) == 1);
  CHECK(dataset.samples.size() == 2);
}

}  // namespace
}  // namespace cinnabar::data
