#include "cinnabar/schema/secrets.h"

#include <doctest/doctest.h>

#include "cinnabar/schema/problem.h"

namespace cinnabar::schema {

TEST_CASE("options_that_hold_secrets_are_known_by_their_names") {
  for (const char* name : {"huggingface_token", "huggingface-token", "WANDB_API_KEY", "wandb_api_key", "hf_token"})
    CHECK_MESSAGE(is_secret_option(name), name);
  for (const char* name : {"num_vectors_per_token", "class_token", "keep_tokens", "max_token_length", "seed"})
    CHECK_MESSAGE(!is_secret_option(name), name);
}

TEST_CASE("values_behind_secret_names_are_hidden_in_any_text") {
  CHECK(without_secrets("--huggingface_token hf_x --seed 3") == "--huggingface_token [hidden] --seed 3");
  CHECK(without_secrets("--wandb-api-key=x,y") == "--wandb-api-key=[hidden],y");
  CHECK(without_secrets("huggingface_token = \"hf x\"\nseed = 3") == "huggingface_token = [hidden]\nseed = 3");
  CHECK(without_secrets("{\"wandb_api_key\": \"x\", \"a\": 1}") == "{\"wandb_api_key\": [hidden], \"a\": 1}");
  CHECK(without_secrets("a token is a word") == "a token is a word");
  CHECK(without_secrets("--huggingface_token") == "--huggingface_token");
}

TEST_CASE("problems_do_not_repeat_secrets") {
  CHECK(to_string({"command line", "wandb_api_key", "abc", "not supported"}) ==
        "command line: wandb_api_key = [hidden]: not supported");
  const std::string text = to_string({"a.json", "additional_parameters", "--hf_token abc", "unknown option"});
  CHECK(text.find("abc") == std::string::npos);
}

}  // namespace cinnabar::schema
