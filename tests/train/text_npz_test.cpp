#include "cinnabar/train/text_npz.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "formats/temporary_folder.h"

namespace cinnabar::train {
namespace {

// 77 tokens, encoders of 6 and 10.
models::Conditioning states(float value) {
  models::Conditioning result;
  result.context = at::full({77, 16}, value);
  result.pooled = at::full({10}, value + 1);
  return result;
}

std::string refusal(const data::Sample& sample, const models::Conditioning& like) {
  const auto found = read_text_npz(sample, like);
  return found ? "" : found.error().message();
}

TEST_CASE("encoded captions are written and read under sd-scripts' name") {
  const formats::TemporaryFolder folder;
  data::Sample sample;
  sample.path = folder / "a.b.png";
  CHECK(text_npz_path(sample) == folder / "a.b_te_outputs.npz");
  write_text_npz(sample, states(0.5F));
  const auto found = read_text_npz(sample, states(0));
  REQUIRE(found);
  CHECK(found.value().context.equal(states(0.5F).context));
  CHECK(found.value().pooled.equal(states(0.5F).pooled));
}

TEST_CASE("encoded captions that do not fit are refused with a reason") {
  const formats::TemporaryFolder folder;
  data::Sample sample;
  sample.path = folder / "a.png";
  CHECK(refusal(sample, states(0)).find("a_te_outputs.npz") != std::string::npos);
  write_text_npz(sample, states(0.5F));
  models::Conditioning longer = states(0);
  longer.context = at::zeros({154, 16});
  CHECK(refusal(sample, longer).find("hidden_state1 has the shape [77, 6], this run needs [154, 6]") !=
        std::string::npos);
  const auto caption = folder.put("a.txt", "edited");
  std::filesystem::last_write_time(caption, std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(refusal(sample, states(0)).find("older than its caption file") != std::string::npos);
}

}  // namespace
}  // namespace cinnabar::train
