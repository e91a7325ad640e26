// optim/blockwise_quant.safetensors: levels, codes and scales of block-wise 8-bit state.
#include <ATen/ATen.h>

#include <array>
#include <string>

#include "cinnabar/optim/blockwise_kernel.h"
#include "parity/golden_tensors.h"
#include "parity/reporter.h"

namespace cinnabar::parity {

namespace {

at::Tensor levels_tensor(const optim::CodeLevels& levels) {
  at::Tensor result = at::empty({256}, at::kFloat);
  std::copy(levels.level.begin(), levels.level.end(), result.mutable_data_ptr<float>());
  return result;
}

struct Coded {
  at::Tensor codes;   // uint8
  at::Tensor scales;  // [blocks]
  at::Tensor values;  // what the codes stand for
};
Coded coded(const at::Tensor& x, int64_t block, const optim::CodeLevels& levels) {
  Coded result{at::empty(x.sizes(), at::kByte), at::empty({(x.numel() + block - 1) / block}, at::kFloat),
               at::empty_like(x)};
  optim::quantize_blocks(x.const_data_ptr<float>(), x.numel(), block, levels, result.codes.mutable_data_ptr<uint8_t>(),
                         result.scales.mutable_data_ptr<float>());
  optim::dequantize_blocks(result.codes.const_data_ptr<uint8_t>(), result.scales.const_data_ptr<float>(), x.numel(),
                           block, levels, result.values.mutable_data_ptr<float>());
  return result;
}

// Names are KIND.blockSIZE.WHAT.
void run_form(const GoldenTensors& golden, const std::string& prefix, Reporter& reporter) {
  const bool is_signed = prefix.starts_with("signed");
  const optim::CodeLevels& levels = is_signed ? optim::signed_levels() : optim::unsigned_levels();
  const int64_t block = std::stoll(prefix.substr(prefix.find("block") + 5));
  const at::Tensor x = golden.at("x");
  const Coded found = coded(is_signed ? x : x.abs(), block, levels);
  const std::string name = "blockwise_quant/" + prefix;
  if (golden.has(prefix + ".absmax")) {
    reporter.result(name + ".absmax", largest_difference(found.scales, golden.at(prefix + ".absmax")), 0.0);
  }
  if (golden.has(prefix + ".index")) {
    const at::Tensor expected = golden.at(prefix + ".index");
    reporter.result(name + ".index", (found.codes.to(at::kInt) - expected.to(at::kInt)).abs().max().item<double>(),
                    0.0);
  }
  if (golden.has(prefix + ".bnb_index")) {  // an approximate search: one off at most
    const at::Tensor expected = golden.at(prefix + ".bnb_index");
    reporter.result(name + ".bnb_index", (found.codes.to(at::kInt) - expected.to(at::kInt)).abs().max().item<double>(),
                    1.0);
  }
  if (golden.has(prefix + ".dequant")) {
    reporter.result(name + ".dequant", largest_difference(found.values, golden.at(prefix + ".dequant")), 1e-7);
  }
}

void run(const std::filesystem::path& folder, Reporter& reporter) {
  if (!std::filesystem::exists(folder / "blockwise_quant.safetensors")) return;
  const GoldenTensors golden(folder / "blockwise_quant.safetensors");
  reporter.result("blockwise_quant/code.signed",
                  largest_difference(levels_tensor(optim::signed_levels()), golden.at("code.signed")), 0.0);
  reporter.result("blockwise_quant/code.unsigned",
                  largest_difference(levels_tensor(optim::unsigned_levels()), golden.at("code.unsigned")), 0.0);
  for (const auto& [key, view] : golden.checkpoint().tensors()) {
    if (key.ends_with(".index")) run_form(golden, key.substr(0, key.size() - 6), reporter);
  }
}

}  // namespace

CINNABAR_PARITY_GROUP(optim_blockwise, "optim.blockwise", run);

}  // namespace cinnabar::parity
