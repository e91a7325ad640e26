#include "picture_source.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/ATen.h>

#include "cinnabar/formats/checkpoint.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::embedded {

namespace {

using Colour = std::array<double, 3>;

// In the order of BACKGROUNDS in make_pictures.py.
constexpr std::array<Colour, PictureSource::kBackgrounds> kColours = {{{255, 255, 255},
                                                                       {24, 24, 24},
                                                                       {150, 150, 150},
                                                                       {214, 60, 56},
                                                                       {244, 150, 50},
                                                                       {250, 218, 94},
                                                                       {86, 176, 92},
                                                                       {70, 120, 214},
                                                                       {142, 90, 190},
                                                                       {246, 166, 196}}};

at::Tensor colour_plane(const Colour& colour) {
  return at::tensor({colour[0], colour[1], colour[2]}).to(at::kFloat).view({3, 1, 1});
}

// rgba: uint8 [64, 64, 4] premultiplied -> [3, 64, 64] in [-1, 1].
at::Tensor composite(const at::Tensor& rgba, const Colour& background) {
  const at::Tensor planes = rgba.to(at::kFloat).permute({2, 0, 1});
  const at::Tensor rgb = planes.slice(0, 0, 3) + (1 - planes.slice(0, 3, 4) / 255) * colour_plane(background);
  return rgb / 127.5 - 1;
}

Colour random_colour(base::RandomStream& random) {
  return {255 * random.uniform(), 255 * random.uniform(), 255 * random.uniform()};
}

// One to four anti-aliased ellipses or boxes.
at::Tensor shapes(base::RandomStream& random, const Colour& background) {
  at::Tensor picture = colour_plane(background).expand({3, 64, 64}).clone();
  const at::Tensor axis = at::arange(64, at::kFloat) + 0.5;
  const int64_t count = random.integer(1, 5);
  for (int64_t i = 0; i < count; ++i) {
    const double rx = 4 + 20 * random.uniform();
    const double ry = 4 + 20 * random.uniform();
    const at::Tensor dx = ((axis - 64 * random.uniform()) / rx).view({1, 64});
    const at::Tensor dy = ((axis - 64 * random.uniform()) / ry).view({64, 1});
    const bool is_box = random.uniform() < 0.5;
    const at::Tensor radius = is_box ? at::maximum(dx.abs(), dy.abs()) : (dx.square() + dy.square()).sqrt();
    const at::Tensor cover = ((1 - radius) * std::min(rx, ry) + 0.5).clamp(0, 1).unsqueeze(0);
    picture = picture + cover * (colour_plane(random_colour(random)) - picture);
  }
  return picture / 127.5 - 1;
}

}  // namespace

PictureSource::PictureSource(const std::string& path) {
  const auto file = formats::Checkpoint::open(path);
  for (const char* name : {"size_46", "size_52", "size_58"}) sizes_.push_back(tensor::copy(file->at(name)));
  const at::Tensor rows = tensor::copy(file->at("subjects"));
  subjects_.assign(rows.const_data_ptr<int64_t>(), rows.const_data_ptr<int64_t>() + rows.numel());
}

at::Tensor PictureSource::subject(int64_t index, int64_t background) const {
  return emoji(subjects_.at(static_cast<size_t>(index)), background);
}

at::Tensor PictureSource::emoji(int64_t index, int64_t background) const {
  return composite(sizes_[1][index], kColours.at(static_cast<size_t>(background)));
}

at::Tensor PictureSource::random(base::RandomStream& random) const {
  if (random.uniform() >= 0.5) return augmented(random);
  const int64_t background = random.uniform() < 1.0 / 3 ? 0 : random.integer(1, kBackgrounds);
  return subject(random.integer(0, subject_count()), background);
}

at::Tensor PictureSource::augmented(base::RandomStream& random) const {
  const Colour background = random.uniform() < 0.3 ? Colour{255, 255, 255} : random_colour(random);
  if (random.uniform() < 0.15) return shapes(random, background);
  const at::Tensor& pictures = sizes_[static_cast<size_t>(random.integer(0, 3))];
  at::Tensor rgba = pictures[random.integer(0, pictures.size(0))];
  rgba = at::roll(rgba, {random.integer(-3, 4), random.integer(-3, 4)}, {0, 1});
  if (random.uniform() < 0.5) rgba = rgba.flip({1});
  if (random.uniform() < 0.3) {
    std::array<int64_t, 3> order = {0, 1, 2};
    random.shuffle(std::span<int64_t>(order));
    rgba = rgba.index_select(2, at::tensor({order[0], order[1], order[2], int64_t{3}}));
  }
  return composite(rgba, background);
}

}  // namespace cinnabar::embedded
