# libtorch: taken out of the torch wheel into .deps/libtorch-VERSION-BUILD/, complete or not at all.

torch_version=2.13.0

# torch_of_folder DIR: the version that a libtorch folder says it is ("2.13.0+cpu"), or nothing.
torch_of_folder() {
  local file
  for file in "$1/version.py" "$1/build-version"; do
    [[ -r $file ]] && sed -n "s/^__version__ *= *'\(.*\)'.*/\1/p; s/^\([0-9][0-9.]*[0-9+a-z.]*\)$/\1/p" "$file" | head -n 1 && return
  done
  return 0
}

# check_own_torch DIR: a folder that the user names must hold libraries, headers and a version that the code compiles with.
check_own_torch() {
  local file version
  for file in lib/libtorch_cpu.so lib/libc10.so include/ATen/ATen.h; do
    [[ -e $1/$file ]] || fail "CINNABAR_TORCH=$1: no $file in it" "Expected a libtorch folder with lib/ and include/, version 2.11 to 2.14."
  done
  version=$(torch_of_folder "$1")
  case $version in
    2.11.* | 2.12.* | 2.13.* | 2.14.*) step "libtorch: $version in $1 (CINNABAR_TORCH)" ;;
    '') step "libtorch: $1 (CINNABAR_TORCH; it does not say its version)" ;;
    *) fail "CINNABAR_TORCH=$1: libtorch $version; this program needs 2.11 to 2.14" ;;
  esac
}

# unpacked_torch BUILD: the folder of that build under .deps, or nothing.
unpacked_torch() {
  local dir
  for dir in "$deps/libtorch-$torch_version-$(wheel_tag "$1")"*; do
    [[ -e $dir/lib/libtorch_cpu.so ]] && echo "$dir" && return
  done
  return 0
}

# How the local part of a wheel's version begins for a build.
wheel_tag() {
  case $1 in cuda) echo cu1 ;; *) echo "$1" ;; esac
}

# check_wheel FILE PATTERN: both the file name and the version inside must be what was asked for. Says why not.
check_wheel() {
  local name=${1##*/} inside
  # shellcheck disable=SC2254  # the pattern is meant as one
  case $name in torch-$2-*.whl) ;; *) echo "its name is not torch-$2-*.whl"; return 1 ;; esac
  inside=$(unzip -p "$1" torch/version.py 2>/dev/null | sed -n "s/^__version__ *= *'\(.*\)'.*/\1/p")
  # shellcheck disable=SC2254
  case $inside in $2) ;; *) echo "it says inside that it is version '${inside:-unknown}'"; return 1 ;; esac
  case $name in *"$(uname -m)".whl) ;; *) echo "it is not for $(uname -m)"; return 1 ;; esac
}

# torch_sources BUILD: lines "PATTERN KIND ADDRESS".
torch_sources() {
  local build pattern kind address
  if [[ -n ${CINNABAR_TORCH_INDEX:-} ]]; then
    pattern=$(awk -v b="$1" '$1 == b {print $2; exit}' "$here/torch_indexes.txt")
    kind=index
    [[ -d $CINNABAR_TORCH_INDEX || $CINNABAR_TORCH_INDEX == *.html ]] && kind=links
    echo "$pattern $kind $CINNABAR_TORCH_INDEX"
    return
  fi
  while read -r build pattern kind address; do
    [[ $build == "$1" ]] && echo "$pattern $kind $address"
  done <"$here/torch_indexes.txt"
  return 0
}

# find_wheel BUILD: sets wheel. First what the user or an interrupted run left, then the indexes in their order.
find_wheel() {
  local pattern kind address file version why label tried=()
  wheel=
  pattern=$(torch_sources "$1" | awk 'NR == 1 {print $1}')
  for file in "$deps"/wheels/torch-*.whl "$deps"/download/torch-*.whl; do
    [[ -e $file ]] || continue
    if why=$(check_wheel "$file" "$pattern"); then
      note "using $file"
      wheel=$file
      return
    fi
    note "not used: $file: $why"
  done
  find_pip
  mkdir -p "$deps/download"
  while read -r pattern kind address; do
    source_options "$kind" "$address"
    label=${address:-what pip is configured with}
    version=$(offered_versions torch | while read -r v; do [[ $v == $pattern ]] && echo "$v" && break; done) || true
    if [[ -z $version ]]; then
      note "$label: no torch $pattern there, or not reachable"
      tried+=("$label")
      continue
    fi
    note "$label: fetching torch $version"
    if download_wheel "torch==$version" "$deps/download" --no-deps; then
      for file in "$deps"/download/torch-*.whl; do
        if why=$(check_wheel "$file" "$pattern"); then wheel=$file; return; fi
        rm -f "$file"
        note "refused ${file##*/}: $why"
      done
    fi
    tried+=("$label")
  done < <(torch_sources "$1")
  fail "libtorch $torch_version ($1 build) could not be fetched from: $(IFS=';'; echo "${tried[*]}" | sed 's/;/, /g')" \
    "The messages of pip are in $deps/pip.log. Ways out:" \
    "- copy a wheel torch-$pattern-*.whl into $deps/wheels and start again;" \
    "- name another index or a folder of wheels in CINNABAR_TORCH_INDEX;" \
    "- name an unpacked libtorch (2.11 to 2.14, with lib/ and include/) in CINNABAR_TORCH."
}

# CUDA wheels keep NVIDIA's libraries in packages of their own: their libraries go beside libtorch's.
add_cuda_libraries() {
  local file list
  step "libtorch: fetching NVIDIA's libraries (about 3 GB)"
  mkdir -p "$deps/download/cuda"
  list=$(unzip -p "$wheel" 'torch-*.dist-info/METADATA' | sed -n 's/^Requires-Dist: \(\(nvidia\|cuda\)[^;]*\).*/\1/p' | tr -d ' ()')
  while read -r requirement; do
    [[ -z $requirement ]] && continue
    download_wheel "$requirement" "$deps/download/cuda" || fail "could not fetch $requirement, which the CUDA build needs" "See $deps/pip.log."
  done <<<"$list"
  for file in "$deps"/download/cuda/*.whl; do
    [[ -e $file ]] && unzip -q -o -j "$file" '*/lib/*.so*' -d "$1/lib" 2>/dev/null || true
  done
}

# unpack_torch WHEEL DIR: lib, share and four of the header folders. The wheel also carries other libraries' headers (fmt and
# more), which must not shadow the distribution's.
unpack_torch() {
  local part=$2.part
  rm -rf "$part"
  mkdir -p "$part"
  unzip -q "$1" 'torch/lib/*' 'torch/share/*' 'torch/include/ATen/*' 'torch/include/c10/*' 'torch/include/torch/*' \
    'torch/include/caffe2/*' torch/version.py 'torch-*.dist-info/*' -x 'torch/lib/libtorch_python.so' 'torch/lib/*_test.so' -d "$part" ||
    { rm -rf "$part"; fail "$1 could not be unpacked" "Delete it and start again."; }
  mkdir -p "$part/torch/licenses"
  cp -r "$part"/torch-*.dist-info/licenses/. "$part/torch/licenses/" 2>/dev/null || true
  if [[ $build == cuda ]]; then add_cuda_libraries "$part/torch"; fi
  rm -rf "$2"
  mv "$part/torch" "$2"
  rm -rf "$part"
}

# Libraries that the new folder needs and nobody has (those of the GPU driver may be absent while it is not installed).
report_missing_libraries() {
  local missing
  missing=$(for file in "$1"/lib/libtorch_{cpu,hip,cuda}.so; do [[ -e $file ]] && ldd "$file"; done | awk '/not found/ {print $1}' | sort -u |
    grep -v -E '^lib(cuda|nvidia-ml)\.so' || true)
  [[ -z $missing ]] || note "libtorch misses these libraries: $(echo $missing). On AMD, install the ROCm user space that the build names."
}

# choose_build: sets build from the flag, the last choice, what is unpacked, or what fits the machine.
choose_build() {
  [[ -n $build ]] && return
  if [[ -r $deps/torch_build ]]; then read -r build <"$deps/torch_build"; fi
  case $build in cpu | rocm | cuda) return ;; esac
  for build in rocm cuda cpu; do [[ -n $(unpacked_torch "$build") ]] && return; done
  machine_build
}

# install_torch: sets torch_dir.
install_torch() {
  if [[ -n ${CINNABAR_TORCH:-} ]]; then
    check_own_torch "$CINNABAR_TORCH"
    torch_dir=$CINNABAR_TORCH
    return
  fi
  choose_build
  torch_dir=$(unpacked_torch "$build")
  if [[ -n $torch_dir ]]; then
    step "libtorch: $(torch_of_folder "$torch_dir") present"
  elif [[ -n $dry_run ]]; then
    step "libtorch: would fetch $torch_version, $build build, from the first of:"
    torch_sources "$build" | while read -r _ kind address; do note "${address:-what pip is configured with}"; done
    return
  else
    case $build in
      cpu) step "libtorch: fetching $torch_version, CPU build (200 MB, about a minute)"; need_space "$deps" 2 "libtorch" ;;
      *) step "libtorch: fetching $torch_version, $build build (several GB, some minutes)"; need_space "$deps" 25 "libtorch for $build" ;;
    esac
    find_wheel "$build"
    local version=${wheel##*/torch-}
    version=${version%%-*}
    torch_dir=$deps/libtorch-${version/+/-}
    note "unpacking into $torch_dir"
    unpack_torch "$wheel" "$torch_dir"
    report_missing_libraries "$torch_dir"
    rm -rf "$deps/download"
  fi
  [[ -n $dry_run ]] && return
  echo "$build" >"$deps/torch_build"
  # The build names the link, so that choosing another build later compiles nothing again.
  ln -sfn "${torch_dir##*/}" "$deps/torch"
  torch_dir=$deps/torch
}
