# Builds everything and runs every test.

# run_tests PRESET [CTEST OPTION...]: ctest's closing lines come last. 1 when anything failed.
run_tests() {
  local preset=$1 tree=$root/build/$1 failed=0
  shift
  build_tree "$preset"
  if [[ $preset == release ]]; then write_stamp; fi
  # The repository's own reference numbers are one of ctest's tests; others are compared here.
  if [[ -n ${CINNABAR_GOLDENS:-} ]]; then
    step "comparing with the reference numbers in $CINNABAR_GOLDENS"
    "$tree/bin/cinnabar-parity" "$CINNABAR_GOLDENS" || failed=1
  fi
  step "running the tests"
  export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}  # several tests at once: waiting threads must not spin
  ctest --test-dir "$tree" --output-on-failure --parallel "$(nproc)" "$@" || failed=1
  return "$failed"
}
