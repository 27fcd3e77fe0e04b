#!/usr/bin/env bash
# One run on two nodes of four GPUs: sbatch scripts/slurm-train.sh --data ewt --encoder roberta --out runs/roberta
#SBATCH --job-name=stemcell
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=4
#SBATCH --cpus-per-task=16
#SBATCH --time=24:00:00
set -euo pipefail
gpus=4
main=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export main gpus
# One launch a node; the run folder must lie where all nodes see it.
# shellcheck disable=SC2016
srun bash -c 'exec accelerate launch --multi_gpu --num_machines "$SLURM_NNODES" --num_processes "$((SLURM_NNODES * gpus))" \
  --machine_rank "$SLURM_NODEID" --main_process_ip "$main" --main_process_port 29500 -m stemcell train "$@"' bash "$@"
