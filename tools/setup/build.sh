# Configuring and building, and the stamp by which the launcher knows that everything is there.

# A heavy source file takes about 1.5 GiB, so no more jobs than memory allows; a container's limit counts too.
job_count() {
  local cores free_kib limit used jobs
  cores=$(nproc)
  free_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  if [[ -r /sys/fs/cgroup/memory.max ]]; then
    read -r limit </sys/fs/cgroup/memory.max
    read -r used </sys/fs/cgroup/memory.current
    if [[ $limit != max ]] && (( (limit - used) / 1024 < free_kib )); then free_kib=$(( (limit - used) / 1024 )); fi
  fi
  jobs=$(( free_kib / (1536 * 1024) ))
  (( jobs < 1 )) && jobs=1
  (( jobs > cores )) && jobs=$cores
  echo "$jobs"
}

# build_tree PRESET [TARGET...]: configures when needed, then builds the targets, or everything.
build_tree() {
  local preset=$1 tree=$root/build/$1 jobs targets=()
  shift
  (( $# > 0 )) && targets=(--target "$@")
  jobs=$(job_count)
  if [[ -n $dry_run ]]; then
    step "build: would configure and build build/$preset with $jobs jobs"
    return
  fi
  need_space "$root" 4 "the build"
  mkdir -p "$root/build"
  if [[ -e $tree/CMakeCache.txt ]] && ! grep -q -x -F "CMAKE_HOME_DIRECTORY:INTERNAL=$(cd "$root" && pwd -P)" "$tree/CMakeCache.txt"; then
    step "build: the checkout was moved; building anew"
    rm -rf "$tree/CMakeCache.txt" "$tree/CMakeFiles" "$tree/build.ninja"
  fi
  if [[ ! -e $tree/build.ninja ]] || ! grep -q -x -F "CINNABAR_TORCH:PATH=$torch_dir" "$tree/CMakeCache.txt"; then
    step "build: configuring build/$preset"
    ( cd "$root" && cmake --preset "$preset" -DCINNABAR_TORCH="$torch_dir" ) >"$root/build/configure.log" 2>&1 || {
      tail -n 25 "$root/build/configure.log" >&2
      fail "the build could not be configured" "The whole output is in $root/build/configure.log"
    }
  fi
  local hint=''
  [[ -e $tree/bin/cinnabar ]] || hint=' (a first build takes 5 to 15 minutes on two cores)'
  step "build: compiling with $jobs jobs$hint"
  cmake --build "$tree" --parallel "$jobs" "${targets[@]}" >&2 ||
    fail "the build failed" "The first message above that says 'error' names the cause. './cinnabar build' goes on from here."
}

# The commit of the checkout, or "none" where there is no git.
checkout_commit() {
  git -C "$root" rev-parse HEAD 2>/dev/null || echo none
}

write_stamp() {
  checkout_commit >"$root/build/release/.built"
}
