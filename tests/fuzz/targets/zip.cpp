#include "cinnabar/base/error.h"
#include "cinnabar/formats/zip_reader.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/zip_repair.h"

using namespace cinnabar;

namespace {

void read_members(fuzz::Input file) {
  size_t total = 0;
  for (const auto& [name, content] : formats::read_stored_zip(file, "model.ckpt")) {
    fuzz::require(!name.empty() && name.front() != '/' && name.find('\0') == std::string::npos, "names are relative");
    const bool is_inside = content.empty() || (content.data() >= file.data() &&
                                               content.data() + content.size() <= file.data() + file.size());
    fuzz::require(is_inside, "an entry lies in its file");
    total += content.size();
  }
  fuzz::require(total <= file.size(), "entries do not overlap");
}

}  // namespace

CINNABAR_FUZZ_TARGET(zip, 4096) {
  try {
    read_members(input);
  } catch (const base::Error&) {
    read_members(fuzz::with_checksums(input));
  }
}
