#!/bin/sh
# Two hosts made of namespaces: `one` and `two`, with a network between them, and with shared memory and processes of their own.
#
#   two_hosts.sh FILE COMMAND...          runs the command on `one`; when it ends, or is killed, both hosts are gone. `two` loses all of its
#                                         processes at once when FILE appears
#   two_hosts.sh --on two COMMAND...      what Open MPI starts there instead of ssh
set -eu
case $1 in
--on)
  shift 2
  exec nsenter --target "$(cat /dev/shm/two)" --net --uts --ipc --mount --pid sh -c "$*"
  ;;
--one)
  shift
  hostname one
  mount -t tmpfs tmpfs /dev/shm
  printf '127.0.0.1 localhost\n10.0.0.1 one\n10.0.0.2 two\n' >/dev/shm/hosts
  mount --bind /dev/shm/hosts /etc/hosts
  ip link set lo up
  mkfifo /dev/shm/ready
  ready=/dev/shm/ready
  unshare --net --uts --ipc --mount --pid --fork --kill-child --mount-proc sh "$0" --two "$1" 3>$ready &
  read -r _ <$ready
  two=$(tr -d ' ' <"/proc/$!/task/$!/children")
  echo "$two" >/dev/shm/two
  ip link add eth0 type veth peer name eth0 netns "$two"
  ip address add 10.0.0.1/24 dev eth0
  ip link set eth0 up
  sh "$0" --on two 'ip link set lo up; ip address add 10.0.0.2/24 dev eth0; ip link set eth0 up'
  shift
  exec "$@"
  ;;
--two)
  hostname two
  mount -t tmpfs tmpfs /dev/shm
  echo >&3
  exec 3>&-
  until [ -e "$2" ]; do sleep 0.1; done
  ;;
*)
  exec unshare --user --map-root-user --net --uts --ipc --mount --pid --fork --kill-child --mount-proc sh "$0" --one "$@"
  ;;
esac
