#include "cinnabar/base/error.h"
#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/memory_file.h"

using namespace cinnabar;

CINNABAR_FUZZ_TARGET(config, 4096) {
  static const schema::Schema schema = schema::train_schema();
  schema::Problems problems;
  const schema::Source source = schema::read_config_file(schema, fuzz::memory_file(input), problems);
  const schema::Config config = schema::resolve(schema, "train", {source}, problems);
  problems.raise();
  // What was accepted is what a worker gets.
  const schema::Config again = schema::parse_config_json(schema::config_json(schema, config));
  fuzz::require(again.command == "train", "a configuration that was accepted is read again");
  fuzz::require(!schema::config_toml(schema, config).empty(), "a configuration that was accepted has values");
}
