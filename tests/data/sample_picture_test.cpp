#include "cinnabar/data/sample_picture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/data/png_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;
using formats::TemporaryFolder;

// Red grows to the right, green downwards.
Picture ramp(Size size, int64_t channels = 3) {
  Picture picture = blank_picture(size, channels);
  for (int64_t y = 0; y < size.height; ++y) {
    for (int64_t x = 0; x < size.width; ++x) {
      uint8_t* pixel = picture.pixels.data() + (y * size.width + x) * channels;
      pixel[0] = static_cast<uint8_t>(x);
      pixel[1] = static_cast<uint8_t>(y);
      pixel[2] = 200;
      if (channels == 4) pixel[3] = static_cast<uint8_t>(x < size.width / 2 ? 0 : 255);
    }
  }
  return picture;
}

struct PictureScene {
  TemporaryFolder folder;
  DatasetOptions options;
  Sample sample;

  explicit PictureScene(const Picture& picture, Size target, bool enable_bucket = true,
                        const std::string& name = "a.png") {
    save_png(folder / name, picture);
    options.bucket = {
        .resolution = target, .enable_bucket = enable_bucket, .min_bucket_reso = 8, .bucket_reso_steps = 8};
    options.subsets.resize(1);
    sample.path = folder / name;
    sample.size = picture.size();
    sample.bucket = BucketRule({.resolution = target}).choose(picture.size());
  }
  SubsetOptions& subset() { return options.subsets[0]; }
};

uint8_t at(const Picture& picture, int64_t x, int64_t y, int64_t channel) {
  return picture.pixels[static_cast<size_t>((y * picture.width + x) * picture.channels + channel)];
}

TEST_CASE("without_augmentation_the_cut_is_from_the_centre") {
  PictureScene scene(ramp({48, 32}), {32, 32});
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, PictureDraw{});
  CHECK(prepared.picture.size() == Size{32, 32});
  CHECK(at(prepared.picture, 0, 0, 0) == 8);
  CHECK(prepared.mask.empty());
  CHECK(prepared.picture.pixels == prepare_picture(scene.sample, scene.options, false).picture.pixels);
}

TEST_CASE("random_crop_moves_the_cut_by_seed_epoch_and_item_alone") {
  PictureScene scene(ramp({48, 32}), {32, 32});
  scene.subset().random_crop = true;
  std::set<int> lefts;
  for (uint64_t item = 0; item < 60; ++item) {
    const PictureDraw draw{.seed = 1, .epoch = 2, .item = item};
    const Picture picture = prepare_picture(scene.sample, scene.options, draw).picture;
    CHECK(at(picture, 0, 0, 1) == 0);
    lefts.insert(at(picture, 0, 0, 0));
    CHECK(picture.pixels == prepare_picture(scene.sample, scene.options, draw).picture.pixels);
  }
  CHECK(*lefts.begin() == 0);
  CHECK(*lefts.rbegin() == 16);  // both ends are drawn: 60 draws of 17 values
  CHECK(lefts.size() > 8);
}

TEST_CASE("without_buckets_random_crop_cuts_from_the_picture_as_it_is") {
  PictureScene scene(ramp({64, 60}), {32, 32}, false);
  scene.subset().random_crop = true;
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, PictureDraw{.seed = 1, .item = 4});
  CHECK(at(prepared.picture, 31, 0, 0) - at(prepared.picture, 0, 0, 0) == 31);  // not scaled
  CHECK(prepared.numbers == SizeNumbers{{32, 32}, {}, {32, 32}});
  scene.subset().random_crop = false;
  const PreparedPicture fitted = prepare_picture(scene.sample, scene.options, PictureDraw{.seed = 1, .item = 4});
  CHECK(at(fitted.picture, 31, 0, 0) - at(fitted.picture, 0, 0, 0) > 50);  // fitted and cut, where sd-scripts stops
}

TEST_CASE("a_face_in_the_name_is_cut_around_only_when_asked") {
  PictureScene scene(ramp({96, 64}), {32, 32}, false, "a_80_16_8_8.png");
  const Picture plain = prepare_picture(scene.sample, scene.options, PictureDraw{}).picture;
  scene.subset().face_crop_aug_range = std::array{4.0, 4.0};
  const Picture face = prepare_picture(scene.sample, scene.options, PictureDraw{}).picture;
  CHECK(plain.pixels != face.pixels);
  CHECK(at(face, 16, 16, 0) == 80);  // the face in the middle, 4 faces wide
  CHECK(at(face, 16, 16, 1) == 16);
}

TEST_CASE("color_aug_changes_some_pictures_and_keeps_the_mask") {
  PictureScene scene(ramp({32, 32}, 4), {32, 32});
  scene.subset().alpha_mask = true;
  const PreparedPicture plain = prepare_picture(scene.sample, scene.options, PictureDraw{});
  scene.subset().color_aug = true;
  int changed = 0;
  for (uint64_t item = 0; item < 100; ++item) {
    const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, PictureDraw{.item = item});
    changed += prepared.picture.pixels != plain.picture.pixels ? 1 : 0;
    REQUIRE(prepared.mask == plain.mask);
  }
  CHECK(changed > 10);
  CHECK(changed < 60);
}

TEST_CASE("the_alpha_channel_is_the_mask_and_is_mirrored_too") {
  PictureScene scene(ramp({32, 32}, 4), {32, 32});
  scene.subset().alpha_mask = true;
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, false);
  REQUIRE(prepared.mask.size() == 32 * 32);
  CHECK(prepared.picture.channels == 3);
  CHECK(prepared.mask[0] == 0);
  CHECK(prepared.mask[31] == 255);
  CHECK(at(prepared.picture, 0, 0, 2) == 200);  // the colour beneath stays, since the mask takes care of it
  const PreparedPicture mirrored = prepare_picture(scene.sample, scene.options, true);
  CHECK(mirrored.mask[0] == 255);
  CHECK(mirrored.mask[31] == 0);
  CHECK(at(mirrored.picture, 0, 0, 0) == 31);
}

TEST_CASE("a_picture_without_alpha_counts_in_full") {
  PictureScene scene(ramp({32, 32}), {32, 32});
  scene.subset().alpha_mask = true;
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, false);
  CHECK(prepared.mask == std::vector<uint8_t>(32 * 32, 255));
}

TEST_CASE("transparent_parts_are_laid_over_the_background_and_it_is_said") {
  PictureScene scene(ramp({32, 32}, 4), {32, 32});
  const PreparedPicture white = prepare_picture(scene.sample, scene.options, false);
  CHECK(at(white.picture, 0, 0, 2) == 255);
  CHECK(at(white.picture, 31, 0, 2) == 200);
  REQUIRE(white.picture.notes.size() == 1);
  CHECK(white.picture.notes[0] == "transparent parts are laid over the background colour");
  scene.options.background = Colour{10, 20, 30};
  CHECK(at(prepare_picture(scene.sample, scene.options, false).picture, 0, 0, 2) == 30);
  scene.options.background.reset();
  const PreparedPicture kept = prepare_picture(scene.sample, scene.options, false);
  CHECK(at(kept.picture, 0, 0, 2) == 200);
  CHECK(kept.picture.notes[0] == "transparent parts are used with the colour stored beneath them");
}

TEST_CASE("a_mask_picture_goes_the_way_of_its_picture") {
  PictureScene scene(ramp({48, 32}), {32, 32});
  Picture mask = ramp({96, 64});  // twice as large: its red is 0..95
  save_png(scene.folder / "mask.png", mask);
  scene.sample.mask = scene.folder / "mask.png";
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, false);
  REQUIRE(prepared.mask.size() == 32 * 32);
  CHECK(prepared.mask[0] == doctest::Approx(16.5).epsilon(0.1));  // cut 8 of 48 pixels from the left, as the picture
  scene.subset().random_crop = true;
  const PreparedPicture moved = prepare_picture(scene.sample, scene.options, PictureDraw{.seed = 1, .item = 7});
  CHECK(std::abs(moved.mask[0] - 2 * at(moved.picture, 0, 0, 0)) <= 1);
  save_png(scene.folder / "mask.png", ramp({64, 64}));
  CHECK_THROWS_WITH_AS(prepare_picture(scene.sample, scene.options, false),
                       doctest::Contains("mask.png: the mask has 64x64 pixels, its picture"), base::Error);
}

TEST_CASE("a_mask_that_lies_as_the_stored_photograph_is_turned_with_it") {
  PictureScene scene(ramp({16, 32}), {16, 32});
  scene.sample.path = fs::path(CINNABAR_TESTS_DIR) / "data" / "pictures" / "orientation_6.jpg";  // stored as 32x16
  save_png(scene.folder / "mask.png", ramp({32, 16}));
  scene.sample.mask = scene.folder / "mask.png";
  const PreparedPicture prepared = prepare_picture(scene.sample, scene.options, false);
  for (const size_t y : {0, 9, 31}) CHECK(prepared.mask[y * 16] == y);  // turned: columns are rows now
  save_png(scene.folder / "mask.png", ramp({16, 32}));
  CHECK(prepare_picture(scene.sample, scene.options, false).mask[15] == 15);  // upright already
}

TEST_CASE("size_numbers_follow_the_reference_and_the_mirror") {
  Sample sample;
  sample.size = {600, 400};
  sample.bucket.bucket = {512, 512};
  // Wider than the bucket: 512 wide, 341.33 high, so the letterbox begins at 85.
  CHECK(size_numbers(sample, false) == SizeNumbers{{600, 400}, {.left = 0, .top = 85}, {512, 512}});
  sample.size = {400, 600};
  CHECK(size_numbers(sample, false) == SizeNumbers{{400, 600}, {.left = 85, .top = 0}, {512, 512}});
  // Mirrored: 512 - (85 + 341.33) = 85.67, cut to 85.
  CHECK(size_numbers(sample, true) == SizeNumbers{{400, 600}, {.left = 85, .top = 0}, {512, 512}});
}

TEST_CASE("a_picture_that_changed_its_size_is_an_error_that_names_it") {
  PictureScene scene(ramp({48, 32}), {32, 32});
  save_png(scene.sample.path, ramp({40, 32}));
  CHECK_THROWS_WITH_AS(prepare_picture(scene.sample, scene.options, false),
                       doctest::Contains("a.png: it has 40x32 pixels now and had 48x32"), base::Error);
}

}  // namespace
}  // namespace cinnabar::data
