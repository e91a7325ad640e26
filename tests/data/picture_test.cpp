#include "cinnabar/data/picture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/data/picture_notes.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;
using Rgb = std::array<int, 3>;

const fs::path kPictures = fs::path(CINNABAR_TESTS_DIR) / "data" / "pictures";
constexpr Rgb kRed = {255, 0, 0};
constexpr Rgb kGreen = {0, 255, 0};
constexpr Rgb kBlue = {0, 0, 255};
constexpr Rgb kWhite = {255, 255, 255};

Rgb pixel(const Picture& picture, int64_t x, int64_t y) {
  const size_t i = static_cast<size_t>((y * picture.width + x) * picture.channels);
  return {picture.pixels[i], picture.pixels[i + 1], picture.pixels[i + 2]};
}

// The four quarters of a 32x16 picture, or of one turned to 16x32: left top, right top, left bottom, right bottom.
bool has_quarters(const Picture& picture, const std::array<Rgb, 4>& expected, int tolerance) {
  bool is_equal = true;
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t x = picture.width * (1 + 2 * (i % 2)) / 4;
    const int64_t y = picture.height * (1 + 2 * (i / 2)) / 4;
    const Rgb found = pixel(picture, x, y);
    for (size_t c = 0; c < 3; ++c) {
      is_equal = is_equal && std::abs(found[c] - expected[static_cast<size_t>(i)][c]) <= tolerance;
    }
  }
  return is_equal;
}

std::string reason(const std::string& content, const fs::path& name) {
  try {
    (void)decode_picture({reinterpret_cast<const uint8_t*>(content.data()), content.size()}, name);
  } catch (const base::Error& error) {
    CHECK(error.message().starts_with(name.string() + ": "));
    return error.message();
  }
  return "";
}

// Half of the pixels' data, with a proper end behind it.
std::string shortened_jpeg() {
  const std::string whole = base::read_file(kPictures / "progressive.jpg", 1 << 20);
  const size_t scan = whole.find("\xFF\xDA");
  return whole.substr(0, scan + 14 + (whole.size() - scan - 14) / 2) + "\xFF\xD9";
}

TEST_CASE("a_shortened_jpeg_with_an_end_is_refused_when_strict") {
  const std::string cut = shortened_jpeg();
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(cut.data()), cut.size());
  CHECK_THROWS_AS(decode_picture(bytes, "a.jpg", {.is_strict = true}), base::Error);
  const std::string whole = base::read_file(kPictures / "progressive.jpg", 1 << 20);
  CHECK_NOTHROW(
      decode_picture({reinterpret_cast<const uint8_t*>(whole.data()), whole.size()}, "a.jpg", {.is_strict = true}));
}

TEST_CASE("a_jpeg_that_is_damaged_inside_is_used_and_told") {
  const std::string cut = shortened_jpeg();
  const Picture picture = decode_picture({reinterpret_cast<const uint8_t*>(cut.data()), cut.size()}, "a.jpg");
  REQUIRE(picture.notes.size() == 1);
  CHECK(picture.notes.front() == kDamagedJpeg);
  CHECK(load_picture(kPictures / "progressive.jpg").notes.empty());
  std::vector<std::string> said;
  PictureNotes notes([&](const std::string& text) { said.push_back(text); });
  for (const char* name : {"a.jpg", "b.jpg", "a.jpg"}) notes.add(name, picture.notes);
  REQUIRE(said.size() == 2);  // each file, once
  CHECK(said[1].starts_with("b.jpg: the JPEG is damaged inside"));
}

TEST_CASE("threads_read_their_own_reasons") {
  const std::string jpeg = shortened_jpeg();
  std::string png = base::read_file(kPictures / "grey16.png", 1 << 20);
  const size_t data = png.find("IDAT");
  std::fill(png.begin() + static_cast<std::ptrdiff_t>(data + 4), png.begin() + static_cast<std::ptrdiff_t>(data + 12),
            'x');
  std::string of_png;
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) {
      try {
        (void)decode_picture({reinterpret_cast<const uint8_t*>(jpeg.data()), jpeg.size()}, "a.jpg",
                             {.is_strict = true});
      } catch (const base::Error&) {
        continue;
      }
    }
  });
  for (int i = 0; i < 20; ++i) of_png += reason(png, "a.png") + "\n";
  other.join();
  CAPTURE(of_png);
  CHECK(of_png.find("cannot be decoded") != std::string::npos);
  CHECK(of_png.find("peg") == std::string::npos);
}

TEST_CASE("every_orientation_shows_the_same_picture_as_a_viewer") {
  const std::array<std::array<Rgb, 4>, 8> expected = {{{kRed, kGreen, kBlue, kWhite},
                                                       {kGreen, kRed, kWhite, kBlue},
                                                       {kWhite, kBlue, kGreen, kRed},
                                                       {kBlue, kWhite, kRed, kGreen},
                                                       {kRed, kBlue, kGreen, kWhite},
                                                       {kBlue, kRed, kWhite, kGreen},
                                                       {kWhite, kGreen, kBlue, kRed},
                                                       {kGreen, kWhite, kRed, kBlue}}};
  for (int i = 1; i <= 8; ++i) {
    CAPTURE(i);
    const fs::path path = kPictures / ("orientation_" + std::to_string(i) + ".jpg");
    const Picture picture = load_picture(path);
    CHECK(picture.size() == (i < 5 ? Size{32, 16} : Size{16, 32}));
    CHECK(picture.size() == probe_picture(path).upright);
    CHECK(has_quarters(picture, expected[static_cast<size_t>(i - 1)], 4));
    const Picture stored = load_picture(path, {.apply_orientation = false});
    CHECK(has_quarters(stored, expected[0], 4));
  }
  for (const char* name : {"orientation_6.png", "orientation_6.webp", "orientation_6.tiff"}) {
    CAPTURE(name);
    CHECK(has_quarters(load_picture(kPictures / name), expected[5], 0));
  }
}

TEST_CASE("bitmaps_with_and_without_palette_are_read") {
  for (const char* name : {"quadrants.bmp", "palette.bmp"}) {
    CAPTURE(name);
    CHECK(has_quarters(load_picture(kPictures / name), {kRed, kGreen, kBlue, kWhite}, 0));
  }
}

TEST_CASE("ink_colours_become_rgb") {
  const std::array<Rgb, 4> expected = {kRed, kGreen, kBlue, kWhite};
  // Adobe's programs store the inks inverted and say so by an APP14 segment; others do neither.
  CHECK(has_quarters(load_picture(kPictures / "cmyk_adobe.jpg"), expected, 3));
  CHECK(has_quarters(load_picture(kPictures / "cmyk_plain.jpg"), expected, 3));
  const Picture tiff = load_picture(kPictures / "cmyk.tiff");
  CHECK(has_quarters(tiff, expected, 0));
  REQUIRE(tiff.notes.size() == 1);
  CHECK(tiff.notes.front() == "CMYK without a colour profile: converted by the simple rule");
}

TEST_CASE("the_colour_profile_of_inks_counts") {
  const Picture picture = load_picture(kPictures / "cmyk_profile.jpg");
  // What the profile in the file says of the four pairs of inks, by littlecms.
  CHECK(has_quarters(picture, {Rgb{200, 29, 39}, Rgb{0, 150, 69}, Rgb{50, 50, 140}, kWhite}, 3));
  REQUIRE(picture.notes.size() == 1);
  CHECK(picture.notes.front() == "CMYK: converted by its colour profile");
}

TEST_CASE("avif_is_read_where_the_libraries_can") {
  try {
    CHECK(has_quarters(load_picture(kPictures / "quadrants.avif"), {kRed, kGreen, kBlue, kWhite}, 12));
  } catch (const base::Error& error) {
    CHECK(error.message().find("quadrants.avif: it cannot be decoded") != std::string::npos);
  }
}

TEST_CASE("the_first_frame_of_an_animation_is_used_and_said") {
  for (const char* name : {"animated.gif", "animated.webp"}) {
    CAPTURE(name);
    const Picture picture = load_picture(kPictures / name);
    CHECK(picture.size() == Size{6, 4});
    CHECK(pixel(picture, 3, 2) == kRed);
    CHECK_FALSE(picture.notes.empty());
  }
}

TEST_CASE("sixteen_bits_are_scaled_or_cut_off_as_asked") {
  const Picture scaled = load_picture(kPictures / "grey16.png");
  CHECK(pixel(scaled, 0, 0) == Rgb{0, 0, 0});
  CHECK(pixel(scaled, 1, 0) == Rgb{0, 0, 0});
  CHECK(pixel(scaled, 2, 0) == Rgb{1, 1, 1});
  CHECK(pixel(scaled, 3, 0) == kWhite);
  const Picture clipped = load_picture(kPictures / "grey16.png", {.sixteen_bit = SixteenBit::ClipGrey});
  CHECK(pixel(clipped, 1, 0) == Rgb{100, 100, 100});
  CHECK(pixel(clipped, 2, 0) == kWhite);
}

TEST_CASE("transparency_keeps_the_colour_below_or_shows_the_background") {
  const fs::path path = kPictures / "transparent.png";
  const Picture kept = load_picture(path);
  CHECK(kept.channels == 3);
  CHECK(pixel(kept, 0, 0) == kRed);
  CHECK_FALSE(kept.notes.empty());
  CHECK(pixel(load_picture(path, {.background = std::array<uint8_t, 3>{255, 255, 255}}), 0, 0) == kWhite);
  const Picture alpha = load_picture(path, {.with_alpha = true});
  REQUIRE(alpha.channels == 4);
  CHECK(alpha.pixels == std::vector<uint8_t>{255, 0, 0, 0, 0, 255, 0, 255});
}

TEST_CASE("palette_grey_and_bilevel_pictures_have_alpha_where_the_file_has") {
  const Picture palette = load_picture(kPictures / "palette_transparent.png", {.with_alpha = true});
  CHECK(palette.pixels == std::vector<uint8_t>{255, 0, 0, 0, 0, 0, 255, 255});
  const Picture grey = load_picture(kPictures / "grey_alpha.png", {.with_alpha = true});
  CHECK(grey.pixels == std::vector<uint8_t>{10, 10, 10, 128, 200, 200, 200, 255});
  const Picture bilevel = load_picture(kPictures / "bilevel.png", {.with_alpha = true});
  CHECK(bilevel.pixels[3] == 255);
  CHECK(pixel(bilevel, 31, 15) == kWhite);
}

TEST_CASE("a_file_without_its_end_is_an_error_that_names_it") {
  for (const char* name :
       {"orientation_1.jpg", "orientation_6.png", "orientation_6.webp", "quadrants.bmp", "cmyk.tiff"}) {
    CAPTURE(name);
    const std::string whole = base::read_file(kPictures / name);
    CHECK(reason(whole, name).empty());
    CHECK_FALSE(reason(whole.substr(0, whole.size() * 6 / 10), name).empty());
  }
  CHECK_THROWS_AS((void)load_picture(kPictures / "missing.png"), base::Error);
}

TEST_CASE("damaged_files_are_decoded_or_refused") {
  for (const auto& entry : fs::directory_iterator(kPictures)) {
    const std::string whole = base::read_file(entry.path());
    for (size_t i = 1; i < 5; ++i) {
      std::string damaged = whole;
      const size_t place = i * whole.size() / 5;
      damaged[place] = static_cast<char>(damaged[place] + static_cast<char>(37 * i));
      (void)reason(damaged, entry.path().filename());
      (void)reason(whole.substr(0, place), entry.path().filename());
    }
  }
}

TEST_CASE("several_threads_read_the_same_pixels") {
  const Picture expected = load_picture(kPictures / "orientation_3.jpg");
  std::vector<Picture> pictures(4);
  {
    std::vector<std::jthread> threads;
    for (Picture& picture : pictures)
      threads.emplace_back([&] { picture = load_picture(kPictures / "orientation_3.jpg"); });
  }
  for (const Picture& picture : pictures) CHECK(picture.pixels == expected.pixels);
}

TEST_CASE("normalised_pixels_are_planes_from_minus_one_to_one") {
  const Picture picture = {.width = 2, .height = 1, .channels = 3, .pixels = {0, 51, 255, 255, 102, 0}};
  std::vector<float> out(6);
  normalise_to(picture, out);
  const float expected[] = {-1.0F, 1.0F, -0.6F, -0.2F, 1.0F, -1.0F};
  for (size_t i = 0; i < 6; ++i) CHECK(out[i] == doctest::Approx(expected[i]));
}

TEST_CASE("flipping_twice_gives_the_picture_back") {
  const Picture picture = load_picture(kPictures / "orientation_6.png");
  CHECK(flipped(flipped(picture)).pixels == picture.pixels);
  CHECK(pixel(flipped(picture), 0, 0) == pixel(picture, picture.width - 1, 0));
}

}  // namespace
}  // namespace cinnabar::data
