#include "cinnabar/data/png_writer.h"

#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

Picture pattern(Size size, int64_t channels) {
  Picture picture = blank_picture(size, channels);
  uint32_t state = 1;
  for (uint8_t& value : picture.pixels) {
    state = state * 1664525 + 1013904223;
    value = static_cast<uint8_t>(state >> 24 & 0x3F);
  }
  return picture;
}

TEST_CASE("a_written_picture_reads_back_equal") {
  const formats::TemporaryFolder folder;
  for (const int64_t channels : {3, 4}) {
    const Picture picture = pattern({37, 19}, channels);
    save_png(folder / "a.png", picture);
    CHECK(load_picture(folder / "a.png", {.with_alpha = channels == 4}).pixels == picture.pixels);
    CHECK_FALSE(probe_picture(folder / "a.png").is_cut_off);
  }
}

TEST_CASE("texts_are_stored_by_what_their_letters_need") {
  const std::map<std::string, std::string> texts = {{"parameters", "a caf\xC3\xA9\nSteps: 20, Sampler: Euler a"},
                                                    {"Title", "\xE6\x97\xA5\xE6\x9C\xAC"},
                                                    {"empty", ""}};
  const std::string file = encode_png(pattern({4, 4}, 3), texts);
  CHECK(file.find(std::string("tEXtparameters\0a caf\xE9\nSteps", 27)) != std::string::npos);
  CHECK(file.find(std::string("iTXtTitle\0\0\0\0\0\xE6\x97\xA5", 17)) != std::string::npos);
  const formats::TemporaryFolder folder;
  save_png(folder / "a.png", pattern({4, 4}, 3), texts);
  CHECK(read_png_texts(folder / "a.png") == texts);
}

TEST_CASE("text_chunks_that_are_cut_or_odd_do_no_harm") {
  const formats::TemporaryFolder folder;
  const std::string file = encode_png(pattern({4, 4}, 3), {{"a", "b"}, {"c", "\xE6\x97\xA5"}});
  for (size_t length = 8; length < file.size(); length += 9)
    CHECK_NOTHROW((void)read_png_texts(folder.put("a.png", file.substr(0, length))));
  CHECK_THROWS_AS((void)read_png_texts(folder.put("b.png", "no picture")), base::Error);
}

TEST_CASE("smooth_pictures_become_small") {
  Picture ramp = blank_picture({64, 64}, 3);
  for (size_t i = 0; i < ramp.pixels.size(); ++i) ramp.pixels[i] = static_cast<uint8_t>(i / 3 % 64 + i / 192);
  CHECK(encode_png(ramp).size() < 1000);
}

}  // namespace
}  // namespace cinnabar::data
