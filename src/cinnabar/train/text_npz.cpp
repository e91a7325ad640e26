#include "cinnabar/train/text_npz.h"

#include <ATen/ATen.h>

#include "cinnabar/formats/npz.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::train {

namespace {

namespace fs = std::filesystem;
using base::Error;
using base::ErrorCode;

constexpr const char* kFirst = "hidden_state1";
constexpr const char* kSecond = "hidden_state2";
constexpr const char* kPooled = "pool2";

at::Tensor array(const formats::NpzArrays& file, const char* name, at::IntArrayRef shape) {
  const auto found = file.find(name);
  if (found == file.end()) throw Error(ErrorCode::Data, std::string("it has no array ") + name);
  if (at::IntArrayRef(found->second.shape) != shape) {
    throw Error(ErrorCode::Data, "its array " + std::string(name) + " has the shape " +
                                     c10::str(at::IntArrayRef(found->second.shape)) + ", this run needs " +
                                     c10::str(shape) + " (another max_token_length or model)");
  }
  at::Tensor values = tensor::copy(found->second.view(), at::kFloat);
  if (!values.isfinite().all().item<bool>()) {
    throw Error(ErrorCode::Data, "its array " + std::string(name) + " has values that are not finite");
  }
  return values;
}

void check_age(const data::Sample& sample, const fs::path& path) {
  std::error_code error;
  const auto own = fs::last_write_time(path, error);
  if (error) return;
  for (const char* extension : {".txt", ".caption"}) {
    const auto caption = fs::last_write_time(fs::path(sample.path).replace_extension(extension), error);
    if (!error && caption > own) throw Error(ErrorCode::Data, "it is older than its caption file");
  }
}

}  // namespace

fs::path text_npz_path(const data::Sample& sample) {
  return (sample.path.parent_path() / sample.path.stem()).string() + "_te_outputs.npz";
}

base::Result<models::Conditioning> read_text_npz(const data::Sample& sample, const models::Conditioning& like) {
  const fs::path path = text_npz_path(sample);
  try {
    check_age(sample, path);
    const int64_t tokens = like.context.size(0);
    const int64_t second = like.pooled.size(0);
    const formats::NpzArrays file = formats::read_npz(path);
    const at::Tensor first = array(file, kFirst, {tokens, like.context.size(1) - second});
    models::Conditioning result;
    result.context = at::cat({first, array(file, kSecond, {tokens, second})}, 1).to(like.context.scalar_type());
    result.pooled = array(file, kPooled, {second}).to(like.pooled.scalar_type());
    return result;
  } catch (const Error& error) {
    return Error(ErrorCode::Data, path.string() + ": " + error.message());
  }
}

void write_text_npz(const data::Sample& sample, const models::Conditioning& states) {
  formats::NpzArrays arrays;
  const auto put = [&](const char* name, const at::Tensor& values) {
    const at::Tensor stored = values.to(at::kCPU, at::kFloat).contiguous();
    const formats::TensorView view = tensor::view_of(stored);
    arrays[name] = {view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
  };
  const int64_t second = states.pooled.size(0);
  const int64_t first = states.context.size(1) - second;
  put(kFirst, states.context.narrow(1, 0, first));
  put(kSecond, states.context.narrow(1, first, second));
  put(kPooled, states.pooled);
  formats::write_npz(text_npz_path(sample), arrays);
}

}  // namespace cinnabar::train
