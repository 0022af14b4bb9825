#!/usr/bin/env bash
# needs.sh LIBRARY: libtrifuse_nwchem.so needs no library beyond those of the C and C++ compiler.
set -euo pipefail
needs=$(readelf -d "$1" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p')
[[ -n $needs ]] || { echo "readelf shows no needs of $1." >&2; exit 1; }
others=$(grep -vE '^(libc|libm|libdl|libpthread|librt|libstdc\+\+|libgomp|libgcc_s|ld-linux[a-z0-9-]*)[.]so' <<<"$needs" || true)
if [[ -n $others ]]; then
  printf '%s also needs:\n%s\n' "$1" "$others" >&2
  echo "In a build with batches, a source that calls HDF5 may be missing in the list of_files of the top CMakeLists.txt." >&2
  exit 1
fi
