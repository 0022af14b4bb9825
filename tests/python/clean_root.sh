#!/usr/bin/env bash
# Installs a wheel with PySCF in fresh systems that have none of its libraries, and compares (T) of water with PySCF's. Needs root,
# debootstrap and a network.
#
#   tests/python/clean_root.sh WHEEL [RELEASE ...]        releases of Debian, bookworm and trixie by default
#
# The systems are made in a temporary folder, or once in the folder that CLEAN_ROOTS names.
set -euo pipefail
wheel=$(realpath "$1")
shift
(($#)) || set -- bookworm trixie

folder=${CLEAN_ROOTS-}
if [[ -z $folder ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder"' EXIT
fi
for release in "$@"; do
  root=$folder/$release
  if [[ ! -e $root/made ]]; then
    debootstrap --variant=minbase --include=python3,python3-venv,ca-certificates "$release" "$root" http://deb.debian.org/debian >"$root.log" ||
      { tail -n 5 "$root.log" && exit 1; }
    touch "$root/made"
  fi
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # this machine may reach the network through a proxy
  cp "$wheel" "$root/root/"
  cp "$(dirname "${BASH_SOURCE[0]}")/water_of_wheel.py" "$root/root/water.py"
  echo "== $release"
  # The mounts end with the namespace.
  unshare --mount bash -euc '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    chroot "$1" bash -euc "
      cd /root && rm -rf fresh && python3 -m venv fresh
      PIP_CERT=/etc/ssl/certs/ca-certificates.crt fresh/bin/pip install --quiet ./$2 pyscf
      fresh/bin/python water.py && fresh/bin/trifuse --version"' clean_root "$root" "$(basename "$wheel")"
done
