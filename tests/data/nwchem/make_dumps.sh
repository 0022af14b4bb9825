#!/bin/bash
# Redo the dumps of this folder with NWChem 7.0.2:  make_dumps.sh CASE [CASE ...]
#
# Every case folder holds its input c.nw; NWChem runs on a copy in a temporary folder and
# the files that a reader needs come back. The number of processes is the N of a trailing
# "_npN" in the case name (default 1). Cases whose name starts with bad_ may end with an
# error of NWChem; that is what they are for.
#
# NWCHEM and MPIRUN may be set to other commands.
set -u
here=$(cd "$(dirname "$0")" && pwd)
nwchem=${NWCHEM:-nwchem}
mpirun=${MPIRUN:-mpirun --oversubscribe}
export OMP_NUM_THREADS=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

[ $# -gt 0 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }

for name in "$@"; do
    name=${name%/}
    [ -f "$here/$name/c.nw" ] || { echo "$name: no such case" >&2; exit 2; }
    case $name in
        *_np[0-9]) nproc=${name##*_np} ;;
        *) nproc=1 ;;
    esac
    scratch=$(mktemp -d)
    cp "$here/$name/c.nw" "$scratch"
    (cd "$scratch" && $mpirun -np "$nproc" $nwchem c.nw > c.out 2> c.err)
    status=$?
    echo "$name: exit status $status"
    if [ $status -ne 0 ] && [ "${name#bad_}" = "$name" ]; then
        tail -20 "$scratch/c.out" "$scratch/c.err" >&2
        exit 1
    fi

    # Keep input, output, orbitals and dumps; drop names of the machine from the output.
    find "$here/$name" -type f ! -name c.nw -delete
    sed -i -E 's/^( *hostname *= ).*/\1localhost/; s/^( *source *= ).*/\1nwchem-7.0.2/' "$scratch/c.out"
    cp "$scratch"/c.out "$scratch"/c.movecs "$here/$name"
    for kind in t1amp t2amp f1int v2int t1_copy t2_copy f1_copy; do
        # The _save cases show restart files alone; only V2 has to come from the other mechanism.
        case $name:$kind in *_save*:f1int) continue ;; esac
        for file in "$scratch"/c.$kind.*; do
            [ -e "$file" ] && cp "$file" "$here/$name"
        done
    done
    rm -r "$scratch"
done
