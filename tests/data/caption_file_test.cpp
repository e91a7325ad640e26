#include "cinnabar/data/caption_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "cinnabar/base/atomic_file.h"

namespace cinnabar::data {
namespace {

namespace fs = std::filesystem;

class PictureFolder {
 public:
  PictureFolder() : path_(fs::temp_directory_path() / ("cinnabar-caption-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~PictureFolder() { fs::remove_all(path_); }
  PictureFolder(const PictureFolder&) = delete;
  PictureFolder& operator=(const PictureFolder&) = delete;

  fs::path write(const std::string& name, std::string_view text) const {
    base::write_file(path_ / name, text);
    return path_ / name;
  }
  base::Result<Caption> read(const std::string& picture,
                             const CaptionFileOptions& options = {.extension = "txt"}) const {
    return read_caption(path_ / picture, options);
  }

 private:
  fs::path path_;
};

TEST_CASE("the_first_line_is_the_caption") {
  const PictureFolder folder;
  const fs::path file = folder.write("a.b.txt", "  a cat,\tsitting \r\nsecond line\n");
  const Caption caption = folder.read("a.b.png").value();
  CHECK(caption.text == "a cat,\tsitting");
  CHECK(caption.origin == CaptionOrigin::File);
  CHECK(caption.file == file);
  CHECK_FALSE(caption.had_byte_order_mark);
  folder.write("c.txt", "\nsecond");
  CHECK(folder.read("c.png").value().text.empty());
}

TEST_CASE("wildcards_keep_all_lines_that_are_not_blank") {
  const PictureFolder folder;
  folder.write("a.txt", "one \r\n\r\n\u3000two\rthree");
  CHECK(folder.read("a.png", {.extension = ".txt", .keeps_lines = true}).value().text == "one\ntwo\nthree");
}

TEST_CASE("a_byte_order_mark_is_dropped_and_reported") {
  const PictureFolder folder;
  folder.write("a.txt",
               "\xEF\xBB\xBF"
               "a cat");
  const Caption caption = folder.read("a.png").value();
  CHECK(caption.text == "a cat");
  CHECK(caption.had_byte_order_mark);
}

TEST_CASE("broken_files_are_errors_with_file_and_byte") {
  const PictureFolder folder;
  folder.write("latin.txt", "caf\xE9");
  const auto latin = folder.read("latin.png");
  REQUIRE_FALSE(latin);
  CHECK(latin.error().code() == base::ErrorCode::Data);
  CHECK(latin.error().message().find("latin.txt: byte 3 is 0xE9") != std::string::npos);
  folder.write("wide.txt", std::string_view("\xFF\xFE"
                                            "a\0",
                                            4));
  CHECK(folder.read("wide.png").error().message().find("UTF-16") != std::string::npos);
  folder.write("empty.txt", "");
  const auto empty = folder.read("empty.png");
  REQUIRE_FALSE(empty);
  CHECK(empty.error().message().find("empty.txt: the caption file is empty") != std::string::npos);
}

TEST_CASE("without_a_file_the_class_tokens_are_used") {
  const PictureFolder folder;
  const Caption named = folder.read("a.png", {.class_tokens = "sks dog"}).value();
  CHECK(named.text == "sks dog");
  CHECK(named.origin == CaptionOrigin::ClassTokens);
  CHECK(folder.read("a.png").value().origin == CaptionOrigin::None);
}

TEST_CASE("face_coordinates_in_the_name_are_left_out") {
  const PictureFolder folder;
  folder.write("face.txt", "a face");
  const CaptionFileOptions faces = {.extension = "txt", .has_face_names = true};
  CHECK(folder.read("face_10_20_30_40.png", faces).value().text == "a face");
  folder.write("face_10_20_30_40.txt", "its own");
  CHECK(folder.read("face_10_20_30_40.png", faces).value().text == "its own");
}

TEST_CASE("a_picture_with_underscores_takes_no_other_pictures_caption") {
  const PictureFolder folder;
  folder.write("photo.txt", "another picture");
  CHECK(folder.read("photo_1_2_3_4.png").value().text.empty());
}

TEST_CASE("candidates_stay_in_the_folder_of_the_picture") {
  CHECK(caption_candidates("x/a.png", ".txt") == std::vector<std::string>{"x/a.txt"});
  CHECK(caption_candidates("x_y/a_1_2_3.png", "txt", true) == std::vector<std::string>{"x_y/a_1_2_3.txt"});
  CHECK(caption_candidates("x_y/a_1_2_3_4.png", "txt", true) ==
        std::vector<std::string>{"x_y/a_1_2_3_4.txt", "x_y/a.txt"});
  CHECK(caption_candidates("x_y/a_1_2_3_4.png", "txt") == std::vector<std::string>{"x_y/a_1_2_3_4.txt"});
}

}  // namespace
}  // namespace cinnabar::data
