#!/usr/bin/env bash
# try.sh CASE SOURCE FOLDER: configures Trifuse in FOLDER with other libraries than the usual ones, and checks what comes of it. Compiles
# only the sources that include the headers of these libraries.
set -euo pipefail
case=$1 root=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# configure [-DNAME=VALUE ...]: writes FOLDER/log.
configure() {
  local features=() feature
  for feature in CUDA MPI FORTRAN TESTS GLOBAL_ARRAYS BENCHMARKS; do
    features+=("-DTRIFUSE_ENABLE_$feature=OFF")
  done
  rm -rf "$folder/build"
  cmake -G Ninja -S "$root" -B "$folder/build" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 "${features[@]}" "$@" >"$folder/log" 2>&1
}

compile() {
  ninja -C "$folder/build" "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; fail "$* does not compile."; }
}

# unpack PACKAGE...: Debian packages in FOLDER/debian, without installing them. Exit status 77: they cannot be had here.
unpack() {
  local package
  mkdir -p "$folder/debian"
  for package in "$@"; do
    [[ -e $folder/debian/.$package ]] && continue
    (cd "$folder/debian" && apt-get -qq download "$package" 2>/dev/null && dpkg -x "${package}"_*.deb .) ||
      { echo "Skipped: apt-get does not get $package here." >&2; exit 77; }
    touch "$folder/debian/.$package"
  done
}

mkdir -p "$folder"
case $case in
  ilp64)
    "${CC:-cc}" -shared -fPIC -o "$folder/libilp64.so" "$here/ilp64.c"
    ! configure "-DBLAS_LIBRARIES=$folder/libilp64.so" || fail "A BLAS with 64-bit integers was accepted."
    grep -q "has 64-bit integers (ILP64): $folder/libilp64.so[.] Trifuse needs" <(tr -s ' \n' ' ' <"$folder/log") ||
      { cat "$folder/log" >&2; fail "The refusal does not say why."; }
    ;;
  blis)
    unpack libblis4-serial libblis-serial-dev
    libraries=$(dirname "$folder"/debian/usr/lib/*/blis-serial/libblis.so)
    configure -DBLA_VENDOR=FLAME "-DCMAKE_LIBRARY_PATH=$libraries" || { cat "$folder/log" >&2; fail "BLIS was not accepted."; }
    compile CMakeFiles/trifuse.dir/cxx/base/blas.cpp.o CMakeFiles/trifuse.dir/cxx/rotation/orbital_rotation.cpp.o
    grep -q "blis-serial/cblas.h" <(ninja -C "$folder/build" -t deps CMakeFiles/trifuse.dir/cxx/base/blas.cpp.o) ||
      fail "The header is not that of BLIS."
    ;;
  parallel_hdf5)
    unpack libhdf5-openmpi-103-1 libhdf5-openmpi-dev
    hdf5=$(dirname "$folder"/debian/usr/lib/*/hdf5/openmpi/libhdf5.so)
    configure "-DHDF5_ROOT=$hdf5" || { cat "$folder/log" >&2; fail "A parallel HDF5 was not accepted."; }
    grep -q "HDF5 is a parallel one" "$folder/log" || fail "The parallel HDF5 was not taken."
    compile CMakeFiles/trifuse.dir/tce_tiles/hdf5/hdf5_file.cpp.o
    ;;
  fetch)
    # Archives like those that TRIFUSE_FETCH downloads, of the headers that are installed here, and their list.
    archives=$folder/archives
    rm -rf "$archives"
    mkdir -p "$archives"
    for entry in fmt:include:fmt CLI11:include:CLI nlohmann_json:include:nlohmann xxHash:.:xxhash.h; do
      IFS=: read -r name place header <<<"$entry"
      [[ -e /usr/include/$header ]] || { echo "Skipped: there is no /usr/include/$header." >&2; exit 77; }
      mkdir -p "$archives/$name/$place"
      cp -r "/usr/include/$header" "$archives/$name/$place"
      tar -C "$archives" -czf "$archives/$name-1.0.tar.gz" "$name"
      read -r hash _ <<<"$(sha256sum "$archives/$name-1.0.tar.gz")"
      echo "$name 1.0 $place $hash https://localhost/$name.tar.gz" >>"$archives/list"
    done
    hidden=(-DTRIFUSE_XXHASH_HEADER=OFF)
    for name in fmt CLI11 nlohmann_json; do
      hidden+=("-DCMAKE_DISABLE_FIND_PACKAGE_$name=ON")
    done
    ! configure "${hidden[@]}" || fail "Trifuse was configured without its libraries."
    grep -q "fmt.*JSON.*xxHash.*CLI11.*TRIFUSE_FETCH=ON downloads" <(tr -s ' \n' ' ' <"$folder/log") || { cat "$folder/log" >&2; fail "Nothing says that TRIFUSE_FETCH helps."; }
    fetch=("${hidden[@]}" -DTRIFUSE_FETCH=ON "-DTRIFUSE_FETCH_ARCHIVES=$archives" "-DTRIFUSE_FETCH_LIST=$archives/list")
    configure "${fetch[@]}" || { cat "$folder/log" >&2; fail "The libraries were not fetched from archives."; }
    compile CMakeFiles/trifuse.dir/cxx/parallel/journal_file.cpp.o drivers/CMakeFiles/trifuse_program_parts.dir/source_options.cpp.o
    grep -q "_deps/xxhash-src/xxhash.h" <(ninja -C "$folder/build" -t deps CMakeFiles/trifuse.dir/cxx/parallel/journal_file.cpp.o) ||
      fail "The header of xxHash is not the fetched one."
    echo damage >>"$archives/fmt-1.0.tar.gz"
    ! configure "${fetch[@]}" || fail "An archive with a wrong checksum was accepted."
    grep -qi "does not match expected value\|hash mismatch" "$folder/log" || { cat "$folder/log" >&2; fail "Nothing says that the checksum is wrong."; }
    ;;
  shared_cuda)
    configure -DBUILD_SHARED_LIBS=ON -DTRIFUSE_ENABLE_CUDA=ON || {
      grep -q "no CUDA toolkit\|CUDA 12 or newer is needed\|does not work with the C++ compiler" <(tr -s ' \n' ' ' <"$folder/log") && { echo "Skipped: there is no CUDA." >&2; exit 77; }
      cat "$folder/log" >&2
      fail "A shared library with CUDA was not accepted."
    }
    grep -q "kernel/check.cu.o" <(ninja -C "$folder/build" -t query libtrifuse_internal.a) || fail "The program would be linked without kernels."
    ;;
  *) fail "There is no case $case." ;;
esac
