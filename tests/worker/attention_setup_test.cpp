// The option mem_eff_attn, and what is chosen on the processor. What is chosen for each chip: tests/hardware.
#include "cinnabar/worker/attention_setup.h"

#include <doctest/doctest.h>

#include "cinnabar/nn/attention_choice.h"
#include "cinnabar/tensor/loaded_libtorch.h"

namespace cinnabar::worker {

namespace {

TEST_CASE("attention in pieces is for GPUs, when it is asked for; the processor keeps its own and says so") {
  schema::Values values;
  CHECK(set_up_attention(values).empty());
  CHECK(nn::largest_fused_head() == nn::kAnyHead);
  values.set("device", std::string("cpu"));
  CHECK(set_up_attention(values).empty());
  values.set("mem_eff_attn", true);
  CHECK(set_up_attention(values).find("mem_eff_attn has no effect on the CPU") != std::string::npos);
  CHECK(nn::largest_fused_head() == nn::kAnyHead);
  CHECK(set_up_attention(values, at::Device(at::kCUDA)).find("in pieces") != std::string::npos);
  CHECK(nn::largest_fused_head() == 0);
  nn::set_largest_fused_head(nn::kAnyHead);
}

TEST_CASE("the libtorch that runs is found") {
  const hardware::Libtorch torch = tensor::loaded_libtorch();
  CHECK(torch.is_present);
  REQUIRE(torch.version.has_value());
  CHECK(torch.version->starts_with("2."));
}

}  // namespace

}  // namespace cinnabar::worker
