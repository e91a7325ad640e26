#include "cinnabar/data/npz_latents.h"

#include <array>

#include <ATen/ATen.h>

#include "cinnabar/formats/npz.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::data {

namespace {

using base::Error;
using base::ErrorCode;

constexpr const char* kLatents = "latents";
constexpr const char* kFlippedArray = "latents_flipped";
constexpr const char* kMask = "alpha_mask";
constexpr const char* kOriginalSize = "original_size";
constexpr const char* kCrop = "crop_ltrb";

std::string padded(int64_t number) {
  std::string text = std::to_string(number);
  return std::string(4 - std::min<size_t>(4, text.size()), '0') + text;
}

class LatentReader {
 public:
  LatentReader(const std::filesystem::path& path, const NpzRequest& request)
      : path_(path), request_(request), file_(formats::read_npz(path)) {}

  NpzLatents read() const {
    check_age();
    check_size();
    NpzLatents result{.latents = array(kLatents, latent_shape())};
    if (request_.wants_flipped) result.flipped = array(kFlippedArray, latent_shape());
    const Size bucket = request_.sample.bucket.bucket;
    if (request_.wants_mask) result.mask = array(kMask, {bucket.height, bucket.width});
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::Data, path_.string() + ": " + what);
  }

  std::vector<int64_t> latent_shape() const {
    const Size bucket = request_.sample.bucket.bucket;
    return {request_.channels, bucket.height / request_.downscale, bucket.width / request_.downscale};
  }

  void check_age() const {
    std::error_code error;
    const auto own = std::filesystem::last_write_time(path_, error);
    const auto picture = std::filesystem::last_write_time(request_.sample.path, error);
    if (!error && picture > own) refuse("it is older than its picture, which may have been changed since");
  }

  void check_size() const {
    const auto found = file_.find(kOriginalSize);
    if (found == file_.end()) refuse("it has no array original_size");
    const at::Tensor size = tensor::copy(found->second.view(), at::kLong).flatten();
    const Size picture = request_.sample.size;
    if (size.numel() != 2) refuse("its original_size is no pair of numbers");
    const Size stored = {size[0].item<int64_t>(), size[1].item<int64_t>()};
    if (stored != picture) {
      refuse("it was made from a picture of " + to_string(stored) + " pixels, the picture has " + to_string(picture));
    }
  }

  // fp32. A 0 in `shape` stands for any size.
  at::Tensor array(const char* name, const std::vector<int64_t>& shape) const {
    const auto found = file_.find(name);
    if (found == file_.end()) refuse(std::string("it has no array ") + name);
    const std::vector<int64_t>& own = found->second.shape;
    bool fits = own.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) fits = own[i] == shape[i] || (shape[i] == 0 && own[i] > 0);
    if (!fits) {
      refuse("its array " + std::string(name) + " has the shape " + c10::str(at::IntArrayRef(own)) +
             ", this run needs " + c10::str(at::IntArrayRef(shape)) + " (another resolution or other buckets)");
    }
    at::Tensor values = tensor::copy(found->second.view(), at::kFloat);
    if (!values.isfinite().all().item<bool>())
      refuse("its array " + std::string(name) + " has values that are not finite");
    return values;
  }

  const std::filesystem::path& path_;
  const NpzRequest& request_;
  formats::NpzArrays file_;
};

}  // namespace

std::filesystem::path npz_path(const Sample& sample, const std::string& suffix) {
  const std::filesystem::path stem = sample.path.parent_path() / sample.path.stem();
  std::error_code ignored;
  if (std::filesystem::path old = stem.string() + ".npz"; std::filesystem::is_regular_file(old, ignored)) return old;
  return stem.string() + "_" + padded(sample.size.width) + "x" + padded(sample.size.height) + suffix;
}

base::Result<NpzLatents> read_npz_latents(const std::filesystem::path& path, const NpzRequest& request) {
  try {
    return LatentReader(path, request).read();
  } catch (const Error& error) {
    return error;
  }
}

void write_npz_latents(const std::filesystem::path& path, const Sample& sample, const NpzLatents& latents) {
  formats::NpzArrays arrays;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    try {
      arrays = formats::read_npz(path);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Format) throw;
      arrays.clear();  // not readable for anybody; written anew
    }
  }
  const auto put = [&](const char* name, const at::Tensor& values) {
    const at::Tensor stored = values.to(at::kCPU).contiguous();
    const formats::TensorView view = tensor::view_of(stored);
    arrays[name] = {view.dtype, view.shape, {view.bytes.begin(), view.bytes.end()}};
  };
  const CropNumbers crop = crop_numbers(sample.bucket.bucket, sample.size);
  put(kLatents, latents.latents.to(at::kFloat));
  put(kOriginalSize, at::tensor(std::vector<int64_t>{sample.size.width, sample.size.height}, at::kLong));
  put(kCrop, at::tensor(std::vector<double>{crop.left, crop.top, crop.right, crop.bottom}, at::kDouble));
  // Of an older file that had them, they would no longer fit.
  arrays.erase(kFlippedArray);
  arrays.erase(kMask);
  if (latents.flipped.defined()) put(kFlippedArray, latents.flipped.to(at::kFloat));
  if (latents.mask.defined()) put(kMask, latents.mask.to(at::kFloat));
  formats::write_npz(path, arrays);
}

}  // namespace cinnabar::data
