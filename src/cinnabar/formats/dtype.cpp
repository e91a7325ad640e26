#include "cinnabar/formats/dtype.h"

#include <array>

namespace cinnabar::formats {

namespace {

struct Row {
  Dtype dtype;
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array<Row, 12> kRows{{
    {Dtype::F64, "F64", 8},
    {Dtype::F32, "F32", 4},
    {Dtype::F16, "F16", 2},
    {Dtype::BF16, "BF16", 2},
    {Dtype::F8E4M3, "F8_E4M3", 1},
    {Dtype::F8E5M2, "F8_E5M2", 1},
    {Dtype::I64, "I64", 8},
    {Dtype::I32, "I32", 4},
    {Dtype::I16, "I16", 2},
    {Dtype::I8, "I8", 1},
    {Dtype::U8, "U8", 1},
    {Dtype::Bool, "BOOL", 1},
}};

constexpr const Row& row(Dtype dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

uint64_t element_size(Dtype dtype) { return row(dtype).bytes; }

std::string_view to_string(Dtype dtype) { return row(dtype).name; }

std::optional<Dtype> dtype_from(std::string_view safetensors_name) {
  for (const Row& candidate : kRows) {
    if (candidate.name == safetensors_name) return candidate.dtype;
  }
  return std::nullopt;
}

}  // namespace cinnabar::formats
