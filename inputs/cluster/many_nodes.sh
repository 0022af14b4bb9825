#!/bin/bash
# Many nodes with 4 GPUs each. A rank for each node, which drives its GPUs; the path must be on a disk that all nodes see.
#
#   sbatch --nodes=64 many_nodes.sh /scratch/c.h5
#
#SBATCH --job-name=triples
#SBATCH --nodes=16
#SBATCH --exclusive
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=64
#SBATCH --gpus-per-node=4
#SBATCH --mem=0
#SBATCH --time=02:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail

if [[ $# -eq 0 || -z ${SLURM_CPUS_PER_TASK:-} ]]; then
  echo "This is a job of Slurm; start it as \`sbatch --nodes=64 many_nodes.sh /scratch/c.h5\`, with the path of your amplitudes." >&2
  exit 2
fi
name=$(basename "$1" .h5)
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
# Writes the predicted time and memory to the output before the job begins. Change h200 to your GPUs.
trifuse plan "$1" --gpus $((4 * SLURM_NNODES)) --nodes "$SLURM_NNODES" --gpu-model h200
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores \
  trifuse run "$@" --journal "$name.journal" --json "$name.json"
