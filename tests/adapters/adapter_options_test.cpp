#include "cinnabar/adapters/adapter_options.h"

#include <doctest/doctest.h>

#include "cinnabar/adapters/registry.h"
#include "cinnabar/base/error.h"

using cinnabar::adapters::adapter_options;
using cinnabar::adapters::AdapterOptions;
using cinnabar::schema::Values;

TEST_CASE("unset_options_are_those_of_the_reference_tool") {
  const AdapterOptions options = adapter_options(Values{});
  CHECK(options.network_dim == 4);
  CHECK(options.network_alpha.value == 1.0);
  CHECK(options.network_alpha.is_whole);
  CHECK_FALSE(options.conv_dim);
  CHECK(options.train_unet);
  CHECK(options.train_text_encoder);
}

TEST_CASE("reads_network_args_over_the_options_of_the_same_name") {
  Values values;
  values.set("network_dim", int64_t{16});
  values.set("network_alpha", 8.0);
  values.set("conv_dim", int64_t{2});
  values.set("rank_dropout", 0.1);
  values.set("network_args", std::vector<std::string>{"conv_dim=8", "conv_alpha=4", "loraplus_lr_ratio=16"});
  values.set("network_train_unet_only", true);
  const AdapterOptions options = adapter_options(values);
  CHECK(options.network_dim == 16);
  CHECK(options.network_alpha.value == 8.0);
  CHECK_FALSE(options.network_alpha.is_whole);
  CHECK(*options.conv_dim == 8);
  CHECK(options.conv_alpha.value == 4.0);
  CHECK_FALSE(options.conv_alpha.is_whole);
  CHECK(options.rank_dropout == 0.1);
  CHECK(*options.loraplus_lr_ratio == 16.0);
  CHECK_FALSE(options.train_text_encoder);
}

TEST_CASE("network_args_give_dropout_and_blocks") {
  Values values;
  values.set("network_dropout", 0.1);
  values.set("network_args", std::vector<std::string>{"dropout=0.3", "block_alphas=1,2", "down_lr_weight=sine"});
  const AdapterOptions options = adapter_options(values);
  CHECK(options.network_dropout == 0.3);
  CHECK(options.blocks.alphas == std::vector<double>{1.0, 2.0});
  CHECK(options.blocks.down->curve == "sine");
  CHECK(options.notes.empty());
}

TEST_CASE("block_arguments_that_do_nothing_are_noted") {
  Values values;
  values.set("network_args", std::vector<std::string>{"conv_block_dims=1,2", "block_lr_zero_threshold=0.1"});
  const AdapterOptions options = adapter_options(values);
  REQUIRE(options.notes.size() == 2);
  CHECK(options.notes[0].starts_with("conv_block_dims in network_args: no effect"));
  CHECK(options.notes[1].starts_with("block_lr_zero_threshold"));
}

TEST_CASE("ranks_from_a_file_leave_only_the_rates_of_blocks") {
  Values values;
  values.set("dim_from_weights", true);
  values.set("network_dropout", 0.1);
  values.set("network_args",
             std::vector<std::string>{"conv_dim=8", "loraplus_lr_ratio=4", "block_dims=1,2", "mid_lr_weight=0.5"});
  const AdapterOptions options = adapter_options(values);
  CHECK_FALSE(options.conv_dim);
  CHECK_FALSE(options.loraplus_lr_ratio);
  CHECK(options.network_dropout == 0.0);
  CHECK(options.blocks.dims.empty());
  CHECK(options.blocks.mid);
  REQUIRE(options.notes.size() == 1);
  for (const char* name : {"conv_dim", "loraplus_lr_ratio", "block_dims", "network_dropout"})
    CHECK_MESSAGE(options.notes[0].find(name) != std::string::npos, name);
  CHECK(options.notes[0].find("mid_lr_weight") == std::string::npos);
}

TEST_CASE("refuses_unknown_network_args_with_the_nearest_name") {
  Values values;
  values.set("network_args", std::vector<std::string>{"conv_dims=8"});
  CHECK_THROWS_WITH_AS(adapter_options(values), doctest::Contains("conv_dim"), cinnabar::base::Error);
}

TEST_CASE("refuses_to_train_nothing") {
  Values values;
  values.set("network_train_unet_only", true);
  values.set("network_train_text_encoder_only", true);
  CHECK_THROWS_AS(adapter_options(values), cinnabar::base::Error);
}

TEST_CASE("every_kind_describes_its_options") {
  for (const std::string& name : cinnabar::adapters::adapter_descriptions().names()) {
    const auto& description = cinnabar::adapters::adapter_descriptions().at(name);
    CHECK_FALSE(description.help.empty());
    for (const auto& option : description.options) {
      CHECK_FALSE(option.label.empty());
      CHECK_FALSE(option.help.empty());
      CHECK_FALSE(option.group.empty());
    }
  }
}
