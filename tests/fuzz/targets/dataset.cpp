#include "cinnabar/data/config_tree.h"
#include "cinnabar/data/dataset_file.h"
#include "cinnabar/schema/option_groups.h"
#include "cinnabar/schema/resolve.h"
#include "fuzz/fuzz_target.h"

using namespace cinnabar;

namespace {

schema::Values default_values() {
  schema::Problems ignored;
  return schema::resolve(schema::train_schema(), "train", {}, ignored).values;
}

}  // namespace

CINNABAR_FUZZ_TARGET(dataset, 4096) {
  static const schema::Values values = default_values();
  schema::Problems problems;
  const data::ConfigTree tree = data::parse_config_tree(std::string(fuzz::text_of(input)), "data.toml");
  const data::DatasetFile file = data::datasets_from_tree(tree, "nowhere", values, problems);
  problems.raise();
  fuzz::require(!file.datasets.empty(), "a file without data sets is refused");
  for (const data::DatasetOptions& dataset : file.datasets) {
    fuzz::require(!dataset.subsets.empty(), "a data set without subsets is refused");
    fuzz::require(dataset.batch_size > 0, "batches are not empty");
  }
}
