#include "cinnabar/hardware/detect.h"

#include "cinnabar/hardware/access.h"
#include "cinnabar/hardware/advice.h"
#include "cinnabar/hardware/join.h"
#include "cinnabar/hardware/platform.h"
#include "cinnabar/hardware/rules.h"

namespace cinnabar::hardware {

Machine detect(const Sources& sources) {
  const Readings readings{.rocminfo = parse_rocminfo(sources.run(command_line::kRocminfo)),
                          .amd_smi = read_amd_smi(sources),
                          .rocm_smi = read_rocm_smi(sources),
                          .nvidia_smi = read_nvidia_smi(sources)};
  Machine machine;
  machine.case_name = sources.case_name;
  machine.platform = read_platform(sources, readings.amd_smi);
  machine.host = read_host(sources.files);
  machine.libtorch = sources.libtorch;
  machine.environment = sources.environment;
  machine.pending_groups = sources.user.pending_groups;
  machine.gpus = join_gpus(sources, readings);
  decide_access(machine, sources, readings);
  machine.warnings = find_warnings(machine, sources, readings);
  machine.recommendation = recommend(machine);
  return machine;
}

}  // namespace cinnabar::hardware
