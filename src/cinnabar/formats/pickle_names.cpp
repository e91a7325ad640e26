#include "cinnabar/formats/pickle_names.h"

#include <array>

namespace cinnabar::formats::pickle {

namespace {

struct StorageRow {
  std::string_view name;
  Dtype dtype;
};

// torch/storage.py, the typed storages of torch.
constexpr std::array<StorageRow, 10> kStorages{{
    {"DoubleStorage", Dtype::F64},
    {"FloatStorage", Dtype::F32},
    {"HalfStorage", Dtype::F16},
    {"BFloat16Storage", Dtype::BF16},
    {"LongStorage", Dtype::I64},
    {"IntStorage", Dtype::I32},
    {"ShortStorage", Dtype::I16},
    {"CharStorage", Dtype::I8},
    {"ByteStorage", Dtype::U8},
    {"BoolStorage", Dtype::Bool},
}};

constexpr std::array<std::string_view, 12> kDtypes{"float64",       "float32",     "float16", "bfloat16",
                                                   "int64",         "int32",       "int16",   "int8",
                                                   "float8_e4m3fn", "float8_e5m2", "uint8",   "bool"};

}  // namespace

std::optional<Global> allowed_global(std::string_view module, std::string_view name) {
  if (module == "collections" && name == "OrderedDict") return Global{Name::OrderedDict};
  if (module == "torch._utils" && name == "_rebuild_tensor_v2") return Global{Name::RebuildTensor};
  if (module == "torch._utils" && name == "_rebuild_parameter") return Global{Name::RebuildParameter};
  if (module != "torch") return std::nullopt;
  if (name == "Size") return Global{Name::Size};
  for (const StorageRow& row : kStorages) {
    if (row.name == name) return Global{Name::StorageType, row.dtype};
  }
  for (const std::string_view dtype : kDtypes) {
    if (dtype == name) return Global{Name::DtypeName};
  }
  return std::nullopt;
}

}  // namespace cinnabar::formats::pickle
