// The program `cinnabar`: command line, run records, importers. Links no libtorch; the engine is cinnabar-worker.
#include <ios>

#include "cinnabar/cli/command.h"

int main(int count, char** arguments) {
  std::ios::sync_with_stdio(false);
  return cinnabar::cli::run_program(std::vector<std::string>(arguments + 1, arguments + count));
}
