#!/usr/bin/env bash
# Builds the program if that is necessary, and runs it.
#
#   drivers/quickstart.sh                  the (T) energy of a bundled molecule, compared with NWChem's
#   drivers/quickstart.sh run PATH ...     trifuse run PATH ...; the same for every command of trifuse, see --help
set -euo pipefail
# shellcheck source=drivers/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

trifuse_need "${trifuse_program_needs[@]}"

# The first build shows its messages. Later builds show them only if they fail.
program=$trifuse_root/build/release/drivers/trifuse
if [[ -x $program ]]; then
  messages=$(mktemp)
  trap 'rm -f "$messages"' EXIT
  trifuse_build release --target trifuse_installable 2>"$messages" || { cat "$messages" >&2; exit 1; }
  rm -f "$messages"
else
  trifuse_say "Building Trifuse (some minutes, once; longer with CUDA) ..."
  trifuse_build release --target trifuse_installable
fi

if (($# == 0)); then
  dump=$trifuse_root/tests/data/nwchem/h2o_ccpvdz_c2v_rhf_t8_2eorb/c
  trifuse_say "No arguments: water in cc-pVDZ from NWChem's files, trifuse run $dump"
  trifuse_say
  set -- run "$dump"
fi
exec "$program" "$@"
