#include "cinnabar/schema/escape_hint.h"

#include <doctest/doctest.h>

#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "cinnabar/schema/source.h"

namespace cinnabar::schema {
namespace {

bool holds(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string message_of(const std::string& toml) {
  try {
    Problems problems;
    Source source;
    const Schema schema = train_schema();
    read_toml(schema, toml, "train.toml", source, problems);
    (void)resolve(schema, "train", {source}, problems);
    problems.raise();
  } catch (const base::Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("escapes_in_windows_paths_are_explained_with_the_path_that_was_meant") {
  const std::string message = message_of("output_dir = \"C:\\new\\table\"\n");
  CHECK(holds(message, "train.toml:1: output_dir"));
  CHECK(holds(message, "\\n is a line break"));
  CHECK(holds(message, "\"C:/new/table\""));
  const std::string broken = message_of("network_dim = 4\noutput_dir = \"C:\\data\\set\"\n");
  CHECK(holds(broken, "train.toml:2: not valid TOML"));
  CHECK(holds(broken, "\"C:/data/set\""));
}

TEST_CASE("texts_without_escapes_give_no_hint") {
  CHECK(escape_hint("a = 'C:\\new'").empty());
  CHECK(escape_hint("a = \"C:\\\\new\"").empty());
  CHECK(escape_hint("a = 1").empty());
  CHECK(escape_hint("{\"a\": \"b\", \"c\": \"C:/d\"}").empty());
}

TEST_CASE("in_JSON_the_text_behind_the_key_is_meant") {
  CHECK(holds(escape_hint("{\"output_dir\": \"C:\\models\"}"), "\"C:/models\""));
  CHECK(control_character_problem("/data/my pictures").empty());
}

TEST_CASE("lines_are_found_by_number_and_by_byte") {
  CHECK(line_of("a\nb\nc", 2) == "b");
  CHECK(line_of("a\nb", 3).empty());
  CHECK(line_at("a\nbc\nd", 3) == "bc");
  CHECK(line_at("a\nbc", 99) == "bc");
}

TEST_CASE("paths_with_quotes_and_backslashes_survive_writing_and_reading") {
  const Schema schema = train_schema();
  const std::string path = "my [set] {x} 'q' \"d\" C:\\new 100% #1 \xC3\xA9 ";
  Config config{.command = "train"};
  config.values.set("output_dir", path);
  Problems problems;
  Source source;
  read_toml(schema, config_toml(schema, config), "x.toml", source, problems);
  CHECK(problems.empty());
  CHECK(std::get<std::string>(source.values.at("output_dir").value) == path);
  CHECK(parse_config_json(config_json(schema, config)).values.text("output_dir") == path);
}

}  // namespace
}  // namespace cinnabar::schema
