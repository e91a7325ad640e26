#include "cinnabar/train/text_states.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include "cinnabar/base/sha256.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::train {

namespace {

constexpr const char* kVersion = "text-1";
constexpr size_t kFillBatch = 16;

// What is kept of the text side, and its names in caches.
constexpr std::array<std::pair<const char*, at::Tensor models::Conditioning::*>, 3> kMembers{
    {{"context", &models::Conditioning::context},
     {"pooled", &models::Conditioning::pooled},
     {"mask", &models::Conditioning::mask}}};

}  // namespace

TextStates::TextStates(models::DiffusionModel& model, const TextStatesOptions& options)
    : model_(model), options_(options), store_(options.is_trained ? "" : options.folder, "text") {}

std::string TextStates::key(const std::string& caption) const {
  return base::sha256_hex(
      std::string(kVersion) + "|" + options_.model_hash + "|" + std::to_string(options_.text.max_token_length) + "|" +
      std::to_string(options_.text.clip_skip) + (options_.text.is_weighted ? "|weighted|" : "|") + caption);
}

// On the CPU one by one: sums may differ in their last digits with the number of rows, and what is encoded together
// depends on what was known before, which a resumed run does not know.
void TextStates::store(const std::vector<std::string>& captions) {
  const at::NoGradGuard no_grad;
  if (options_.is_exact && captions.size() > 1) {
    for (const std::string& caption : captions) store({caption});
    return;
  }
  const auto conditioning = model_.encode_text(model_.tokenize(captions, options_.text), options_.text);
  for (size_t i = 0; i < captions.size(); ++i) {
    std::vector<at::Tensor> kept;
    data::CachedTensors entry;
    for (const auto& [name, member] : kMembers) {
      const at::Tensor& all = conditioning.*member;
      if (!all.defined()) continue;
      kept.push_back(all[static_cast<int64_t>(i)].to(at::kCPU).contiguous());
      entry[name] = tensor::view_of(kept.back());
    }
    store_.put(key(captions[i]), entry);
  }
}

void TextStates::put(const std::string& caption, const models::Conditioning& states) {
  CINNABAR_ASSERT(options_.folder.empty());
  std::vector<at::Tensor> kept;
  data::CachedTensors entry;
  for (const auto& [name, member] : kMembers) {
    if (!(states.*member).defined()) continue;
    kept.push_back((states.*member).to(at::kCPU).contiguous());
    entry[name] = tensor::view_of(kept.back());
  }
  store_.put(key(caption), entry);
}

void TextStates::fill(const std::vector<std::string>& captions, base::EventSink& events,
                      const std::function<bool()>& is_stopped) {
  std::vector<std::string> missing;
  for (const std::string& caption : std::set<std::string>(captions.begin(), captions.end())) {
    if (!store_.has(key(caption))) missing.push_back(caption);
  }
  for (size_t start = 0; start < missing.size() && !is_stopped(); start += kFillBatch) {
    const size_t end = std::min(missing.size(), start + kFillBatch);
    store({missing.begin() + static_cast<int64_t>(start), missing.begin() + static_cast<int64_t>(end)});
    events.progress(
        {.phase = "cache_text", .step = static_cast<int64_t>(end), .total = static_cast<int64_t>(missing.size())});
  }
  store_.flush();
}

models::Conditioning TextStates::of(const std::vector<std::string>& captions) {
  if (options_.is_trained) return model_.encode_text(model_.tokenize(captions, options_.text), options_.text);
  std::vector<std::string> missing;
  for (const std::string& caption : captions) {
    if (!store_.has(key(caption)) && std::find(missing.begin(), missing.end(), caption) == missing.end()) {
      missing.push_back(caption);
    }
  }
  if (!missing.empty() && store_.size() + missing.size() > options_.most_kept) {
    const at::NoGradGuard no_grad;
    if (!options_.is_exact || captions.size() == 1)
      return model_.encode_text(model_.tokenize(captions, options_.text), options_.text);
    std::vector<models::Conditioning> parts;
    for (const std::string& caption : captions) parts.push_back(of({caption}));
    models::Conditioning result;
    for (const auto& [name, member] : kMembers) {
      std::vector<at::Tensor> rows;
      for (const models::Conditioning& part : parts) {
        if ((part.*member).defined()) rows.push_back(part.*member);
      }
      if (rows.size() == captions.size()) result.*member = at::cat(rows);
    }
    return result;
  }
  if (!missing.empty()) store(missing);
  models::Conditioning result;
  for (const auto& [name, member] : kMembers) {
    std::vector<at::Tensor> rows;
    for (const std::string& caption : captions) {
      const data::CachedTensors entry = store_.get(key(caption));
      if (const auto found = entry.find(name); found != entry.end()) rows.push_back(tensor::copy(found->second));
    }
    if (rows.size() == captions.size()) result.*member = at::stack(rows);
  }
  return result;
}

}  // namespace cinnabar::train
