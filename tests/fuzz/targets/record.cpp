#include "cinnabar/base/committed_folder.h"
#include "cinnabar/base/error.h"
#include "cinnabar/schema/config_text.h"
#include "cinnabar/schema/resolve.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

// JSON that the program writes for itself: manifests of committed folders, and the configuration of a run.
CINNABAR_FUZZ_TARGET(record, 4096) {
  const std::string text(fuzz::text_of(input));
  try {
    for (const auto& [name, entry] : base::parse_manifest(text, "manifest.json").files) {
      fuzz::require(name.find('/') == std::string::npos && name != "..", "a manifest names files beside it alone");
    }
  } catch (const base::Error& error) {
    fuzz::require(error.code() == base::ErrorCode::Format, "a bad manifest is a matter of format");
  }
  (void)schema::parse_config_json(text);
}
