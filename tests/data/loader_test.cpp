#include "cinnabar/data/loader.h"

#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include "cinnabar/data/picture.h"
#include "cinnabar/data/png_writer.h"
#include "cinnabar/data/regularisation.h"
#include "formats/temporary_folder.h"

namespace cinnabar::data {
namespace {

// Two training pictures and four of regularisation, 16 pixels a side.
class Pictures {
 public:
  Pictures() {
    const Size size{16, 16};
    dataset_.options.bucket.resolution = size;
    dataset_.options.batch_size = 4;
    dataset_.options.subsets = {{.num_repeats = 2}, {.is_reg = true}};
    dataset_.options.subsets[0].caption.token_warmup_step = 4;
    for (int i = 0; i < 6; ++i) {
      const auto path = folder_ / (std::to_string(i) + ".png");
      save_png(path, blank_picture(size, 3), {});
      const bool is_reg = i >= 2;
      dataset_.samples.push_back({.path = path,
                                  .size = size,
                                  .bucket = {.bucket = size, .resized = size},
                                  .caption = "a, b, c, d, e",
                                  .is_reg = is_reg,
                                  .subset = is_reg ? size_t{1} : size_t{0}});
    }
    balance_regularisation(dataset_);
  }
  std::vector<Dataset> datasets() const { return {dataset_}; }

 private:
  formats::TemporaryFolder folder_;
  Dataset dataset_;
};

TEST_CASE("regularisation_pictures_weigh_as_prior_loss_weight_says") {
  const Pictures pictures;
  const auto datasets = pictures.datasets();
  Loader loader(datasets, {.seed = 1, .prior_loss_weight = 0.25, .threads = 1});
  int64_t weighed = 0;
  while (loader.has_next()) {
    const LoadedBatch batch = loader.next();
    for (size_t i = 0; i < batch.plan.items.size(); ++i) {
      const bool is_reg = datasets[0].samples[batch.plan.items[i].sample].is_reg;
      CHECK(batch.loss_weights[static_cast<int64_t>(i)].item<float>() == (is_reg ? 0.25F : 1.0F));
      weighed += is_reg ? 1 : 0;
    }
  }
  CHECK(weighed == 4);
}

TEST_CASE("the_tag_warm_up_follows_the_steps_of_the_run") {
  const Pictures pictures;
  const auto datasets = pictures.datasets();
  const auto first_caption = [&](int64_t steps_before, double warmup) {
    auto changed = datasets;
    changed[0].options.subsets[0].caption.token_warmup_step = warmup;
    Loader loader(changed, {.seed = 1, .steps_before = steps_before, .max_train_steps = 8, .threads = 0});
    while (loader.has_next()) {
      const LoadedBatch batch = loader.next();
      for (size_t i = 0; i < batch.plan.items.size(); ++i) {
        if (!changed[0].samples[batch.plan.items[i].sample].is_reg) return batch.captions[i];
      }
    }
    return std::string();
  };
  CHECK(first_caption(0, 40) == "a");
  CHECK(first_caption(20, 40) == "a, b, c");
  CHECK(first_caption(100, 40) == "a, b, c, d, e");
  // Below 1: a share of all steps.
  CHECK(first_caption(100, 0.5) == "a, b, c, d, e");
  CHECK(first_caption(0, 0.5).starts_with("a"));
  CHECK(first_caption(0, 0.5) != "a, b, c, d, e");
}

}  // namespace
}  // namespace cinnabar::data
