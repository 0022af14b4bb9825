#!/usr/bin/env bash
# visible_names.sh LIBRARY: a shared libtrifuse shows its C functions and the namespace trifuse, and no name of the libraries that it contains
# or of the standard library.
set -euo pipefail
names=$(nm -D --defined-only "$1" | awk '{ print $3 }')
grep -q '^trifuse_run' <<<"$names" || { echo "$1 shows no trifuse_run." >&2; exit 1; }
# Mangled names of the namespace trifuse: functions, static variables and their guards, type information, thunks. A demangled template would
# begin with its return type.
others=$(grep -vE '^trifuse_|^_Z(GVZ?|Z+|T[ISVT]|T[hv][n0-9_]+)?N?K?7trifuse' <<<"$names" || true)
if [[ -n $others ]]; then
  printf '%s shows names of other libraries:\n%s\n' "$1" "$(c++filt <<<"$others")" >&2
  exit 1
fi
