// Element types of tensors in files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cinnabar::formats {

enum class Dtype { F64, F32, F16, BF16, F8E4M3, F8E5M2, I64, I32, I16, I8, U8, Bool };

// Bytes of one element.
uint64_t element_size(Dtype dtype);
// safetensors names: "F32", "BF16", "F8_E4M3", "BOOL", ...
std::string_view to_string(Dtype dtype);
std::optional<Dtype> dtype_from(std::string_view safetensors_name);

}  // namespace cinnabar::formats
