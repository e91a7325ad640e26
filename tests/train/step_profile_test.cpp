#include "cinnabar/train/step_profile.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>

namespace cinnabar::train {
namespace {

const ProfileLine* find(const std::vector<ProfileLine>& lines, const std::string& name) {
  const auto found = std::ranges::find(lines, name, &ProfileLine::name);
  return found == lines.end() ? nullptr : &*found;
}

TEST_CASE("operators are counted with those of the backward pass, and only while it listens") {
  const at::Tensor x = at::ones({8, 8}).set_requires_grad(true);
  (void)at::mm(x, x);
  StepProfile profile;
  at::mm(x, x).sum().backward();
  const auto lines = profile.operators();
  const ProfileLine* product = find(lines, "aten::mm");
  REQUIRE(product != nullptr);
  CHECK(product->calls == 3);  // one forward, two backward
  CHECK(find(lines, "MmBackward0") != nullptr);
}

TEST_CASE("phases follow each other, and a step's numbers are means") {
  StepProfile profile;
  for (int i = 0; i < 2; ++i) {
    profile.phase("forward");
    profile.phase("backward");
    profile.phase("");
    profile.step_done();
  }
  CHECK(profile.phases().size() == 2);
  CHECK(profile.phases()[0].calls == 2);
  CHECK(profile.json().find("\"steps\": 2") != std::string::npos);
  CHECK(profile.text().size() >= 2);
}

TEST_CASE("memory that a step takes from the system is counted") {
  constexpr int64_t kBytes = int64_t{64} << 20;
  StepProfile profile;
  const at::Tensor kept = at::ones({kBytes}, at::kByte);
  profile.step_done();
  const double taken = profile.pages();
  CHECK(taken >= static_cast<double>(kBytes) / (2 << 20) / 2);  // huge pages at most
  profile.step_done();
  CHECK(profile.pages() < taken);
  CHECK(profile.json().find("\"pages_taken\": ") != std::string::npos);
}

TEST_CASE("the first step is not measured, and nothing without the option") {
  ProfiledSteps profiled(1, "");
  CHECK(profiled.step_done().empty());
  profiled.phase("forward");
  CHECK_FALSE(profiled.step_done().empty());
  CHECK(profiled.step_done().empty());
  ProfiledSteps none(0, "");
  CHECK(none.step_done().empty());
  CHECK(none.step_done().empty());
}

}  // namespace
}  // namespace cinnabar::train
