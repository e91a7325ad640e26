#include "cinnabar/train/text_states.h"

#include <algorithm>
#include <set>

#include <ATen/ATen.h>

#include "cinnabar/base/sha256.h"
#include "cinnabar/tensor/convert.h"

namespace cinnabar::train {

namespace {

constexpr const char* kVersion = "text-1";
constexpr size_t kFillBatch = 16;

}  // namespace

TextStates::TextStates(models::DiffusionModel& model, const TextStatesOptions& options)
    : model_(model), options_(options), store_(options.is_trained ? "" : options.folder, "text") {}

std::string TextStates::key(const std::string& caption) const {
  return base::sha256_hex(std::string(kVersion) + "|" + options_.model_hash + "|" +
                          std::to_string(options_.text.max_token_length) + "|" +
                          std::to_string(options_.text.clip_skip) + "|" + caption);
}

at::Tensor TextStates::stored(const std::string& caption) const {
  return tensor::copy(store_.get(key(caption)).at("context"));
}

void TextStates::store(const std::vector<std::string>& captions) {
  const at::NoGradGuard no_grad;
  const auto conditioning = model_.encode_text(model_.tokenize(captions, options_.text), options_.text);
  const at::Tensor context = conditioning.context.to(at::kCPU).contiguous();
  for (size_t i = 0; i < captions.size(); ++i) {
    const at::Tensor one = context[static_cast<int64_t>(i)].contiguous();
    store_.put(key(captions[i]), {{"context", tensor::view_of(one)}});
  }
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
  if (store_.size() + missing.size() > options_.most_kept) {
    const at::NoGradGuard no_grad;
    return model_.encode_text(model_.tokenize(captions, options_.text), options_.text);
  }
  if (!missing.empty()) store(missing);
  std::vector<at::Tensor> rows;
  for (const std::string& caption : captions) rows.push_back(stored(caption));
  models::Conditioning result;
  result.context = at::stack(rows);
  return result;
}

}  // namespace cinnabar::train
