#!/usr/bin/env bash
# Builds trifuse and installs it in FOLDER, with a list of the packages of its shared libraries: FOLDER/packages.
set -euo pipefail
folder=$1
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"

trifuse_build release --target all -DTRIFUSE_ENABLE_TESTS=OFF -DTRIFUSE_ENABLE_BENCHMARKS=OFF -DTRIFUSE_ENABLE_MPI=ON
cmake --install "$trifuse_root/build/release" --prefix "$folder" --strip >&2
libraries=$(ldd "$folder/bin/trifuse" | awk '$3 ~ "^/" { print $3 }' | xargs -n 1 readlink -f)
{
  echo openmpi-bin
  for library in $libraries; do
    dpkg -S "$library" 2>/dev/null || true # libc and others that every system has are listed by another path
  done | cut -d: -f1
} | sort -u >"$folder/packages"
