// Every kind of kernel that training uses, on the device that would train, against float64 on the processor.
#pragma once

#include <functional>
#include <string>

#include <c10/core/Device.h>

#include "cinnabar/hardware/self_test_report.h"

namespace cinnabar::worker {

struct SelfTestOptions {
  at::Device device = at::kCPU;
  // Before a row is computed, so that a kernel which ends the process is known by name.
  std::function<void(const std::string& name, const std::string& type)> begin = [](const auto&, const auto&) {};
  std::function<void(const hardware::SelfTestRow&)> end = [](const auto&) {};
};

// Products, convolutions, attention (libtorch's and ours), norms, casts, an optimizer step; forward and backward; in
// fp32, fp16 and bf16. An error of a kernel becomes the row's problem, and the rest goes on.
void run_self_test(const SelfTestOptions& options);

}  // namespace cinnabar::worker
