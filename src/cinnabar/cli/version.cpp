#include <iostream>

#include "cinnabar/cli/command.h"
#include "cinnabar/cli/version_text.h"

namespace cinnabar::cli {

CINNABAR_REGISTER_COMMAND(version, {.help = "Says which version, libtorch and build this is.",
                                    .usage = "",
                                    .order = 92,
                                    .run = [](const std::vector<std::string>&) {
                                      std::cout << version_text();
                                      return 0;
                                    }});

}  // namespace cinnabar::cli
