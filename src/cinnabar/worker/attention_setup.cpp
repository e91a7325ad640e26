#include "cinnabar/worker/attention_setup.h"

#include <filesystem>

#include "cinnabar/base/error.h"
#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/attention_support.h"
#include "cinnabar/hardware/detect.h"
#include "cinnabar/hardware/system_sources.h"
#include "cinnabar/nn/attention_choice.h"
#include "cinnabar/tensor/accelerator.h"
#include "cinnabar/tensor/device.h"
#include "cinnabar/tensor/loaded_libtorch.h"

namespace cinnabar::worker {

std::string set_up_attention(const schema::Values& values, at::Device device) {
  if (device.is_cpu() && values.flag("mem_eff_attn"))
    return "Attention: mem_eff_attn has no effect on the CPU, whose attention takes less memory and time.";
  if (values.flag("mem_eff_attn")) {
    nn::set_largest_fused_head(0);
    return "Attention: in pieces, as mem_eff_attn asks.";
  }
  if (device.is_cpu()) return {};
  // The kernel's files say all that is needed, in milliseconds; under WSL only a tool can.
  const bool needs_tools = std::filesystem::exists("/dev/dxg");
  const hardware::Sources sources = hardware::system_sources(tensor::loaded_libtorch(), needs_tools);
  const hardware::Machine machine = hardware::detect(sources);
  const hardware::AttentionAdvice advice =
      hardware::advise_attention(machine, hardware::gpu_of_device(machine, sources, device.index()));
  nn::set_largest_fused_head(advice.largest_fused_head);
  return "Attention: " + advice.text + ".";
}

std::string set_up_attention(const schema::Values& values) {
  const std::string word = values.maybe_text("device").value_or("auto");
  if (word == "cpu" || tensor::accelerator_count() == 0) return set_up_attention(values, at::kCPU);
  try {
    return set_up_attention(values, tensor::device_from(word));
  } catch (const base::Error&) {
    return {};  // said by the command, with what it was doing
  }
}

}  // namespace cinnabar::worker
