# Fetching wheels with pip. Nothing is installed into a Python environment: wheels are zip files to us.
# Python 3.11 is named because the wheel's own libraries do not depend on the Python of this machine.

# Sets the array pip to a command that works. Sets PIP_REQUIRE_VIRTUALENV, since downloading touches no environment.
find_pip() {
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then
      pip=(env PIP_REQUIRE_VIRTUALENV=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 "$python" -m pip)
      return
    fi
  done
  fail "no pip: 'python3 -m pip' does not work" "Install the package python3-pip, or put the wheels into $deps/wheels (see README.md)."
}

# source_options KIND ADDRESS: sets the array source_args. "pip" means: what pip is configured with.
source_options() {
  case $1 in
    index) source_args=(--index-url "$2") ;;
    links) source_args=(--no-index --find-links "$2") ;;
    pip) source_args=() ;;
  esac
}

# offered_versions PACKAGE: the versions that the source in source_args has, one a line. At most 20 s.
offered_versions() {
  timeout 20 "${pip[@]}" index versions "$1" --only-binary=:all: --python-version 3.11 --timeout 8 --retries 0 "${source_args[@]}" \
    2>>"$deps/pip.log" | sed -n 's/^Available versions: *//p' | tr -d ' ' | tr ',' '\n'
}

# download_wheel REQUIREMENT FOLDER [OPTION...]: one wheel into FOLDER, without what it depends on.
download_wheel() {
  local requirement=$1 folder=$2 show=(-q)
  shift 2
  [[ -t 2 ]] && show=()
  "${pip[@]}" download "${show[@]}" --no-cache-dir --only-binary=:all: --python-version 3.11 --timeout 20 --retries 2 \
    --dest "$folder" "${source_args[@]}" "$@" "$requirement" 2> >(tee -a "$deps/pip.log" | grep -E '^ERROR' >&2) >&2
}
