// A checkpoint's tensors under the names that our modules use, and the loading of modules from them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/nn/module.h"

namespace cinnabar::models {

// Name to tensor. The bytes belong to the checkpoint; a view may be a part of one of its tensors.
using NamedViews = std::map<std::string, formats::TensorView>;

// The checkpoint's tensors whose names start with `prefix`, without it.
NamedViews views_below(const formats::Checkpoint& checkpoint, const std::string& prefix);
// The same views under longer names; those that are there already stay.
void add_views(NamedViews& all, const std::string& prefix, const NamedViews& views);

bool has_prefix(const NamedViews& views, const std::string& prefix);
// Size of dimension `dim` of the first of `names` that is there. Throws Error{Format} that names the first when none
// is.
int64_t size_of(const NamedViews& views, const std::vector<std::string>& names, size_t dim, const std::string& file);
// How many consecutive indices i, counted from 0, have names that start with `prefix` + i + ".".
int64_t count_indices(const NamedViews& views, const std::string& prefix);

struct LoadTarget {
  nn::Module* module = nullptr;
  std::string prefix;  // of its names in the file, e.g. "model.diffusion_model."
  at::ScalarType dtype = at::kFloat;
};

// Fills all parameters. Shapes must agree, but for trailing sides of 1 (a 1x1 convolution stored as a matrix or the
// other way round). Names below a target's prefix that its module does not know are errors, too, unless `is_ignored`
// says otherwise. All problems go into one Error{Format}, up to 10 listed.
void load_targets(const NamedViews& views, std::span<const LoadTarget> targets, at::Device device,
                  const std::string& file, const std::function<bool(const std::string&)>& is_ignored);

// The two steps of load_targets. Names, shapes and types first:
void check_targets(const NamedViews& views, std::span<const LoadTarget> targets, const std::string& file,
                   const std::function<bool(const std::string&)>& is_ignored);

struct FillOptions {
  at::Device device = at::kCPU;
  // Owner of the views' bytes. With it, weights that stay on the CPU in the file's type and order are read from the
  // file's mapping without a copy (writing to them changes a private copy), and the pages of what is converted leave
  // the memory one by one. Null: everything is copied.
  std::shared_ptr<const formats::Checkpoint> source{};
  // Weights of linear and convolution layers keep the file's type where that is narrower: layers widen them when they
  // compute. The part's first parameter does not, since it tells the type that the part computes in.
  bool keeps_file_types = false;
};
// Then the values of one target that was checked.
void fill_target(const NamedViews& views, const LoadTarget& target, const FillOptions& options);

}  // namespace cinnabar::models
