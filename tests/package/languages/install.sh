#!/usr/bin/env bash
# install.sh BUILD PREFIX: installs in PREFIX what drivers/quickstart.sh builds, the target trifuse_installable, and no component that has a
# name. Each library and program that was installed must belong to this target, and users find the example and the pages.
set -euo pipefail
build=$1 prefix=$2
rm -rf "$prefix"
cmake --install "$build" --prefix "$prefix" --component Unspecified >/dev/null
built=$(ninja -C "$build" -t commands trifuse_installable)
find "$prefix" \( -name '*.a' -o -path '*/bin/*' \) -type f | while read -r file; do
  grep -qE "(-o|qc) [^ ]*/?$(basename "$file") " <<<"$built" || { echo "$file is installed, but trifuse_installable does not build it." >&2; exit 1; }
done
for file in bin/trifuse include/trifuse/trifuse.h share/trifuse/pyscf_export/__main__.py share/trifuse/examples/water/water.py \
  share/doc/trifuse/dump-format.md share/doc/trifuse/CITATION.cff; do
  [[ -e $prefix/$file ]] || { echo "$file is not installed." >&2; exit 1; }
done
[[ ! -e $prefix/share/trifuse/pyscf_export/__pycache__ ]] || { echo "Compiled files of Python are installed." >&2; exit 1; }
