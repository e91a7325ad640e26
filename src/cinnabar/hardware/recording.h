// Machines as files: one folder a machine, with machine.json (environment, user's groups, device nodes, commands,
// libtorch), the outputs of commands, and root/ (the files that detection reads). What --record writes, --simulate
// reads.
#pragma once

#include <filesystem>

#include "cinnabar/hardware/machine.h"
#include "cinnabar/hardware/sources.h"

namespace cinnabar::hardware {

// Throws Error{Io, Format} that names the file and what is wrong with it.
Sources load_recording(const std::filesystem::path& folder);

// Writes what detect(sources) read, and the report as expected.json. Nothing in it says whose machine it was: no serial
// number, no name of user or host, no path. `folder` must be absent or empty. Throws Error{Usage, Io}.
void save_recording(const Sources& sources, const Machine& machine, const std::filesystem::path& folder);

}  // namespace cinnabar::hardware
