// The one place for devices, and the parts that must not care where they run, on a fake accelerator.
#include "cinnabar/tensor/accelerator.h"

#include <vector>

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "cinnabar/base/error.h"
#include "cinnabar/nn/chunked_attention.h"
#include "cinnabar/optim/optimizer.h"
#include "cinnabar/tensor/device.h"
#include "tensor/fake_accelerator.h"

namespace cinnabar::tensor {

namespace {

struct Fake {
  Fake() {
    test::register_fake_accelerator();
    test::reset_fake_counts();
    test::set_fake_stream(0);
  }
  at::Device device = test::fake_device();
};

TEST_CASE("words of the option device name accelerators by number") {
  const Fake fake;
  CHECK(accelerator_count() == 2);
  CHECK((device_from("gpu") == fake.device));
  CHECK((device_from("auto") == fake.device));
  CHECK((device_from("gpu:1") == test::fake_device(1)));
  CHECK((device_from("cpu") == at::Device(at::kCPU)));
  CHECK_THROWS_WITH_AS(device_from("gpu:2"), doctest::Contains("there are 2, counted from 0"), base::Error);
}

TEST_CASE("copies to a device go through pinned memory, on the current stream, without waiting") {
  const Fake fake;
  const at::Tensor x = at::arange(6, at::kFloat).view({2, 3});
  test::set_fake_stream(7);
  const at::Tensor there = to_device(x, fake.device);
  REQUIRE(test::fake_counts().copies.size() == 1);
  CHECK(test::fake_counts().copies[0].is_pinned);
  CHECK(test::fake_counts().copies[0].is_non_blocking);
  CHECK(test::fake_counts().copies[0].stream == 7);
  CHECK((there.device() == fake.device));
  CHECK(at::equal(there.to(at::kCPU), x));
  // What is there is not copied again.
  CHECK(to_device(there, fake.device).is_same(there));
  CHECK(at::equal(to_device(there, at::kCPU), x));
  CHECK(test::fake_counts().copies.size() == 1);
  CHECK(to_device(x, at::kCPU).is_same(x));
}

TEST_CASE("memory of a device is told, and nothing of the processors") {
  const Fake fake;
  reset_peak_memory(fake.device);
  const int64_t before = device_memory(fake.device)->used_bytes;
  {
    const at::Tensor x = at::zeros({1024}, at::TensorOptions().device(fake.device));
    const auto memory = device_memory(fake.device);
    REQUIRE(memory.has_value());
    CHECK(memory->used_bytes - before == 4096);
    CHECK(memory->reserved_bytes >= memory->used_bytes);
    CHECK(used_memory(fake.device) == memory->used_bytes);
  }
  CHECK(device_memory(fake.device)->used_bytes == before);
  CHECK(device_memory(fake.device)->peak_bytes - before >= 4096);
  reset_peak_memory(fake.device);
  CHECK(device_memory(fake.device)->peak_bytes == before);
  CHECK_FALSE(device_memory(at::kCPU).has_value());
  CHECK_FALSE(used_memory(at::kCPU).has_value());
}

TEST_CASE("waiting and giving memory back reach the device, and leave the processor alone") {
  const Fake fake;
  synchronize(at::kCPU);
  release_cached_memory(at::kCPU);
  reset_peak_memory(at::kCPU);
  CHECK(test::fake_counts().synchronizations == 0);
  CHECK(test::fake_counts().cache_releases == 0);
  synchronize(fake.device);
  release_cached_memory(fake.device);
  CHECK(test::fake_counts().synchronizations == 1);
  CHECK(test::fake_counts().cache_releases == 1);
}

TEST_CASE("attention in pieces runs on any device and reads no number back from it") {
  const Fake fake;
  const auto values = [](int64_t tokens, double step) {
    return at::sin(at::arange(2 * tokens * 8, at::kFloat) * step).view({1, 2, tokens, 8});
  };
  const std::vector<at::Tensor> host = {values(70, 0.7), values(150, 1.1), values(150, 1.3)};
  const auto run = [&](at::Device device) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& x : host)
      leaves.push_back(x.detach().to(device, at::kFloat, false, true).set_requires_grad(true));
    test::reset_fake_counts();
    const at::Tensor y =
        nn::chunked_attention(leaves[0], leaves[1], leaves[2], {.is_causal = true, .piece_bytes = 1024});
    y.backward(at::ones_like(y));
    CHECK(test::fake_counts().host_reads == 0);
    return std::vector<at::Tensor>{y.detach().to(at::kCPU), leaves[0].grad().to(at::kCPU),
                                   leaves[2].grad().to(at::kCPU)};
  };
  const auto expected = run(at::kCPU);
  const auto found = run(fake.device);
  for (size_t i = 0; i < expected.size(); ++i) CHECK((found[i] - expected[i]).abs().max().item<double>() < 1e-6);
}

TEST_CASE("parameters and optimizer live on the device of their layers") {
  const Fake fake;
  const auto trained = [](at::Device device) {
    at::Tensor weight = at::linspace(-1.0, 1.0, 64).to(device);
    optim::FlatParameters flat;
    flat.add_group("all", 0.1, {{"weight", weight}});
    const auto optimizer = optim::make_optimizer("AdamW", {}, flat);
    for (int step = 0; step < 3; ++step) {
      flat.zero_gradients();
      (weight * weight).sum().backward();
      flat.clip_gradients(1.0);
      optimizer->step(std::vector<double>{0.1});
    }
    CHECK((weight.device() == device));
    for (const auto& [name, state] : optimizer->state()) {
      CAPTURE(name);
      if (state.numel() > 1) CHECK((state.device() == device));
    }
    return weight.detach().to(at::kCPU);
  };
  // The processor's step is a kernel of our own, the device's the formula in operators: the last digits differ.
  CHECK((trained(fake.device) - trained(at::kCPU)).abs().max().item<double>() < 1e-5);
}

TEST_CASE("a tensor on the wrong device is an error, as on a GPU") {
  const Fake fake;
  const at::Tensor there = at::ones({2, 2}, at::TensorOptions().device(fake.device));
  CHECK_THROWS(at::matmul(there, at::ones({2, 2})));
}

}  // namespace

}  // namespace cinnabar::tensor
