#include <cmath>

#include "cinnabar/base/utf8.h"
#include "cinnabar/sample/prompt_file.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

// The first byte chooses the form: a seed begins with t, j or l.
CINNABAR_FUZZ_TARGET(prompts, 4096) {
  if (input.empty()) return;
  const auto form = std::to_integer<unsigned>(input.front()) % 3;
  const char* name = form == 't' % 3 ? "prompts.toml" : form == 'j' % 3 ? "prompts.json" : "prompts.txt";
  const sample::PromptList list = sample::read_prompts(std::string(fuzz::text_of(input.subspan(1))), name);
  for (const sample::Prompt& prompt : list.prompts) {
    const sample::SampleRequest request = sample::request_of(prompt, {});
    fuzz::require(request.width_px % 8 == 0 && request.width_px <= 8192, "widths fit a model");
    fuzz::require(request.height_px % 8 == 0 && request.height_px <= 8192, "heights fit a model");
    fuzz::require(request.steps >= 1 && request.steps <= 1000, "steps are in range");
    fuzz::require(std::isfinite(request.scale), "scales are numbers");
    fuzz::require(!base::find_invalid_utf8(request.prompt), "prompts are UTF-8");
  }
  for (const std::string& note : list.notes) fuzz::require(!note.empty(), "a note says something");
}
