#!/usr/bin/env bash
# Makes the environments of the libraries that benchmarks compare with, one each under .peers/: they need different NumPys.
# Quick when repeated. PyPI's PyTorch for x86-64 is the CUDA build, which brings gigabytes of CUDA libraries that a CPU run
# loads but never calls; PyPI has no smaller one.
set -euo pipefail
cd "$(dirname "$0")/.."

# make_peer NAME REQUIREMENT...
make_peer() {
  local name=$1 home=.peers/$1
  shift
  if [[ -f $home/.made && $(<"$home/.made") == "$*" ]]; then
    echo "peers: $name is there"
    return
  fi
  echo "peers: making $name ($*)"
  rm -rf "$home"
  python3 -m venv "$home"
  "$home/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
  "$home/bin/python" -W ignore -c "import $name; print('peers:', $name.__name__, $name.__version__)"
  echo "$*" >"$home/.made"
}

make_peer mxnet "mxnet==1.9.1" "numpy<1.24" tqdm
make_peer torch torch torchvision pillow numpy tqdm
make_peer jax jax numpy
