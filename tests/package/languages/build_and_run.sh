#!/usr/bin/env bash
# build_and_run.sh LANGUAGE PREFIX FOLDER: builds the installed example of LANGUAGE (c or fortran) against the Trifuse that is installed in
# PREFIX, with CMake from a project of this language alone, and with pkg-config and the compiler alone. Both programs must print the energy.
set -euo pipefail
language=$1 prefix=$2 folder=$3
here=$(cd "$(dirname "$0")" && pwd)
examples=$prefix/share/trifuse/examples/arrays
rm -rf "$folder"
mkdir -p "$folder"

check() {
  local answer
  answer=$("$1" "$examples/water.txt")
  printf '%s: %s\n' "$1" "$answer"
  grep -q -- '-0[.]000067337722' <<<"$answer" || { echo "The energy is another one." >&2; exit 1; }
}

cmake -G Ninja -S "$here/$language" -B "$folder/cmake" "-DCMAKE_PREFIX_PATH=$prefix" "-DEXAMPLES=$examples" -DCMAKE_BUILD_TYPE=Debug
cmake --build "$folder/cmake"
check "$folder/cmake/consumer"

if command -v "${PKG_CONFIG:-pkg-config}" >/dev/null; then
  PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name trifuse.pc)"):${PKG_CONFIG_PATH-}
  export PKG_CONFIG_PATH
  if [[ $language == c ]]; then
    compile=("${CC:-cc}" "$examples/energy.c") module=trifuse
  else
    compile=("${FC:-gfortran}" "$examples/energy.F90") module=trifuse-fortran
  fi
  flags=()
  # As a make rule would: the shell takes back the backslashes before special characters of the path.
  eval "flags=($("${PKG_CONFIG:-pkg-config}" --cflags --libs $module))"
  "${compile[@]}" -o "$folder/program" "${flags[@]}"
  check "$folder/program"
fi
if [[ $language == c ]]; then
  # One folder of headers suffices for C.
  printf '#include <trifuse/trifuse.h>\n#include <trifuse/trifuse_arrays.h>\n#include <trifuse/trifuse_contract.h>\n' >"$folder/headers.c"
  "${CC:-cc}" -std=c99 -pedantic-errors -fsyntax-only "-I$prefix/include" "$folder/headers.c"
fi
