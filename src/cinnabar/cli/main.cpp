// The program `cinnabar`: command line, run records, importers. Links no libtorch; the engine is cinnabar-worker.
#include <signal.h>

#include <ios>

#include "cinnabar/cli/command.h"

int main(int count, char** arguments) {
  // A file over the limit of sizes (ulimit -f) is a failed write like one on a full disk, not the end.
  ::signal(SIGXFSZ, SIG_IGN);
  std::ios::sync_with_stdio(false);
  return cinnabar::cli::run_program(std::vector<std::string>(arguments + 1, arguments + count));
}
