#include "cinnabar/models/named_views.h"

#include <set>

#include "cinnabar/base/error.h"
#include "cinnabar/base/text_match.h"
#include "cinnabar/tensor/convert.h"
#include "cinnabar/tensor/finite_file.h"

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

void load_targets(const NamedViews& views, std::span<const LoadTarget> targets, at::Device device,
                  const std::string& file, const std::function<bool(const std::string&)>& is_ignored) {
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

  for (const LoadTarget& target : targets) {
    target.module->each_parameter("", [&](const std::string& name, at::Tensor& value) {
      const at::IntArrayRef shape = value.sizes();
      value = tensor::copy(views.at(target.prefix + name), target.dtype, device).view(shape);
    });
  }
}

}  // namespace cinnabar::models
