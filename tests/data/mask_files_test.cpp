#include "cinnabar/data/mask_files.h"

#include <doctest/doctest.h>

#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/png_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

using formats::TemporaryFolder;

void put(const TemporaryFolder& folder, const std::string& name, Size size) {
  std::filesystem::create_directories((folder / name).parent_path());
  save_png(folder / name, blank_picture(size, 3));
}

Dataset scanned_with_masks(const TemporaryFolder& folder) {
  DatasetOptions options;
  options.bucket.resolution = {64, 64};
  options.subsets.push_back(
      {.image_dir = folder / "10_cat", .class_tokens = "cat", .conditioning_data_dir = folder / "masks"});
  return scan_dataset(options, {.threads = 1});
}

std::string kinds(const std::vector<Issue>& issues) {
  std::string text;
  for (const Issue& issue : issues) text += issue.kind + " ";
  return text;
}

TEST_CASE("masks_are_found_by_name_whatever_the_extension") {
  const TemporaryFolder folder;
  put(folder, "10_cat/a.png", {64, 64});
  put(folder, "10_cat/b.c.png", {64, 32});
  put(folder, "masks/a.png", {32, 32});  // another size, the same shape
  put(folder, "masks/b.c.png", {64, 32});
  Dataset dataset = scanned_with_masks(folder);
  CHECK(find_masks(dataset).empty());
  REQUIRE(dataset.samples.size() == 2);
  CHECK(dataset.samples[0].mask.filename() == "a.png");
  CHECK(dataset.samples[1].mask.filename() == "b.c.png");
}

TEST_CASE("a_sub_folder_of_the_subsets_name_comes_first") {
  const TemporaryFolder folder;
  put(folder, "10_cat/a.png", {64, 64});
  put(folder, "masks/a.png", {64, 64});
  put(folder, "masks/10_cat/a.png", {64, 64});
  Dataset dataset = scanned_with_masks(folder);
  CHECK(find_masks(dataset).empty());
  CHECK(dataset.samples.at(0).mask == folder / "masks" / "10_cat" / "a.png");
}

TEST_CASE("pictures_without_a_fitting_mask_leave_the_data_set_and_are_named") {
  const TemporaryFolder folder;
  put(folder, "10_cat/a.png", {64, 64});
  put(folder, "10_cat/missing.png", {64, 64});
  put(folder, "10_cat/other_shape.png", {64, 64});
  put(folder, "masks/a.png", {64, 64});
  put(folder, "masks/other_shape.png", {64, 32});
  put(folder, "masks/surplus.png", {64, 64});
  Dataset dataset = scanned_with_masks(folder);
  const std::vector<Issue> issues = find_masks(dataset);
  CHECK(kinds(issues) == "mask_shape no_mask surplus_masks ");
  REQUIRE(dataset.samples.size() == 1);
  CHECK(dataset.samples[0].path.filename() == "a.png");
  CHECK(issues[0].message.find("has 64x32 pixels, the picture has 64x64") != std::string::npos);
  CHECK(issues[1].message.find("missing.png") != std::string::npos);
  CHECK(issues[2].message.find("surplus.png") != std::string::npos);
}

TEST_CASE("a_folder_that_is_missing_or_fits_nothing_blocks_the_run") {
  const TemporaryFolder folder;
  put(folder, "10_cat/a.png", {64, 64});
  Dataset missing = scanned_with_masks(folder);
  find_masks(missing);
  CHECK(missing.has_errors());
  put(folder, "masks/b.png", {64, 64});
  Dataset unfit = scanned_with_masks(folder);
  find_masks(unfit);
  CHECK(unfit.has_errors());
}

}  // namespace
}  // namespace cinnabar::data
