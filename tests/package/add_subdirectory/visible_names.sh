#!/usr/bin/env bash
# visible_names.sh LIBRARY: a shared libtrifuse shows its C functions and the namespace trifuse, and no name of the libraries that it contains
# or of the standard library.
set -euo pipefail
names=$(nm -D --defined-only "$1" | awk '{ print $3 }' | c++filt)
grep -q '^trifuse_run' <<<"$names" || { echo "$1 shows no trifuse_run." >&2; exit 1; }
others=$(grep -vE '^trifuse_|^((typeinfo|typeinfo name|vtable|VTT|guard variable) for |(non-virtual|virtual) thunk to )?trifuse::' <<<"$names" || true)
if [[ -n $others ]]; then
  printf '%s shows names of others:\n%s\n' "$1" "$others" >&2
  exit 1
fi
