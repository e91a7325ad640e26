#include "cinnabar/models/sd/clip_captions.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/models/sd/clip_states.h"

namespace cinnabar::models::sd {

TEST_CASE("captions weigh words only when asked to") {
  const ClipRows plain = caption_rows({"a (red:1.5) fox"}, {}, text::Padding::EndToken);
  CHECK_FALSE(plain.weights.defined());
  const ClipRows weighted = caption_rows({"a (red:1.5) fox", "a cat"}, {.is_weighted = true}, text::Padding::EndToken);
  CHECK(weighted.ids.sizes() == at::IntArrayRef({2, 1, 77}));
  REQUIRE(weighted.weights.defined());
  CHECK(weighted.weights[0][0][2].item<float>() == 1.5F);
  CHECK(weighted.weights[0][0][1].item<float>() == 1.0F);
  CHECK(weighted.weights[1].eq(1.0).all().item<bool>());
  CHECK(at::equal(weighted.ids[1], caption_rows({"a cat"}, {}, text::Padding::EndToken).ids[0]));
  CHECK_FALSE(caption_rows({"a cat"}, {.is_weighted = true}, text::Padding::EndToken).weights.defined());
}

TEST_CASE("captions with weights that cannot be read count without them") {
  const std::string odd = "((((((((((((((((((cat))))))))))))))))))";
  const ClipRows weighted = caption_rows({odd}, {.is_weighted = true}, text::Padding::EndToken);
  CHECK_FALSE(weighted.weights.defined());
  CHECK(at::equal(weighted.ids, caption_rows({odd}, {}, text::Padding::EndToken).ids));
  CHECK_THROWS_AS(prompt_rows({odd}, {}, text::Padding::EndToken), base::Error);
}

TEST_CASE("longer captions take more rows, padded as the encoder wants it") {
  const TextOptions options{.max_token_length = 225};
  const ClipRows rows = caption_rows({"a cat"}, options, text::Padding::Zero);
  CHECK(rows.ids.sizes() == at::IntArrayRef({1, 3, 77}));
  CHECK(rows.ids[0][0][10].item<int64_t>() == 0);
  CHECK(rows.ids[0][2][1].item<int64_t>() == 49407);  // a row of padding starts with the end token
  CHECK(caption_rows({"a cat"}, options, text::Padding::EndToken).ids[0][0][10].item<int64_t>() == 49407);
}

TEST_CASE("the layer in an adapter's name") {
  CHECK(text_layer_of("lora_te1_text_model_encoder_layers_11_mlp_fc1") == 11);
  CHECK(text_layer_of("lora_unet_out") == -1);
}

TEST_CASE("a small vocabulary cannot take captions") {
  CHECK_THROWS_WITH_AS(require_clip_vocabulary(1000), doctest::Contains("knows 1000 tokens"), base::Error);
  require_clip_vocabulary(49408);
}

}  // namespace cinnabar::models::sd
