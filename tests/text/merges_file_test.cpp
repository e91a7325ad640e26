#include "cinnabar/text/merges_file.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "cinnabar/base/atomic_file.h"
#include "cinnabar/base/error.h"
#include "cinnabar/text/clip_tokenizer.h"

namespace cinnabar::text {
namespace {

namespace fs = std::filesystem;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("cinnabar-text-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() { fs::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Sets CINNABAR_CLIP_BPE and puts the old value back.
class ListVariable {
 public:
  explicit ListVariable(const std::string& value) {
    if (const char* old = std::getenv("CINNABAR_CLIP_BPE")) old_ = old;
    setenv("CINNABAR_CLIP_BPE", value.c_str(), 1);
  }
  ~ListVariable() { old_.empty() ? unsetenv("CINNABAR_CLIP_BPE") : setenv("CINNABAR_CLIP_BPE", old_.c_str(), 1); }
  ListVariable(const ListVariable&) = delete;
  ListVariable& operator=(const ListVariable&) = delete;

 private:
  std::string old_;
};

std::string message_of(const fs::path& list) {
  try {
    const ClipTokenizer tokenizer(list);
  } catch (const base::Error& error) {
    return error.message();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_CASE("finds_the_installed_list") { CHECK(fs::is_regular_file(find_merges_file())); }

TEST_CASE("the_environment_names_the_list") {
  const TemporaryFolder folder;
  base::write_file(folder.path() / "list.gz", "x");
  {
    const ListVariable variable((folder.path() / "list.gz").string());
    CHECK(find_merges_file() == folder.path() / "list.gz");
  }
  const ListVariable variable((folder.path() / "missing.gz").string());
  CHECK_THROWS_WITH_AS((void)find_merges_file(), doctest::Contains("CINNABAR_CLIP_BPE"), base::Error);
}

TEST_CASE("a_missing_list_says_how_to_get_it") {
  CHECK(contains(message_of("/nonexistent/list.gz"), "./cinnabar setup"));
}

TEST_CASE("a_wrong_list_is_refused_with_its_line") {
  const TemporaryFolder folder;
  const fs::path list = folder.path() / "list.gz";
  base::write_file(list, "#version\ni n\nt h\nnot one\n");
  CHECK(contains(message_of(list), "line 4: found \"not one\""));
  base::write_file(list, "#version\ni n\n");
  CHECK(contains(message_of(list), "line 3: found \"\""));
  base::write_file(list, "");
  CHECK(contains(message_of(list), "line 2"));
}

TEST_CASE("a_list_that_is_cut_off_is_refused") {
  const TemporaryFolder folder;
  const fs::path list = folder.path() / "list.gz";
  const std::string whole = base::read_file(find_merges_file());
  base::write_file(list, whole.substr(0, whole.size() / 8));
  CHECK(contains(message_of(list), "./cinnabar setup"));
}

}  // namespace
}  // namespace cinnabar::text
