#include "cinnabar/data/picture_probe.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;

const fs::path kProbedPictures = fs::path(CINNABAR_TESTS_DIR) / "data" / "pictures";

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string probe_reason(const std::string& content, const fs::path& name = "a.png", const PictureLimits& limits = {}) {
  try {
    (void)probe_picture(bytes_of(content), name, limits);
  } catch (const base::Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("every_format_says_its_kind_and_size") {
  const std::pair<const char*, PictureKind> files[] = {
      {"orientation_1.jpg", PictureKind::Jpeg},  {"orientation_6.png", PictureKind::Png},
      {"orientation_6.webp", PictureKind::WebP}, {"orientation_6.tiff", PictureKind::Tiff},
      {"quadrants.bmp", PictureKind::Bmp},       {"quadrants.avif", PictureKind::Avif}};
  for (const auto& [name, kind] : files) {
    CAPTURE(name);
    const PictureInfo info = probe_picture(kProbedPictures / name);
    CHECK(info.kind == kind);
    CHECK(info.stored == Size{32, 16});
    CHECK(info.notes.empty());
    CHECK_FALSE(info.is_cut_off);
  }
  CHECK(probe_picture(kProbedPictures / "animated.gif").stored == Size{6, 4});
  CHECK(probe_picture(kProbedPictures / "progressive.jpg").stored == Size{8, 4});
}

TEST_CASE("orientations_5_to_8_exchange_width_and_height") {
  for (int i = 1; i <= 8; ++i) {
    const PictureInfo info = probe_picture(kProbedPictures / ("orientation_" + std::to_string(i) + ".jpg"));
    CHECK(info.orientation == i);
    CHECK(info.upright == (i < 5 ? Size{32, 16} : Size{16, 32}));
  }
  for (const char* name : {"orientation_6.png", "orientation_6.webp", "orientation_6.tiff"}) {
    CHECK(probe_picture(kProbedPictures / name).orientation == 6);
  }
}

TEST_CASE("a_wrong_extension_is_noted") {
  const std::string jpeg = base::read_file(kProbedPictures / "orientation_1.jpg");
  const PictureInfo info = probe_picture(bytes_of(jpeg), "photo.png");
  CHECK(info.kind == PictureKind::Jpeg);
  REQUIRE(info.notes.size() == 1);
  CHECK(info.notes.front() == "the content is JPEG, the extension \".png\" says otherwise");
}

TEST_CASE("animation_is_noted") {
  for (const char* name : {"animated.webp", "animated.gif"})
    CHECK(probe_picture(kProbedPictures / name).notes.front() == "animated: the first frame is used");
  // One frame alone: the file up to the second picture, with an end.
  const std::string gif = base::read_file(kProbedPictures / "animated.gif");
  CHECK(probe_picture(bytes_of(gif.substr(0, 0x31) + ";"), "a.gif").notes.empty());
}

TEST_CASE("files_that_are_no_pictures_are_named_with_the_reason") {
  CHECK(probe_reason("") == "a.png: the file is empty; expected a picture");
  CHECK(probe_reason("<!DOCTYPE html><html>").find("the content is a web page") != std::string::npos);
  CHECK(probe_reason(std::string("\0\0\0\x18"
                                 "ftypheic",
                                 12))
            .find("a HEIC picture") != std::string::npos);
  CHECK(probe_reason("\x89PNG\r\n\x1A\n").find("the PNG header is broken") != std::string::npos);
  CHECK_THROWS_AS((void)probe_picture(kProbedPictures / "missing.png"), base::Error);
  CHECK_THROWS_AS((void)probe_picture(kProbedPictures), base::Error);
}

TEST_CASE("the_limits_are_checked_from_the_header") {
  std::string huge = base::read_file(kProbedPictures / "orientation_6.png");
  huge.replace(16, 4, "\x7F\xFF\xFF\xFF", 4);
  CHECK(probe_reason(huge).find("2147483647x16") != std::string::npos);
  huge.replace(16, 8, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8);
  CHECK(probe_reason(huge).find("make it smaller") != std::string::npos);
  const std::string small = base::read_file(kProbedPictures / "orientation_6.png");
  CHECK(probe_reason(small, "a.png", {.max_pixels = 511}).find("at most 16384 a side and 511 in all") !=
        std::string::npos);
  CHECK(probe_reason(small, "a.png", {.max_pixels = 512}).empty());
  CHECK(probe_reason(small, "a.png", {.max_file_bytes = 10}).find("at most 10 are read") != std::string::npos);
}

TEST_CASE("a_missing_end_is_seen") {
  for (const char* name : {"orientation_1.jpg", "orientation_6.png", "orientation_6.webp"}) {
    CAPTURE(name);
    std::string file = base::read_file(kProbedPictures / name);
    file.resize(file.size() - 14);
    CHECK(probe_picture(bytes_of(file), name).is_cut_off);
  }
}

TEST_CASE("headers_cut_anywhere_or_damaged_do_no_harm") {
  for (const auto& entry : fs::directory_iterator(kProbedPictures)) {
    const std::string whole = base::read_file(entry.path());
    for (size_t length = 0; length < whole.size(); length += 3) (void)probe_reason(whole.substr(0, length));
    for (size_t i = 0; i < std::min<size_t>(whole.size(), 120); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(0xFF - damaged[i]);
      (void)probe_reason(damaged);
    }
  }
}

TEST_CASE("extensions_count_in_any_case") {
  for (const char* known : {".png", ".JPG", ".Jpeg", ".jfif", ".WEBP", ".bmp", ".gif", ".tif", ".tiff", ".avif"}) {
    CHECK(is_picture_extension(known));
  }
  for (const char* unknown : {"", ".txt", ".npz", "png", ".pngx"}) CHECK_FALSE(is_picture_extension(unknown));
}

}  // namespace
}  // namespace cinnabar::data
