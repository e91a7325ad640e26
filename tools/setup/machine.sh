# What GPU is in the machine, from the kernel's files alone: enough to choose a build before the program exists. Afterwards
# "cinnabar setup --dry_run" of the program tells more (docs/doctor.md).

# amd_chips: the architectures of AMD's GPUs that the compute driver shows, one a line; integrated ones with few units left out.
amd_chips() {
  local node gfx_number=0 simds=0 per_unit=0 key value
  for node in /sys/class/kfd/kfd/topology/nodes/*/properties; do
    [[ -r $node ]] || continue
    gfx_number=0 simds=0 per_unit=0
    while read -r key value; do
      case $key in
        gfx_target_version) gfx_number=$value ;;
        simd_count) simds=$value ;;
        simd_per_cu) per_unit=$value ;;
      esac
    done <"$node"
    (( gfx_number > 0 && per_unit > 0 && simds / per_unit >= 8 )) || continue
    printf 'gfx%d%x%x\n' $(( gfx_number / 10000 )) $(( gfx_number / 100 % 100 )) $(( gfx_number % 100 ))
  done
}

# chip_is_covered GFX: whether a public ROCm build has kernels for it.
chip_is_covered() {
  awk -v chip="$1" '$1 == "wheel" { for (i = 3; i <= NF; ++i) if ($i == chip) found = 1 } END { exit !found }' "$here/rocm_builds.txt"
}

# machine_build: sets build to what fits the GPU of this machine, and says why. The CPU build when a GPU could not be used.
machine_build() {
  local chip chips=''
  build=cpu
  if [[ -e /dev/nvidiactl || -e /dev/dxg && -x /usr/lib/wsl/lib/nvidia-smi ]]; then
    build=cuda
    note "An NVIDIA GPU is here: taking the CUDA build. Another: --use-cpu, --use-rocm."
    return
  fi
  for chip in $(amd_chips); do
    if chip_is_covered "$chip"; then
      if [[ -r /dev/kfd && -w /dev/kfd ]]; then
        build=rocm
        note "An AMD GPU ($chip) is here: taking the ROCm build. Another: --use-cpu."
      else
        note "An AMD GPU ($chip) is here, but this user may not open /dev/kfd: 'sudo usermod -aG render,video \$USER', log in"
        note "again, then './cinnabar setup --use-rocm'. The CPU build is taken for now."
      fi
      return
    fi
    chips+=" $chip"
  done
  [[ -z $chips ]] || note "No public ROCm build has kernels for$chips: taking the CPU build. './cinnabar doctor' says what can be done."
  return 0
}
