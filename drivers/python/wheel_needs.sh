#!/usr/bin/env bash
# Installs what a wheel is made with, and compiles its HDF5 in PREFIX, once. Prints nothing but errors.
#
#   drivers/python/wheel_needs.sh PREFIX [FOLDER]
#
# Debian's HDF5 loads thirty libraries for files on the internet. So this compiles HDF5 from Debian's sources without them. pkg-config finds it
# with PKG_CONFIG_PATH=FOLDER, by default PREFIX/pkgconfig. An HDF5 that is in PREFIX already stays as it is.
set -euo pipefail
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/../setup.sh"
mkdir -p "$1"
prefix=$(realpath "$1")
trifuse_need "${trifuse_program_needs[@]}" "$trifuse_venv_need"

# fetch_hdf5: the sources of the HDF5 of this Debian release, into $work/source.
fetch_hdf5() {
  local state=$work/apt release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$work/source"
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian %s main\n' "$release" >"$state/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$state/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$state/lists"
    -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
  apt-get "${options[@]}" update
  (cd "$state" && apt-get "${options[@]}" source --download-only hdf5)
  tar xf "$state"/hdf5_*.orig.tar.* --strip-components=1 -C "$work/source"
}

if [[ ! -e $prefix/lib/libhdf5.so ]]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  trifuse_say "Compiling HDF5 in $prefix ..."
  fetch_hdf5
  mkdir "$work/build"
  (
    cd "$work/build"
    ../source/configure --prefix="$prefix" --enable-build-mode=production --enable-threadsafe --with-default-api-version=v18 \
      --disable-static --disable-hl --disable-tools --disable-tests --with-zlib --without-szlib
    make -s -j "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" -C src install
  ) >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2 && exit 1; }
  cp "$work/source/COPYING" "$prefix/COPYING"
fi
# CMake asks for hdf5-serial first.
folder=${2-$prefix/pkgconfig}
mkdir -p "$folder"
printf '%s\n' "Name: hdf5" "Description: HDF5 of the wheel" "Version: 1" "Cflags: -I$prefix/include" "Libs: -L$prefix/lib -lhdf5" \
  >"$folder/hdf5-serial.pc"
