# What set-up tells the user. Everything goes to the error stream, so that the output of the program itself stays clean.

step() { printf 'cinnabar: %s\n' "$*" >&2; }
note() { printf '          %s\n' "$*" >&2; }

# fail WHAT [HINT...]: the problem on the first line, ways out below it.
fail() {
  printf 'cinnabar: %s\n' "$1" >&2
  shift
  local hint
  for hint in "$@"; do note "$hint"; done
  exit 1
}

# need_space FOLDER GIB WHAT: fails before a step that would fill the disk.
need_space() {
  local free_kib
  free_kib=$(df -Pk "$1" | awk 'NR == 2 {print $4}')
  if (( free_kib < $2 * 1024 * 1024 )); then
    fail "$3 needs about $2 GiB in $1, and $(( free_kib / 1024 / 1024 )) GiB are free" "Free some space, or move the checkout to a larger disk."
  fi
}
