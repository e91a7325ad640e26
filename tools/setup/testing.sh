# Builds everything and runs every test.

# run_tests PRESET [CTEST OPTION...]: ctest's closing lines come last. 1 when anything failed.
run_tests() {
  local preset=$1 tree=$root/build/$1 goldens failed=0
  shift
  build_tree "$preset"
  if [[ $preset == release ]]; then write_stamp; fi
  for goldens in "$root/tests/parity/goldens" ${CINNABAR_GOLDENS:+"$CINNABAR_GOLDENS"}; do
    [[ -d $goldens ]] || { note "no folder $goldens: nothing to compare"; continue; }
    step "comparing with the reference numbers in $goldens"
    "$tree/bin/cinnabar-parity" "$goldens" || failed=1
  done
  step "running the tests"
  export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}  # several tests at once: waiting threads must not spin
  ctest --test-dir "$tree" --output-on-failure --parallel "$(nproc)" "$@" || failed=1
  return "$failed"
}
