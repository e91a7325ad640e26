#include "cinnabar/nn/checkpointing.h"

#include <memory>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>
#include <ATen/ops/alias.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include "cinnabar/nn/dropout.h"

namespace cinnabar::nn {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What backward needs besides the inputs. A holder that libtorch's context can store.
struct Recipe : torch::CustomClassHolder {
  Segment segment;
  std::vector<bool> needs_gradient;
  std::shared_ptr<const DropoutKey> dropout_key;
  std::vector<std::vector<at::Tensor>> kept;  // of kept_or_computed, in the order of the calls
};

// What this thread does: nothing, the forward pass of a segment, or its recomputation.
struct Pass {
  Recipe* recipe = nullptr;
  bool is_recomputation = false;
  size_t next = 0;  // of `kept`
};

Pass& thread_pass() {
  static thread_local Pass pass;
  return pass;
}

class PassScope {
 public:
  PassScope(Recipe* recipe, bool is_recomputation)
      : before_(std::exchange(thread_pass(), {.recipe = recipe, .is_recomputation = is_recomputation})) {}
  ~PassScope() { thread_pass() = before_; }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  Pass before_;
};

constexpr const char* kRecipe = "recipe";

// The segment's inputs as leaves of a graph of its own.
variable_list leaves_of(const variable_list& inputs, const std::vector<bool>& needs_gradient) {
  variable_list leaves;
  for (size_t i = 0; i < inputs.size(); ++i) {
    leaves.push_back(inputs[i].detach().set_requires_grad(needs_gradient[i]));
  }
  return leaves;
}

struct CaughtGradient : torch::CustomClassHolder {
  at::Tensor value;
};

constexpr const char* kCaught = "caught";

// The same tensor; its gradient goes to `caught` as it is. A leaf's `.grad` would be brought to the leaf's strides, and
// a matrix product with other strides rounds otherwise.
class CatchGradient : public torch::autograd::Function<CatchGradient> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input,
                            const c10::intrusive_ptr<CaughtGradient>& caught) {
    context->saved_data[kCaught] = c10::IValue::make_capsule(caught);
    return at::alias(input);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto holder = context->saved_data[kCaught].toCapsule();
    static_cast<CaughtGradient&>(*holder).value = gradients[0];
    return variable_list(2);
  }
};

// Inputs of the node: the segment's inputs, then a scalar that always requires a gradient, so that the node is part of
// the graph even when only captured parameters are trained.
class Recompute : public torch::autograd::Function<Recompute> {
 public:
  static at::Tensor forward(AutogradContext* context, const c10::intrusive_ptr<Recipe>& recipe, at::TensorList inputs) {
    const variable_list own(inputs.begin(), inputs.end() - 1);
    for (const at::Tensor& input : own) recipe->needs_gradient.push_back(input.requires_grad());
    context->save_for_backward(own);
    context->saved_data[kRecipe] = c10::IValue::make_capsule(recipe);
    // With gradients, as in backward, since the library may take another kernel without them and the numbers must be
    // the same to the bit. The graph of this pass goes at once.
    const at::AutoGradMode with_gradients(true);
    const PassScope pass(recipe.get(), false);
    return recipe->segment(leaves_of(own, recipe->needs_gradient)).detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto holder = context->saved_data[kRecipe].toCapsule();
    auto& recipe = static_cast<Recipe&>(*holder);
    const variable_list saved = context->get_saved_variables();
    // One entry for the recipe, one an input, one for the scalar.
    variable_list result(saved.size() + 2);
    if (!gradients[0].defined()) return result;

    const at::AutoGradMode with_gradients(true);
    const DropoutScope scope(recipe.dropout_key);
    variable_list inputs = leaves_of(saved, recipe.needs_gradient);
    std::vector<c10::intrusive_ptr<CaughtGradient>> caught(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!recipe.needs_gradient[i]) continue;
      caught[i] = c10::make_intrusive<CaughtGradient>();
      inputs[i] = CatchGradient::apply(inputs[i], caught[i]);
    }
    const at::Tensor output = [&] {
      const PassScope pass(&recipe, true);
      return recipe.segment(inputs);
    }();
    if (!output.requires_grad()) return result;
    torch::autograd::backward({output}, {gradients[0]});
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (recipe.needs_gradient[i]) result[i + 1] = caught[i]->value;
    }
    return result;
  }
};

}  // namespace

std::vector<at::Tensor> kept_or_computed(c10::function_ref<std::vector<at::Tensor>()> compute) {
  const auto aliases = [](const std::vector<at::Tensor>& values) {
    std::vector<at::Tensor> result;  // without the graph that the caller gives its results
    for (const at::Tensor& value : values) result.push_back(value.detach());
    return result;
  };
  Pass& pass = thread_pass();
  if (pass.recipe == nullptr) return compute();
  if (pass.is_recomputation && pass.next < pass.recipe->kept.size()) return aliases(pass.recipe->kept[pass.next++]);
  std::vector<at::Tensor> values = compute();
  if (!pass.is_recomputation) pass.recipe->kept.push_back(aliases(values));
  return values;
}

bool is_recomputing() { return thread_pass().is_recomputation; }

at::Tensor run_segment(bool is_recomputed, const Segment& segment, const std::vector<at::Tensor>& inputs) {
  if (!at::GradMode::is_enabled()) return segment(inputs);
  if (!is_recomputed) {
    // A node of its own for each input: several uses inside are summed before they meet uses outside.
    std::vector<at::Tensor> aliases;
    for (const at::Tensor& input : inputs) aliases.push_back(input.requires_grad() ? at::alias(input) : input);
    return segment(aliases);
  }
  auto recipe = c10::make_intrusive<Recipe>();
  recipe->segment = segment;
  recipe->dropout_key = current_dropout_key();
  variable_list all(inputs.begin(), inputs.end());
  all.push_back(at::zeros({}).set_requires_grad(true));
  return Recompute::apply(recipe, at::TensorList(all));
}

}  // namespace cinnabar::nn
