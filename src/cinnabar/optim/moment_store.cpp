#ifdef CINNABAR_ENGINE

#include "cinnabar/optim/moment_store.h"

#include <ATen/ATen.h>

#include "cinnabar/base/error.h"

namespace cinnabar::optim {

namespace {

at::Tensor tensor_of(const std::array<float, 256>& values, size_t count, const at::Device& device) {
  at::Tensor result = at::empty({static_cast<int64_t>(count)}, at::kFloat);
  std::copy_n(values.begin(), count, result.mutable_data_ptr<float>());
  return result.to(device);
}

}  // namespace

std::vector<MomentRun> moment_runs(const ParameterGroup& group, std::optional<int64_t> min_8bit_size) {
  std::vector<MomentRun> runs;
  int64_t coded = 0;
  int64_t plain = 0;
  for (size_t i = 0; i < group.slots.size(); ++i) {
    const ParameterSlot& slot = group.slots[i];
    const int64_t end = i + 1 < group.slots.size() ? group.slots[i + 1].offset : group.values.numel();
    const bool is_coded = min_8bit_size && slot.count >= *min_8bit_size;
    CINNABAR_ASSERT(!is_coded || slot.offset % kCodeBlock == 0);
    if (runs.empty() || runs.back().is_coded != is_coded) {
      runs.push_back({{slot.offset, slot.offset}, is_coded ? coded : plain, is_coded});
    }
    runs.back().span.end = end;
    (is_coded ? coded : plain) += end - slot.offset;
  }
  return runs;
}

MomentStore::MomentStore(const ParameterGroup& group, const std::vector<MomentRun>& runs, const CodeLevels& levels)
    : levels_(levels) {
  int64_t coded = 0;
  int64_t plain = 0;
  for (const MomentRun& run : runs) (run.is_coded ? coded : plain) += run.span.end - run.span.begin;
  const at::TensorOptions options = group.values.options();
  if (plain > 0) values_ = at::zeros({plain}, options);
  if (coded == 0) return;
  CINNABAR_ASSERT(coded % kCodeBlock == 0);
  codes_ = at::zeros({coded}, options.dtype(at::kByte));
  scales_ = at::zeros({coded / kCodeBlock}, options);
  if (group.values.is_cpu()) return;
  level_ = tensor_of(levels.level, 256, group.values.device());
  threshold_ = tensor_of(levels.threshold, 255, group.values.device());
}

at::Tensor MomentStore::load(const MomentRun& run, int64_t begin, int64_t count) const {
  const int64_t place = run.state + begin - run.span.begin;
  if (!run.is_coded) return values_.narrow(0, place, count);
  const at::Tensor codes = codes_.narrow(0, place, count);
  const at::Tensor scales = scales_.narrow(0, place / kCodeBlock, count / kCodeBlock);
  if (level_.defined()) return dequantized(codes, scales, level_);
  at::Tensor values = at::empty({count}, at::kFloat);
  dequantize_blocks(codes.const_data_ptr<uint8_t>(), scales.const_data_ptr<float>(), count, kCodeBlock, levels_,
                    values.mutable_data_ptr<float>());
  return values;
}

void MomentStore::save(const MomentRun& run, int64_t begin, const at::Tensor& values) const {
  if (!run.is_coded) return;  // `values` is the store's own memory
  const int64_t place = run.state + begin - run.span.begin;
  const int64_t count = values.numel();
  const at::Tensor codes = codes_.narrow(0, place, count);
  const at::Tensor scales = scales_.narrow(0, place / kCodeBlock, count / kCodeBlock);
  if (threshold_.defined()) {
    const auto [new_codes, new_scales] = quantized(values, threshold_);
    codes.copy_(new_codes);
    scales.copy_(new_scales);
    return;
  }
  quantize_blocks(values.const_data_ptr<float>(), count, kCodeBlock, levels_, codes.mutable_data_ptr<uint8_t>(),
                  scales.mutable_data_ptr<float>());
}

void MomentStore::add_state(const std::string& name, const std::string& group, NamedTensors& state) const {
  if (values_.defined()) state.emplace_back(name + "." + group, values_);
  if (codes_.defined()) {
    state.emplace_back(name + "_codes." + group, codes_);
    state.emplace_back(name + "_scales." + group, scales_);
  }
}

std::pair<at::Tensor, at::Tensor> quantized(const at::Tensor& values, const at::Tensor& thresholds) {
  const at::Tensor blocks = values.view({-1, kCodeBlock});
  const at::Tensor scales = blocks.abs().amax(1);
  const at::Tensor divisors = at::where(scales > 0, scales, at::ones_like(scales)).unsqueeze(1);
  const at::Tensor codes = at::bucketize(blocks / divisors, thresholds, /*out_int32=*/true, /*right=*/false);
  return {codes.view({-1}).to(at::kByte), scales};
}

at::Tensor dequantized(const at::Tensor& codes, const at::Tensor& scales, const at::Tensor& levels) {
  const at::Tensor values = at::index_select(levels, 0, codes.to(at::kInt));
  return (values.view({-1, kCodeBlock}) * scales.unsqueeze(1)).view({-1});
}

}  // namespace cinnabar::optim

#endif  // CINNABAR_ENGINE
