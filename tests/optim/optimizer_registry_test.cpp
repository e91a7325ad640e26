#include <doctest/doctest.h>

#include <ATen/ATen.h>

#include <filesystem>
#include <set>

#include "cinnabar/optim/entry.h"
#include "cinnabar/optim/optimizer.h"

namespace cinnabar::optim {

TEST_CASE("every optimizer is described, has a page, trains with defaults and saves its state") {
  CHECK((entries().names() == factories().names()));
  for (const std::string& name : entries().names()) {
    CAPTURE(name);
    const Entry& entry = entries().at(name);
    CHECK(entry_name(entry.label) == name);
    CHECK_FALSE(entry.help.empty());
    CHECK_FALSE(entry.reference_class.empty());
    CHECK(std::filesystem::exists(std::filesystem::path(CINNABAR_TESTS_DIR) / "../docs/optim" / (name + ".md")));

    at::Tensor weight = at::full({20}, 1.0);
    at::Tensor other = at::full({2, 2}, 1.0);
    FlatParameters flat;
    flat.add_group("unet", 0.1, {{"weight", weight}});
    flat.add_group("text_encoder", 0.0, {{"other", other}});
    const auto optimizer = make_optimizer(name, {}, flat);
    const std::vector<double> rates{0.1, 0.0};
    for (int step = 0; step < 20; ++step) {
      flat.zero_gradients();
      ((weight * weight).sum() + other.sum()).backward();
      optimizer->step(rates);
    }
    CHECK(weight.detach().abs().max().item<double>() < 0.7);  // towards the minimum at 0
    CHECK(at::equal(other.detach(), at::full({2, 2}, 1.0)));  // rate 0

    std::set<std::string> names;
    for (const auto& [state_name, tensor] : optimizer->state()) names.insert(state_name);
    CHECK(names.size() == optimizer->state().size());
    CHECK(optimizer->state()[0].second.is_same(optimizer->state()[0].second));
    restore_state(*optimizer, optimizer->state());
  }
}

}  // namespace cinnabar::optim
