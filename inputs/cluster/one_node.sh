#!/bin/bash
# One node with 8 GPUs and two sockets. A rank for each socket, with half of the cores; it drives 4 GPUs.
#
#   sbatch one_node.sh c.h5                arguments of `trifuse run`: a path, then options
#
#SBATCH --job-name=triples
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=64
#SBATCH --gpus-per-node=8
#SBATCH --mem=0
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

if [[ $# -eq 0 || -z ${SLURM_CPUS_PER_TASK:-} ]]; then
  echo "This is a job of Slurm; start it as \`sbatch one_node.sh c.h5\`, with the path of your amplitudes." >&2
  exit 2
fi
name=$(basename "$1" .h5)
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# If the job is started again, by you or after the loss of a node, it resumes from its journal.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores \
  trifuse run "$@" --journal "$name.journal" --json "$name.json"
