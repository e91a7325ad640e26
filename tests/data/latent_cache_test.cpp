#include "cinnabar/data/latent_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <ATen/ATen.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/data/dataset_scan.h"
#include "cinnabar/data/loader.h"
#include "cinnabar/data/png_writer.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;
using formats::TemporaryFolder;

constexpr Size kSize = {64, 64};

Picture plain(uint8_t level, int64_t channels = 3) {
  Picture picture = blank_picture(kSize, channels);
  std::fill(picture.pixels.begin(), picture.pixels.end(), level);
  return picture;
}

// Left half transparent; the colour grows to the right.
Picture half_transparent() {
  Picture picture = plain(0, 4);
  for (size_t i = 0; i < picture.pixels.size(); i += 4) {
    const size_t x = i / 4 % 64;
    picture.pixels[i] = static_cast<uint8_t>(x);
    picture.pixels[i + 3] = x < 32 ? 0 : 255;
  }
  return picture;
}

// A stand-in for an autoencoder: the mean of each 8 x 8 block as four channels, log variance -4.
at::Tensor encode(const at::Tensor& pixels) {
  const at::Tensor mean = at::avg_pool2d(pixels, {8, 8}).index_select(1, at::tensor({0, 1, 2, 0}, at::kLong));
  return at::cat({mean, at::full_like(mean, -4.0)}, 1);
}

struct CacheScene {
  TemporaryFolder folder;
  std::vector<std::string> said;
  PictureNotes notes{[this](const std::string& text) { said.push_back(text); }};
  int64_t encoded = 0;
  SubsetOptions subset;
  Encode encoder = encode;
  Encode exact{};
  NpzRule npz{};

  fs::path pictures() const { return folder / "10_cat"; }
  void put(const std::string& name, const Picture& picture) const {
    fs::create_directories(pictures());
    save_png(pictures() / name, picture);
  }
  std::vector<Dataset> scan() {
    DatasetOptions options;
    options.bucket.resolution = kSize;
    options.batch_size = 4;
    subset.image_dir = pictures();
    options.subsets = {subset};
    return {scan_dataset(options, {.threads = 1})};
  }
  bool fill(LatentCache& cache, const Dataset& dataset) {
    LatentFill fill;
    fill.batch = 2;
    fill.threads = 0;
    fill.encode = [this](const at::Tensor& pixels) {
      encoded += pixels.size(0);
      return encoder(pixels);
    };
    fill.encode_exact = exact;
    fill.notes = &notes;
    fill.npz = npz;
    return cache.fill(dataset, fill);
  }
  // Fills a cache on disk anew and tells how many pictures had to be encoded.
  int64_t run(const std::string& model = "vae") {
    encoded = 0;
    LatentCache cache(folder / "cache", model);
    const std::vector<Dataset> datasets = scan();
    fill(cache, datasets[0]);
    return encoded;
  }
  bool has_said(const std::string& part) const {
    return std::any_of(said.begin(), said.end(),
                       [&](const std::string& text) { return text.find(part) != std::string::npos; });
  }
};

TEST_CASE("a_second_run_takes_everything_from_disk") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.put("b.png", plain(20));
  CHECK(scene.run() == 2);
  CHECK(scene.run() == 0);
}

TEST_CASE("equal_content_is_kept_once_under_whatever_name") {
  CacheScene scene;
  scene.put("aaa.bbb.png", plain(10));
  scene.put("aaa.ccc.png", plain(20));
  CHECK(scene.run() == 2);  // two names with the same beginning are two pictures
  fs::rename(scene.pictures() / "aaa.ccc.png", scene.pictures() / "other.png");
  CHECK(scene.run() == 0);
}

TEST_CASE("a_picture_edited_behind_size_and_date_is_encoded_anew") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.put("b.png", plain(20));
  CHECK(scene.run() == 2);
  const fs::path path = scene.pictures() / "a.png";
  struct stat before{};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  std::string bytes = encode_png(plain(245));
  REQUIRE(bytes.size() == static_cast<size_t>(before.st_size));
  std::ofstream(path, std::ios::binary) << bytes;
  const std::array<struct timespec, 2> times = {before.st_atim, before.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
  CHECK(scene.run() == 1);
}

TEST_CASE("keys_cover_everything_that_changes_latents") {
  CacheScene scene;
  scene.put("a.png", half_transparent());
  CHECK(scene.run() == 1);
  CHECK(scene.run("another vae") == 1);
  scene.subset.flip_aug = true;
  CHECK(scene.run() == 1);  // the mirrored one alone
  scene.subset.flip_aug = false;
  scene.subset.alpha_mask = true;
  CHECK(scene.run() == 1);  // the colour beneath and the mask
  CHECK(scene.run() == 0);
  LatentCache cache({}, "vae");
  Dataset dataset = scene.scan()[0];
  const std::string key = cache.key(dataset.samples[0], dataset.options);
  Sample larger = dataset.samples[0];
  larger.bucket.bucket = {128, 64};
  CHECK(cache.key(larger, dataset.options) != key);
  Sample otherwise_cut = dataset.samples[0];
  otherwise_cut.bucket.resized = {80, 64};
  CHECK(cache.key(otherwise_cut, dataset.options) != key);
  DatasetOptions options = dataset.options;
  options.subsets[0].resize_interpolation = Interpolation::Box;
  CHECK(cache.key(dataset.samples[0], options) != key);
  options = dataset.options;
  options.subsets[0].alpha_mask = false;
  const std::string white = cache.key(dataset.samples[0], options);
  options.background = Colour{0, 0, 0};
  CHECK(cache.key(dataset.samples[0], options) != white);
}

TEST_CASE("a_half_written_shard_is_named_and_made_again") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  CHECK(scene.run() == 1);
  for (const auto& entry : fs::directory_iterator(scene.folder / "cache")) {
    if (entry.path().extension() == ".safetensors") fs::resize_file(entry.path(), fs::file_size(entry.path()) / 2);
  }
  const LatentCache cache(scene.folder / "cache", "vae");
  REQUIRE(cache.problems().size() == 1);
  CHECK(cache.problems()[0].find("will be made again") != std::string::npos);
  CHECK(scene.run() == 1);
}

TEST_CASE("a_picture_that_cannot_be_read_is_left_out_and_the_rest_goes_on") {
  CacheScene scene;
  for (const char* name : {"a.png", "b.png", "c.png"}) scene.put(name, half_transparent());
  const std::string whole = base::read_file(scene.pictures() / "b.png");
  std::string broken = whole;
  broken.replace(broken.find("IDAT") + 8, 20, std::string(20, '\xFF'));
  std::ofstream(scene.pictures() / "b.png", std::ios::binary) << broken;
  LatentCache cache({}, "vae");
  std::vector<Dataset> datasets = scene.scan();
  REQUIRE(datasets[0].samples.size() == 3);
  CHECK(scene.fill(cache, datasets[0]));
  REQUIRE(cache.faults().size() == 1);
  CHECK(cache.faults()[0].path.filename() == "b.png");
  CHECK(scene.has_said("b.png: it cannot be decoded"));
  CHECK(scene.has_said("left out"));
  take_out_faulty(datasets, cache);
  REQUIRE(datasets[0].samples.size() == 2);
  CHECK(datasets[0].samples[1].path.filename() == "c.png");
  CHECK(cache.moments(datasets[0], 1, false).size(0) == 8);
}

TEST_CASE("latents_that_are_not_finite_are_made_again_in_fp32_for_that_picture") {
  CacheScene scene;
  scene.put("dark.png", plain(10));
  scene.put("white.png", plain(255));
  scene.encoder = [](const at::Tensor& pixels) {
    const at::Tensor moments = encode(pixels);
    return moments.masked_fill(moments == 1.0, INFINITY);  // pure white leaves the range
  };
  int64_t exact = 0;
  scene.exact = [&](const at::Tensor& pixels) {
    exact += pixels.size(0);
    return encode(pixels);
  };
  LatentCache cache({}, "vae");
  const std::vector<Dataset> datasets = scene.scan();
  CHECK(scene.fill(cache, datasets[0]));
  CHECK(exact == 1);
  CHECK(cache.faults().empty());
  CHECK(scene.has_said("white.png: its latents are not finite in half precision and were made again in fp32"));
  CHECK(cache.moments(datasets[0], 1, false)[0][0][0].item<float>() == 1.0F);
  CHECK(cache.moments(datasets[0], 0, false).isfinite().all().item<bool>());
}

TEST_CASE("latents_that_stay_not_finite_leave_the_picture_out") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.put("white.png", plain(255));
  scene.encoder = [](const at::Tensor& pixels) {
    const at::Tensor moments = encode(pixels);
    return moments.masked_fill(moments == 1.0, NAN);
  };
  scene.exact = scene.encoder;
  LatentCache cache({}, "vae");
  std::vector<Dataset> datasets = scene.scan();
  CHECK(scene.fill(cache, datasets[0]));
  REQUIRE(cache.faults().size() == 1);
  CHECK(scene.has_said("white.png: the autoencoder gives latents that are not finite, in fp32 too"));
  take_out_faulty(datasets, cache);
  CHECK(datasets[0].samples.size() == 1);
}

TEST_CASE("changing_pictures_cannot_be_cached") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  for (const bool is_crop : {true, false}) {
    scene.subset.random_crop = is_crop;
    scene.subset.color_aug = !is_crop;
    LatentCache cache({}, "vae");
    const std::vector<Dataset> datasets = scene.scan();
    CHECK_THROWS_WITH_AS(scene.fill(cache, datasets[0]), doctest::Contains("is not possible with cached latents"),
                         base::Error);
  }
}

TEST_CASE("batches_carry_masks_and_sizes_the_same_with_and_without_a_cache") {
  CacheScene scene;
  scene.subset.alpha_mask = true;
  scene.subset.flip_aug = true;
  scene.put("a.png", half_transparent());
  scene.put("b.png", plain(20));
  LatentCache cache({}, "vae");
  const std::vector<Dataset> datasets = scene.scan();
  REQUIRE(scene.fill(cache, datasets[0]));
  Loader cached(datasets, {.seed = 4, .threads = 0, .latents = &cache});
  Loader direct(datasets, {.seed = 4, .threads = 0, .notes = &scene.notes});
  const LoadedBatch one = cached.next();
  const LoadedBatch other = direct.next();
  REQUIRE(one.plan.items.size() == 2);
  REQUIRE(one.masks.defined());
  CHECK(one.masks.sizes() == at::IntArrayRef({2, 64, 64}));
  CHECK(one.masks.equal(other.masks));
  CHECK(one.moments.allclose(encode(other.pixels)));
  CHECK(one.original_sizes.equal(at::tensor({64.0F, 64.0F, 64.0F, 64.0F}).view({2, 2})));
  CHECK(one.crop_top_lefts.equal(other.crop_top_lefts));
  CHECK(one.target_sizes.equal(other.target_sizes));
  for (size_t i = 0; i < 2; ++i) {
    const at::Tensor mask = one.masks[static_cast<int64_t>(i)];
    if (datasets[0].samples[one.plan.items[i].sample].path.filename() == "b.png") {
      CHECK(mask.min().item<float>() == 1.0F);
    } else {
      CHECK(mask[0][0].item<float>() == (one.plan.items[i].is_flipped ? 1.0F : 0.0F));
    }
  }
}

TEST_CASE("a_picture_that_vanishes_during_a_run_is_left_out_of_its_batch") {
  CacheScene scene;
  for (const char* name : {"a.png", "b.png"}) scene.put(name, plain(10));
  const std::vector<Dataset> datasets = scene.scan();
  fs::remove(scene.pictures() / "b.png");
  Loader loader(datasets, {.seed = 4, .threads = 0, .notes = &scene.notes});
  const LoadedBatch batch = loader.next();
  CHECK(batch.plan.items.size() == 1);
  CHECK(batch.captions.size() == 1);
  CHECK(scene.has_said("b.png"));
  Loader strict(datasets, {.seed = 4, .threads = 0});
  CHECK_THROWS_AS(strict.next(), base::Error);
}

TEST_CASE("npz_files_are_written_as_sd_scripts_names_them_and_read_back") {
  CacheScene scene;
  scene.subset.flip_aug = true;
  scene.subset.alpha_mask = true;
  scene.put("a.png", half_transparent());
  // Not the 8 of the published models.
  scene.encoder = [](const at::Tensor& pixels) { return encode(at::upsample_nearest2d(pixels, {128, 128})); };
  scene.npz = {.writes = true, .downscale = 4};
  CHECK(scene.run() == 2);
  const fs::path npz = scene.pictures() / "a_0064x0064_sd.npz";
  REQUIRE(fs::exists(npz));
  scene.npz = {.reads = true, .downscale = 4};
  LatentCache cache({}, "another vae");
  scene.encoded = 0;
  const std::vector<Dataset> datasets = scene.scan();
  REQUIRE(scene.fill(cache, datasets[0]));
  CHECK(scene.encoded == 0);
  CHECK(scene.has_said("1 latent from .npz files: a_0064x0064_sd.npz"));
  const at::Tensor moments = cache.moments(datasets[0], 0, false);
  CHECK(moments.sizes() == at::IntArrayRef({8, 16, 16}));
  CHECK((moments[4] * 0.5).exp().eq(0).all().item<bool>());  // drawn already: no spread
  // Drawn from a mean of -1 (black) in the second channel with a deviation of exp(-2).
  CHECK(moments[1].mean().item<float>() == doctest::Approx(-1.0).epsilon(0.1));
  CHECK_FALSE(cache.moments(datasets[0], 0, true).equal(moments));
  Loader loader(datasets, {.seed = 4, .threads = 0, .latents = &cache});
  CHECK(loader.next().moments.size(0) == 1);
  CHECK(cache.mask(datasets[0], 0)[0][0].item<int>() == 0);
  CHECK(cache.mask(datasets[0], 0)[0][63].item<int>() == 255);
}

TEST_CASE("case_12_npz_files_of_names_with_two_dots_stay_apart") {
  CacheScene scene;
  scene.put("aaa.bbb.png", plain(10));
  scene.put("aaa.ccc.png", plain(200));
  scene.npz = {.writes = true};
  CHECK(scene.run() == 2);
  CHECK(fs::exists(scene.pictures() / "aaa.bbb_0064x0064_sd.npz"));
  CHECK(fs::exists(scene.pictures() / "aaa.ccc_0064x0064_sd.npz"));
  scene.npz = {.reads = true};
  LatentCache cache({}, "another vae");
  const std::vector<Dataset> datasets = scene.scan();
  REQUIRE(scene.fill(cache, datasets[0]));
  CHECK_FALSE(cache.moments(datasets[0], 0, false).equal(cache.moments(datasets[0], 1, false)));
}

TEST_CASE("pictures_that_share_a_name_have_no_npz_files") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.put("a.webp", plain(200));  // a PNG by its content, which decides
  scene.put("b.png", plain(90));
  scene.npz = {.writes = true};
  CHECK(scene.run() == 3);
  CHECK_FALSE(fs::exists(scene.pictures() / "a_0064x0064_sd.npz"));
  CHECK(scene.has_said("2 pictures with the name of the .npz file in common with another one: a.png, a.webp"));
  // One that was made before is not given to both.
  fs::copy(scene.pictures() / "b_0064x0064_sd.npz", scene.pictures() / "a_0064x0064_sd.npz");
  scene.npz = {.reads = true};
  LatentCache cache({}, "another vae");
  const std::vector<Dataset> datasets = scene.scan();
  REQUIRE(scene.fill(cache, datasets[0]));
  CHECK_FALSE(cache.moments(datasets[0], 0, false).equal(cache.moments(datasets[0], 1, false)));
}

TEST_CASE("npz_files_that_do_not_fit_are_named_and_the_picture_is_encoded") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.npz = {.writes = true};
  CHECK(scene.run() == 1);
  const fs::path npz = scene.pictures() / "a_0064x0064_sd.npz";
  const auto attempt = [&] {
    scene.said.clear();
    scene.encoded = 0;
    scene.npz = {.reads = true};
    PictureNotes fresh([&](const std::string& text) { scene.said.push_back(text); });
    LatentFill fill{.threads = 0, .encode = [&](const at::Tensor& pixels) {
                      ++scene.encoded;
                      return encode(pixels);
                    }};
    fill.notes = &fresh;
    fill.npz = scene.npz;
    LatentCache cache({}, "vae");
    const std::vector<Dataset> datasets = scene.scan();
    cache.fill(datasets[0], fill);
    return scene.encoded;
  };
  CHECK(attempt() == 0);
  scene.subset.flip_aug = true;
  CHECK(attempt() == 2);
  CHECK(scene.has_said("a_0064x0064_sd.npz: it has no array latents_flipped; the picture is encoded anew"));
  scene.subset.flip_aug = false;
  fs::last_write_time(npz, fs::last_write_time(scene.pictures() / "a.png") - std::chrono::hours(1));
  CHECK(attempt() == 1);
  CHECK(scene.has_said("it is older than its picture"));
  fs::resize_file(npz, 100);
  fs::last_write_time(npz, fs::file_time_type::clock::now());
  CHECK(attempt() == 1);
  CHECK(scene.has_said("not a usable zip archive"));
}

TEST_CASE("npz_files_of_another_size_or_bucket_do_not_fit") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  Sample sample = scene.scan()[0].samples[0];
  const fs::path path = npz_path(sample, "_sdxl.npz");
  CHECK(path.filename() == "a_0064x0064_sdxl.npz");
  write_npz_latents(path, sample, {.latents = at::zeros({4, 8, 8})});
  CHECK(read_npz_latents(path, {.sample = sample, .channels = 4}));
  Sample resized = sample;
  resized.size = {63, 64};
  CHECK(read_npz_latents(path, {.sample = resized}).error().message().find("made from a picture of 64x64 pixels") !=
        std::string::npos);
  Sample other = sample;
  other.bucket.bucket = {128, 64};
  CHECK(read_npz_latents(path, {.sample = other}).error().message().find("[4, 8, 8], this run needs [0, 8, 16]") !=
        std::string::npos);
  write_npz_latents(path, sample, {.latents = at::full({4, 8, 8}, NAN)});
  CHECK(read_npz_latents(path, {.sample = sample}).error().message().find("not finite") != std::string::npos);
  // The old name wins, as in sd-scripts.
  write_npz_latents(scene.pictures() / "a.npz", sample, {.latents = at::zeros({4, 8, 8})});
  CHECK(npz_path(sample, "_sdxl.npz").filename() == "a.npz");
}

TEST_CASE("npz_files_that_nobody_asked_for_are_mentioned_and_never_pictures") {
  CacheScene scene;
  scene.put("a.png", plain(10));
  scene.npz = {.writes = true};
  CHECK(scene.run() == 1);
  scene.npz = {};
  CHECK(scene.scan()[0].samples.size() == 1);
  CHECK(scene.run() == 0);
  CHECK(scene.has_said("1 picture with latent caches of sd-scripts beside"));
  CHECK(scene.has_said("--read_npz uses them"));
}

}  // namespace
}  // namespace cinnabar::data
