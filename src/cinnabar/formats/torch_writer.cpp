// Layout of torch.save's archives and of the pickle in them (protocol 2), as torch/serialization.py documents them.
#include "cinnabar/formats/torch_writer.h"

#include <algorithm>
#include <bit>
#include <set>

#include "cinnabar/base/checked.h"
#include "cinnabar/base/error.h"
#include "cinnabar/formats/zip_writer.h"

namespace cinnabar::formats {

namespace {

const char* storage_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::F64:
      return "DoubleStorage";
    case Dtype::F32:
      return "FloatStorage";
    case Dtype::F16:
      return "HalfStorage";
    case Dtype::BF16:
      return "BFloat16Storage";
    case Dtype::I64:
      return "LongStorage";
    case Dtype::I32:
      return "IntStorage";
    case Dtype::I16:
      return "ShortStorage";
    case Dtype::I8:
      return "CharStorage";
    case Dtype::U8:
      return "ByteStorage";
    case Dtype::Bool:
      return "BoolStorage";
    default:
      return nullptr;
  }
}

// Pickle instructions, by the letters of the protocol.
void put_global(std::string& code, const std::string& module, const std::string& name) {
  code += "c" + module + "\n" + name + "\n";
}

void put_text(std::string& code, const std::string& text) {
  code += 'X';
  for (int shift = 0; shift < 32; shift += 8) code += static_cast<char>(text.size() >> shift & 0xFF);
  code += text;
}

// Not negative.
void put_number(std::string& code, uint64_t value) {
  if (value < 0x100) {
    code += 'K';
    code += static_cast<char>(value);
    return;
  }
  const int bytes = static_cast<int>(std::bit_width(value)) / 8 + 1;  // two's complement: the highest bit stays clear
  code += "\x8A";
  code += static_cast<char>(bytes);
  for (int i = 0; i < bytes; ++i) code += static_cast<char>(i < 8 ? value >> (8 * i) & 0xFF : 0);
}

void put_tuple(std::string& code, const std::vector<uint64_t>& values) {
  code += '(';
  for (const uint64_t value : values) put_number(code, value);
  code += 't';
}

void put_empty_ordered_dict(std::string& code) {
  put_global(code, "collections", "OrderedDict");
  code += ")R";
}

uint64_t element_count(const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t side : shape) count = base::checked_mul(count, static_cast<uint64_t>(side));
  return count;
}

// A call that rebuilds the tensor over the storage "data/KEY".
void put_tensor(std::string& code, const TensorView& view, const std::string& key) {
  const uint64_t count = element_count(view.shape);
  std::vector<uint64_t> sizes;
  std::vector<uint64_t> strides(view.shape.size(), 1);
  for (const int64_t side : view.shape) sizes.push_back(static_cast<uint64_t>(side));
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<uint64_t>(sizes[i], 1);
  put_global(code, "torch._utils", "_rebuild_tensor_v2");
  code += "((";
  put_text(code, "storage");
  put_global(code, "torch", storage_type(view.dtype));
  put_text(code, key);
  put_text(code, "cpu");
  put_number(code, count);
  code += "tQ";  // looks the storage up
  put_number(code, 0);
  put_tuple(code, sizes);
  put_tuple(code, strides);
  code += '\x89';  // False: no gradient
  put_empty_ordered_dict(code);
  code += "tR";
}

void check(const NamedTensor& tensor, std::set<std::string>& names, const std::string& path) {
  const std::string where = path + ": tensor " + tensor.name + " ";
  if (!names.insert(tensor.name).second) throw base::Error(base::ErrorCode::Format, where + "is there twice");
  if (storage_type(tensor.view.dtype) == nullptr) {
    throw base::Error(base::ErrorCode::Format, where + "has the type " + std::string(to_string(tensor.view.dtype)) +
                                                   ", which this format cannot hold: save as safetensors");
  }
  if (element_count(tensor.view.shape) * element_size(tensor.view.dtype) != tensor.view.bytes.size()) {
    throw base::Error(base::ErrorCode::Format,
                      where + "has " + std::to_string(tensor.view.bytes.size()) + " bytes, which do not fit its shape");
  }
}

}  // namespace

void write_torch_file(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors) {
  std::string code = "\x80\x02";
  put_empty_ordered_dict(code);
  code += '(';
  std::set<std::string> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    check(tensors[i], names, path.string());
    put_text(code, tensors[i].name);
    put_tensor(code, tensors[i].view, std::to_string(i));
  }
  code += "u.";
  // All names of the archive lie in one folder, which torch calls after the file.
  const std::string folder = path.stem().string() + "/";
  StoredZipWriter archive(path);
  archive.add(folder + "data.pkl", code);
  archive.add(folder + "byteorder", "little");
  for (size_t i = 0; i < tensors.size(); ++i) archive.add(folder + "data/" + std::to_string(i), tensors[i].view.bytes);
  archive.add(folder + "version", "3\n");
  archive.commit();
}

}  // namespace cinnabar::formats
