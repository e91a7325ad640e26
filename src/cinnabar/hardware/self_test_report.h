// What the engine's self-test found, as doctor shows it. The test itself is worker/self_test.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::hardware {

// One kernel in one number format.
struct SelfTestRow {
  std::string name;                // "gemm", "convolution", "convolution backward", ...
  std::string type;                // "fp32", "fp16", "bf16"
  double error = 0.0;              // largest difference from float64, as a part of the largest value
  double limit = 0.0;              // that it may have
  double first_ms = 0.0;           // with searching and compiling of kernels
  double ms = 0.0;                 // once that is done
  std::optional<double> gflops{};  // thousand million operations a second
  bool is_good = false;
  std::string problem{};  // an error instead of numbers
};

struct SelfTestReport {
  std::string device{};  // "cpu", "gpu:0"
  std::string libtorch{};
  std::string attention{};  // which kernel the trainer takes, and why
  std::vector<SelfTestRow> rows{};
  double seconds = 0.0;
  std::string problem{};  // why it did not come to its end; "" when it did

  bool is_good() const;
};

std::string self_test_text(const SelfTestReport& report);
nlohmann::ordered_json self_test_json(const SelfTestReport& report);

// Takes one event of the engine (type "self_test"); others are left alone.
void take_self_test_event(SelfTestReport& report, const nlohmann::ordered_json& event);

}  // namespace cinnabar::hardware
