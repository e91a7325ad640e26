// cinnabar-embedded-model: makes the model that the program carries (docs/embedded_model.md).
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "commands.h"

namespace {

constexpr const char* kUsage =
    "usage: cinnabar-embedded-model decoder DATA OUT STEPS\n"
    "       cinnabar-embedded-model unet DATA DECODER OUT STEPS\n"
    "       cinnabar-embedded-model join DECODER UNET OUT\n";

int run(const std::vector<std::string>& words) {
  using namespace cinnabar::embedded;
  if (words.size() == 4 && words[0] == "decoder") return train_decoder(words[1], words[2], std::stoll(words[3]));
  if (words.size() == 5 && words[0] == "unet") return train_unet(words[1], words[2], words[3], std::stoll(words[4]));
  if (words.size() == 4 && words[0] == "join") return join(words[1], words[2], words[3]);
  std::fputs(kUsage, stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<size_t>(argc));
  try {
    return run({arguments.begin() + 1, arguments.end()});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
