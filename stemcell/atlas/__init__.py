"""The head atlas: what each attention head of a probed model knows, as one page that needs nothing else."""
