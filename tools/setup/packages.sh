# Packages of the distribution: what is missing, and its installation.

# wanted_packages NEED...: the rows of packages.txt with one of these needs, one "A/B" a line.
wanted_packages() {
  local needs=" $* " name need rest
  while IFS='|' read -r name need rest; do
    name=${name//[[:space:]]/} need=${need//[[:space:]]/}
    [[ -z $name || $name == \#* ]] && continue
    [[ $needs == *" $need "* ]] && echo "$name"
  done <"$here/packages.txt"
  return 0
}

# missing_packages NEED...: those of them of which no alternative is installed.
missing_packages() {
  local installed row
  installed=" $(dpkg-query -W -f='${db:Status-Abbrev} ${Package}\n' | awk '$1 == "ii" {printf "%s ", $2}')"
  while read -r row; do
    local name is_there=
    for name in ${row//\// }; do [[ $installed == *" $name "* ]] && is_there=1; done
    [[ -n $is_there ]] || echo "$row"
  done < <(wanted_packages "$@")
}

# The first alternative that the distribution has.
available_package() {
  local name
  for name in ${1//\// }; do
    if apt-cache show "$name" >/dev/null 2>&1; then echo "$name"; return; fi
  done
  echo "${1%%/*}"
}

as_root() {
  if (( EUID == 0 )); then "$@"; else sudo "$@"; fi
}

# install_packages NEED...
install_packages() {
  if [[ -n ${CINNABAR_SKIP_PACKAGES:-} ]]; then
    step "packages: not looked at (CINNABAR_SKIP_PACKAGES is set)"
    return
  fi
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    fail "this system has no apt: set-up knows Debian 12 and 13 and Ubuntu" \
      "Install what tools/setup/packages.txt names by your own means, then set CINNABAR_SKIP_PACKAGES=1 and start again."
  fi
  local missing=()
  mapfile -t missing < <(missing_packages "$@")
  if (( ${#missing[@]} == 0 )); then
    step "packages: all present"
    return
  fi
  if [[ -n $dry_run ]]; then
    step "packages: would install ${missing[*]}"
    return
  fi
  if (( EUID != 0 )) && ! command -v sudo >/dev/null; then
    fail "these packages are missing, and there is no sudo to install them: ${missing[*]//\/*/}" \
      "As root: apt-get install --no-install-recommends ${missing[*]//\/*/}"
  fi
  step "packages: installing ${#missing[@]} (about two minutes): ${missing[*]}"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=120)
  as_root "${apt[@]}" update >&2 ||
    fail "apt-get update failed" "See the messages above. Without a network, install these yourself: ${missing[*]//\/*/}"
  local names=() row
  for row in "${missing[@]}"; do names+=("$(available_package "$row")"); done
  as_root "${apt[@]}" -o Dpkg::Use-Pty=0 install -y --no-install-recommends "${names[@]}" >>"$deps/packages.log" 2>&1 || {
    tail -n 15 "$deps/packages.log" >&2
    fail "the packages could not be installed" "The whole output is in $deps/packages.log" \
      "By hand: apt-get install --no-install-recommends ${names[*]}"
  }
}
