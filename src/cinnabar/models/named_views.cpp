#include "cinnabar/models/named_views.h"

#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/base/mapped_pages.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/nn/cpu_kernels.h"
#include "cinnabar/nn/layer.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/dtype.h"
#include "cinnabar/tensor/finite_file.h"
#include "cinnabar/tensor/weight_memory.h"

namespace cinnabar::models {

namespace {

constexpr size_t kListed = 10;

std::string to_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

std::vector<int64_t> without_trailing_ones(at::IntArrayRef shape) {
  std::vector<int64_t> sides = shape.vec();
  while (!sides.empty() && sides.back() == 1) sides.pop_back();
  return sides;
}

class Problems {
 public:
  void add(std::string problem) {
    if (listed_.size() < kListed) listed_.push_back(std::move(problem));
    ++count_;
  }
  // Throws when there are any.
  void report(const std::string& file) const {
    if (count_ == 0) return;
    std::string message = file + ": " + std::to_string(count_) +
                          (count_ == 1 ? " tensor does not fit the model:" : " tensors do not fit the model:");
    for (const std::string& problem : listed_) message += "\n  " + problem;
    if (count_ > listed_.size()) message += "\n  and " + std::to_string(count_ - listed_.size()) + " more";
    message += "\nThe file is incomplete, or of another model family than its other names say.";
    throw base::Error(base::ErrorCode::Format, message);
  }

 private:
  std::vector<std::string> listed_;
  size_t count_ = 0;
};

struct Names {
  std::set<std::string> known;
  std::vector<std::string> surplus;
};

Names compare_names(const NamedViews& views, std::span<const LoadTarget> targets,
                    const std::function<bool(const std::string&)>& is_ignored) {
  Names names;
  for (const LoadTarget& target : targets) {
    target.module->each_parameter(
        "", [&](const std::string& name, at::Tensor&) { names.known.insert(target.prefix + name); });
  }
  for (const LoadTarget& target : targets) {
    for (auto it = views.lower_bound(target.prefix); it != views.end() && it->first.starts_with(target.prefix); ++it) {
      if (!names.known.contains(it->first) && !is_ignored(it->first)) names.surplus.push_back(it->first);
    }
  }
  return names;
}

// One parameter and what goes into it.
struct Filling {
  at::Tensor* value = nullptr;
  formats::TensorView view;
  at::ScalarType dtype = at::kFloat;
  at::MemoryFormat format = at::MemoryFormat::Contiguous;
};

// Convolutions on the CPU compute with their weights channels last (frozen_layer.h); brought there when they are first
// used, they would be in memory twice.
std::set<const at::Tensor*> turned_weights(nn::Module& module, const LoadTarget& target, const FillOptions& options) {
  std::set<const at::Tensor*> turned;
  if (!options.device.is_cpu() || target.dtype != at::kFloat || nn::cpu_kernels() == nullptr) return turned;
  module.each_layer("", [&](const std::string&, nn::Layer& layer) {
    if (layer.shape().is_convolution && layer.shape().kernel > 1) turned.insert(&layer.weight);
  });
  return turned;
}

// Those that may stay in the file's type.
std::set<const at::Tensor*> kept_weights(nn::Module& module, const FillOptions& options) {
  std::set<const at::Tensor*> kept;
  if (!options.keeps_file_types) return kept;
  module.each_layer("", [&](const std::string&, nn::Layer& layer) { kept.insert(&layer.weight); });
  const at::Tensor* first = nullptr;
  module.each_parameter("", [&](const std::string&, at::Tensor& value) { first = first == nullptr ? &value : first; });
  kept.erase(first);
  return kept;
}

// Whether the file's own bytes serve as they are.
bool is_shared(const Filling& filling, const FillOptions& options) {
  return options.source && options.device.is_cpu() && filling.format == at::MemoryFormat::Contiguous &&
         tensor::scalar_type(filling.view.dtype) == filling.dtype && base::allow_private_writes(filling.view.bytes);
}

}  // namespace

NamedViews views_below(const formats::Checkpoint& checkpoint, const std::string& prefix) {
  NamedViews views;
  const auto& tensors = checkpoint.tensors();
  for (auto it = tensors.lower_bound(prefix); it != tensors.end() && it->first.starts_with(prefix); ++it) {
    views.emplace(it->first.substr(prefix.size()), it->second);
  }
  return views;
}

void add_views(NamedViews& all, const std::string& prefix, const NamedViews& views) {
  for (const auto& [name, view] : views) all.emplace(prefix + name, view);
}

bool has_prefix(const NamedViews& views, const std::string& prefix) {
  const auto first = views.lower_bound(prefix);
  return first != views.end() && first->first.starts_with(prefix);
}

int64_t size_of(const NamedViews& views, const std::vector<std::string>& names, size_t dim, const std::string& file) {
  for (const std::string& name : names) {
    const auto found = views.find(name);
    if (found != views.end() && found->second.shape.size() > dim) return found->second.shape[dim];
  }
  throw base::Error(base::ErrorCode::Format,
                    file + ": the tensor \"" + names.front() +
                        "\" is missing or has too few dimensions, so the model's sizes cannot be told. The file is "
                        "incomplete, or of another model family than its other names say");
}

int64_t count_indices(const NamedViews& views, const std::string& prefix) {
  int64_t count = 0;
  while (has_prefix(views, prefix + std::to_string(count) + ".")) ++count;
  return count;
}

void check_targets(const NamedViews& views, std::span<const LoadTarget> targets, const std::string& file,
                   const std::function<bool(const std::string&)>& is_ignored) {
  Problems problems;
  const Names names = compare_names(views, targets, is_ignored);
  for (const LoadTarget& target : targets) {
    target.module->each_parameter("", [&](const std::string& name, at::Tensor& value) {
      const std::string full = target.prefix + name;
      const auto found = views.find(full);
      if (found == views.end()) {
        const std::string near = base::nearest_name(full, names.surplus);
        problems.add("missing: " + full + (near.empty() ? "" : " (the file has " + near + ")"));
      } else if (without_trailing_ones(found->second.shape) != without_trailing_ones(value.sizes())) {
        problems.add("shape: " + full + " is " + to_text(found->second.shape) + ", expected " + to_text(value.sizes()));
      } else if (!tensor::is_floating(found->second.dtype)) {
        problems.add("type: " + full + " holds whole numbers (" + std::string(formats::to_string(found->second.dtype)) +
                     "), expected floating-point numbers");
      }
    });
  }
  for (const std::string& name : names.surplus) problems.add("unknown: " + name);
  problems.report(file);
}

void fill_target(const NamedViews& views, const LoadTarget& target, const FillOptions& options) {
  const std::set<const at::Tensor*> kept = kept_weights(*target.module, options);
  const std::set<const at::Tensor*> turned = turned_weights(*target.module, target, options);
  std::vector<Filling> converted;
  uint64_t bytes = 0;
  target.module->each_parameter("", [&](const std::string& name, at::Tensor& value) {
    Filling filling{&value, views.at(target.prefix + name), target.dtype};
    const at::ScalarType file_type = tensor::scalar_type(filling.view.dtype);
    if (kept.contains(&value) && c10::elementSize(file_type) < c10::elementSize(filling.dtype))
      filling.dtype = file_type;
    if (turned.contains(&value)) filling.format = at::MemoryFormat::ChannelsLast;
    if (is_shared(filling, options)) {
      value = tensor::share(filling.view, options.source).view(value.sizes());
      return;
    }
    bytes += tensor::WeightMemory::taken_by(static_cast<uint64_t>(value.numel()) * c10::elementSize(filling.dtype));
    converted.push_back(filling);
  });
  const bool is_on_cpu = options.device.is_cpu();
  tensor::WeightMemory memory(is_on_cpu ? bytes : 0);
  for (const Filling& filling : converted) {
    const std::vector<int64_t> shape = filling.value->sizes().vec();
    if (is_on_cpu) {
      at::Tensor place = memory.take(filling.view.shape, filling.dtype, filling.format);
      tensor::copy_into(filling.view, place);
      *filling.value = place.view(shape);
    } else {
      *filling.value = tensor::copy(filling.view, filling.dtype, options.device).view(shape);
    }
    if (options.source) base::drop_pages(filling.view.bytes);
  }
}

void load_targets(const NamedViews& views, std::span<const LoadTarget> targets, at::Device device,
                  const std::string& file, const std::function<bool(const std::string&)>& is_ignored) {
  check_targets(views, targets, file, is_ignored);
  for (const LoadTarget& target : targets) fill_target(views, target, {.device = device});
}

}  // namespace cinnabar::models
