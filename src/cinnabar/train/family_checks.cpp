#include "cinnabar/train/family_checks.h"

#include <set>
#include <string>

namespace cinnabar::train {

void check_family_options(const schema::Values& values, const models::ModelInfo& info, base::EventSink& events) {
  if (values.flag("v2") && info.family != "sd2") {
    events.warning("v2 is set, but the model is of the family " + info.family + ", as its tensors say; v2 is not used");
  }
  if (info.family == "sdxl" && values.maybe_integer("clip_skip").value_or(0) > 0) {
    events.warning("clip_skip has no effect: SDXL always takes the last layer but one of both text encoders");
  }
}

void check_bucket_steps(const std::vector<data::Dataset>& datasets, const models::ModelInfo& info,
                        base::EventSink& events) {
  // The rule is about models of the original sizes. Pictures of a small model would leave it a single bucket.
  constexpr int64_t kSmallSidePx = 256;
  if (info.native_side_px < kSmallSidePx) return;
  std::set<int64_t> reported;
  for (const data::Dataset& dataset : datasets) {
    const data::BucketOptions& bucket = dataset.options.bucket;
    const bool is_odd = bucket.enable_bucket && bucket.bucket_reso_steps % info.bucket_step_px != 0;
    if (!is_odd || !reported.insert(bucket.bucket_reso_steps).second) continue;
    events.warning("bucket_reso_steps = " + std::to_string(bucket.bucket_reso_steps) + " is no multiple of " +
                   std::to_string(info.bucket_step_px) + ", which sd-scripts demands for the family " + info.family +
                   "; it is used as it is");
  }
}

}  // namespace cinnabar::train
