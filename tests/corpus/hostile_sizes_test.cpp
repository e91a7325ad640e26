// Inputs within the limits that are made to cost time or memory. Each of them once took minutes, or gigabytes, or would
// have with the obvious way of reading; the test's time limit is what they are measured by.
#include <doctest/doctest.h>

#include <random>

#include "cinnabar/base/error.h"
#include "cinnabar/data/caption.h"
#include "cinnabar/data/config_tree.h"
#include "cinnabar/data/dataset_file.h"
#include "cinnabar/data/picture_probe.h"
#include "cinnabar/formats/pickle_reader.h"
#include "cinnabar/sample/prompt_file.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/text/byte_pairs.h"
#include "cinnabar/text/clip_words.h"
#include "cinnabar/text/unicode.h"
#include "cinnabar/text/weighted_prompt.h"
#include "formats/temporary_folder.h"

namespace cinnabar::test {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

std::string repeated(std::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() + piece.size() <= bytes) text += piece;
  return text;
}

std::string message_of(const auto& call) {
  try {
    call();
    return "";
  } catch (const base::Error& error) {
    return error.message();
  }
}

TEST_CASE("captions_of_open_braces") {
  data::StreamCaptionRandom random(1, 1, 1);
  const std::string caption = repeated("{a", kMegabyte);
  CHECK(data::process_caption(caption, {.enable_wildcard = true}, {}, {}, random) == caption);
}

TEST_CASE("captions_of_tags") {
  data::StreamCaptionRandom random(1, 1, 1);
  const data::CaptionOptions options{.caption_tag_dropout_rate = 0.1, .shuffle_caption = true, .keep_tokens = 3};
  CHECK(data::process_caption(repeated("a,", kMegabyte), options, {}, {}, random).size() > kMegabyte / 2);
}

TEST_CASE("weights_side_by_side") {
  CHECK(text::parse_weighted_prompt(repeated("(a:1.5)b", kMegabyte / 4)).size() == kMegabyte / 16);
  CHECK(message_of([] { (void)text::parse_weighted_prompt(std::string(kMegabyte, '(')); }) != "");
}

TEST_CASE("entities_in_entities") {
  CHECK(!text::clean_for_clip(text::decode_utf8("&" + repeated("amp;", kMegabyte / 8))).empty());
}

TEST_CASE("texts_decoded_wrongly_many_times") {
  CHECK(!text::clean_for_clip(text::decode_utf8(repeated("\u00C3\u0192\u00C2\u00A9", kMegabyte / 4))).empty());
  CHECK(!text::clean_for_clip(text::decode_utf8(repeated("\u0080x", kMegabyte / 4))).empty());
}

TEST_CASE("marks_out_of_order") {
  const std::u32string marks = text::decode_utf8("e" + repeated("\u0301\u0316", kMegabyte / 2));
  CHECK(text::normalize_nfc(marks).size() >= marks.size() - 2);
}

TEST_CASE("a_word_of_a_megabyte") {
  std::string list = "#version\n";
  std::string letters = "abcdefghijklmnopqrstuvwxyz";
  int64_t count = 0;
  for (const char a : letters) {
    for (const char b : letters) {
      list += std::string(1, a) + " " + b + "\n";
      ++count;
    }
  }
  const formats::TemporaryFolder folder;
  const text::BytePairs pairs(folder.put("merges.txt", list), count);
  std::mt19937 random(1);
  std::string word;
  for (size_t i = 0; i < kMegabyte / 4; ++i) word += letters[random() % letters.size()];
  CHECK(pairs.encode(word).size() < word.size());
}

TEST_CASE("lines_of_flags") {
  const auto notes = [](const std::string& text, const char* name) {
    return sample::read_prompts(text, name).notes.size();
  };
  CHECK(notes(repeated("a --w 64", 60'000), "p.txt") > 0);
  CHECK(notes(repeated("a --x\n", kMegabyte), "p.txt") <= sample::kMostPromptNotes + 2);
  CHECK(notes("[" + repeated("7,", kMegabyte) + "7]", "p.json") <= sample::kMostPromptNotes + 2);
}

// Every key of [prompt] counts for every subset: 20,000 times 20,000 notes.
TEST_CASE("subsets_of_prompts_with_many_shared_keys") {
  std::string text = "[prompt]\n";
  for (int i = 0; i < 20'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  text += repeated("[[prompt.subset]]\nprompt = \"a\"\n", kMegabyte / 2);
  CHECK(sample::read_prompts(text, "p.toml").notes.size() <= sample::kMostPromptNotes + 2);
}

TEST_CASE("configurations_of_unknown_keys") {
  const formats::TemporaryFolder folder;
  std::string toml;
  std::string json = "{\"LoRA_type\": \"Standard\"";
  for (int i = 0; i < 3'900; ++i) {
    const std::string key = "k" + std::to_string(i) + std::string(200, 'k');
    toml += key + " = 1\n";
    json += ", \"" + key + "\": 1";
  }
  const schema::Schema schema = schema::train_schema();
  for (const auto& [name, text] : {std::pair{"a.toml", toml}, {"a.json", json + "}"}}) {
    const std::string path = folder.put(name, text).string();
    const std::string message = message_of([&] { schema::read_config(schema, "train", {"--config_file", path}); });
    CHECK(message != "");
    CHECK(message.size() < 200'000);
  }
}

TEST_CASE("data_sets_of_many_keys") {
  schema::Problems ignored;
  const schema::Values values = schema::resolve(schema::train_schema(), "train", {}, ignored).values;
  std::string json = "{\"datasets\": [{";
  std::string toml = "[[datasets]]\n";
  for (int i = 0; i < 60'000; ++i) {
    json += (i == 0 ? "\"k" : ", \"k") + std::to_string(i) + "\": 1";
    toml += "k" + std::to_string(i) + " = 1\n";
  }
  for (const std::string& text : {json + "}]}", toml}) {
    schema::Problems problems;
    data::datasets_from_tree(data::parse_config_tree(text, "data"), "nowhere", values, problems);
    const std::string message = message_of([&] { problems.raise(); });
    CHECK(message.find("and 59") != std::string::npos);
    CHECK(message.size() < 200'000);
  }
}

// 4,000 EXIF blocks that share one directory of 65,535 fields.
TEST_CASE("pictures_of_many_exif_blocks") {
  const auto number = [](uint32_t value) {
    return std::string{static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
                       static_cast<char>(value)};
  };
  std::string file = "\x89PNG\r\n\x1a\n" + number(13) + "IHDR" + number(4) + number(3) + std::string(9, '\0');
  const size_t blocks = 4'000;
  const size_t directory = file.size() + blocks * 20;
  for (size_t i = 0; i < blocks; ++i) {
    const auto offset = static_cast<uint32_t>(directory - (file.size() + 8));
    file += number(8) + "eXIf" + std::string("MM\0*", 4) + number(offset) + number(0);
  }
  file += "\xFF\xFF" + std::string(size_t{65'535} * 12, '\1');
  const auto info = data::probe_picture({reinterpret_cast<const uint8_t*>(file.data()), file.size()}, "a.png");
  CHECK(info.stored == data::Size{4, 3});
}

TEST_CASE("pickles_of_marks_and_of_remembered_values") {
  const auto message = [](const std::string& code) {
    return message_of([&] { formats::read_pickled_tensors(std::as_bytes(std::span(code)), "a.ckpt"); });
  };
  CHECK(message("\x80\x02" + std::string(8 * kMegabyte, '(')).find("nests deeper") != std::string::npos);
  CHECK(message("\x80\x02" + repeated("N0", 16 * kMegabyte)).find("more than 1000000 values") != std::string::npos);
  CHECK(message("\x80\x02Nq" + std::string(1, '\0') + repeated(std::string_view("h\0000", 3), 16 * kMegabyte))
            .find("more than 5000000 instructions") != std::string::npos);
}

}  // namespace
}  // namespace cinnabar::test
