#include "cinnabar/train/lineage.h"

#include <doctest/doctest.h>

#include <chrono>

#include "formats/temporary_folder.h"

namespace cinnabar::train {

namespace {

struct Pictures {
  explicit Pictures(const std::filesystem::path& folder) {
    dataset.options.subsets = {{.image_dir = folder / "one"}, {.image_dir = folder / "two", .is_reg = true}};
    add("one/a.png", "a dog", 0);
    add("one/b.png", "a cat", 0);
    add("two/c.png", "", 1);
  }
  void add(const std::string& name, const std::string& caption, size_t subset) {
    data::Sample sample;
    sample.path = dataset.options.subsets[subset].image_dir.parent_path() / name;
    sample.caption = caption;
    sample.subset = subset;
    dataset.samples.push_back(sample);
  }
  std::vector<std::string> hashes() const { return subset_hashes(dataset); }
  data::Dataset dataset;
};

TEST_CASE("the_hash_of_pictures_does_not_depend_on_where_they_lie") {
  const formats::TemporaryFolder first;
  const formats::TemporaryFolder second;
  for (const char* name : {"one/a.png", "one/b.png", "two/c.png"}) {
    first.put(name, "12345");
    second.put(name, "12345");
  }
  CHECK(Pictures(first / "").hashes() == Pictures(second / "").hashes());
  second.put("one/b.png", "123456");
  const auto changed = Pictures(second / "").hashes();
  CHECK(Pictures(first / "").hashes()[0] != changed[0]);
  CHECK(Pictures(first / "").hashes()[1] == changed[1]);
}

TEST_CASE("a_picture_replaced_by_one_of_the_same_size_shows_in_the_times") {
  const formats::TemporaryFolder folder;
  for (const char* name : {"one/a.png", "one/b.png", "two/c.png"}) folder.put(name, "12345");
  const PictureHashes before = picture_hashes({Pictures(folder / "").dataset});
  CHECK(picture_hashes({Pictures(folder / "").dataset}).times == before.times);
  const auto file = folder / "one/b.png";
  std::filesystem::last_write_time(file, std::filesystem::last_write_time(file) + std::chrono::seconds(1));
  const PictureHashes after = picture_hashes({Pictures(folder / "").dataset});
  CHECK(after.pictures == before.pictures);
  CHECK(after.times != before.times);
}

TEST_CASE("captions_repeats_and_order_are_part_of_the_hash") {
  const formats::TemporaryFolder folder;
  const Pictures usual(folder / "");
  const std::string hash = usual.hashes()[0];
  Pictures other = usual;
  other.dataset.samples[0].caption = "a fox";
  CHECK(other.hashes()[0] != hash);
  other = usual;
  other.dataset.samples[0].repeats = 2;
  CHECK(other.hashes()[0] != hash);
  other = usual;
  std::swap(other.dataset.samples[0], other.dataset.samples[1]);
  CHECK(other.hashes()[0] != hash);
  // No text can pass for the end of one and the beginning of the next.
  Pictures left = usual;
  Pictures right = usual;
  left.dataset.samples[0].caption = "x;1:y";
  right.dataset.samples[0].caption = "x";
  CHECK(left.hashes()[0] != right.hashes()[0]);
}

TEST_CASE("each_folder_of_pictures_is_told") {
  const formats::TemporaryFolder folder;
  base::RecordedEvents events;
  tell_data_sets(events, {Pictures(folder / "").dataset});
  REQUIRE(events.lines().size() == 2);
  CHECK(events.lines()[0].find("\"type\":\"input\"") != std::string::npos);
  CHECK(events.lines()[0].find("2 pictures") != std::string::npos);
  CHECK(events.lines()[1].find("\"kind\":\"regularisation\"") != std::string::npos);
}

}  // namespace

}  // namespace cinnabar::train
