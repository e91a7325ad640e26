#include "cinnabar/adapters/thumbnail.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"

using cinnabar::adapters::thumbnail_url;

namespace {

struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "cinnabar_thumbnail_test";
  explicit File(const std::string& bytes) { cinnabar::base::write_file(path, bytes); }
  ~File() { std::filesystem::remove(path); }
};

}  // namespace

TEST_CASE("pictures_become_data_urls_by_their_first_bytes") {
  CHECK(thumbnail_url(File("\xFF\xD8\xFF"
                           "a")
                          .path.string()) == "data:image/jpeg;base64,/9j/YQ==");
  CHECK(thumbnail_url(File("\xFF\xD8\xFF"
                           "ab")
                          .path.string()) == "data:image/jpeg;base64,/9j/YWI=");
  CHECK(thumbnail_url(File("GIF89a").path.string()) == "data:image/gif;base64,R0lGODlh");
}

TEST_CASE("data_urls_stay_as_they_are") {
  CHECK(thumbnail_url("data:image/png;base64,AA==") == "data:image/png;base64,AA==");
}

TEST_CASE("data_urls_of_anything_but_pictures_are_refused") {
  for (const char* url : {"data:text/html,<script>", "data:image/svg+xml;base64,AA==", "data:image/png;base64,",
                          "data:image/png;base64,A\"><b>"}) {
    CHECK_THROWS_WITH_AS(thumbnail_url(url), doctest::Contains("metadata_thumbnail = data:"), cinnabar::base::Error);
  }
}

TEST_CASE("other_files_and_missing_ones_are_refused") {
  CHECK_THROWS_WITH_AS(thumbnail_url(File("RIFF").path.string()), doctest::Contains("expected a PNG"),
                       cinnabar::base::Error);
  CHECK_THROWS_AS(thumbnail_url("/no/such/picture.png"), cinnabar::base::Error);
}
