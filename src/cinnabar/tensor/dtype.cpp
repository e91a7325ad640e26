#include "cinnabar/tensor/dtype.h"

#include <array>
#include <utility>

#include "cinnabar/base/error.h"

namespace cinnabar::tensor {

namespace {

using formats::Dtype;

constexpr std::array<std::pair<Dtype, at::ScalarType>, 12> kTypes{{
    {Dtype::F64, at::kDouble},
    {Dtype::F32, at::kFloat},
    {Dtype::F16, at::kHalf},
    {Dtype::BF16, at::kBFloat16},
    {Dtype::F8E4M3, at::kFloat8_e4m3fn},
    {Dtype::F8E5M2, at::kFloat8_e5m2},
    {Dtype::I64, at::kLong},
    {Dtype::I32, at::kInt},
    {Dtype::I16, at::kShort},
    {Dtype::I8, at::kChar},
    {Dtype::U8, at::kByte},
    {Dtype::Bool, at::kBool},
}};

}  // namespace

at::ScalarType scalar_type(Dtype dtype) {
  for (const auto& [file, memory] : kTypes) {
    if (file == dtype) return memory;
  }
  throw base::Error(base::ErrorCode::Internal, "an element type without a libtorch counterpart");
}

Dtype file_dtype(at::ScalarType type) {
  for (const auto& [file, memory] : kTypes) {
    if (memory == type) return file;
  }
  throw base::Error(base::ErrorCode::Internal,
                    std::string("tensors of type ") + c10::toString(type) + " cannot be written to model files");
}

at::ScalarType precision_from(const std::string& word) {
  if (word == "float" || word == "fp32" || word == "float32" || word == "no") return at::kFloat;
  if (word == "fp16" || word == "half" || word == "float16") return at::kHalf;
  if (word == "bf16" || word == "bfloat16") return at::kBFloat16;
  throw base::Error(base::ErrorCode::Config,
                    "unknown precision \"" + word + "\": expected float, fp32, fp16, bf16 or no (fp32)");
}

}  // namespace cinnabar::tensor
