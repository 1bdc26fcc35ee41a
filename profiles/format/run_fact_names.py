"""Facts of a run that its log may state beside the case's parameters, and how they are called."""

from __future__ import annotations

from typing import Final

NUMBERS: Final = frozenset(
    {
        "global_batch",  # sequences or images of all devices per step
        "micro_batch",  # per device and forward pass
        "accumulation",  # forward passes per step
        "sequence_length",  # tokens
        "tokens_per_step",  # of all devices
        "world_size",  # processes, one per device
        "hosts",  # machines, as the log counts them
        "devices_per_host",
        "last_rank",  # counted from 0, where a log lists all of them, or the first of each process
        "threads_per_process",
        "devices_per_thread",
        "last_device",  # its number on its host, counted from 0, where a log lists them
        "tensor_parallel",
        "pipeline_parallel",
        "data_parallel",
        "context_parallel",
        "layers",
        "width",  # of the residual stream
        "heads",
        "vocabulary",
        "model_parameters",  # without position embeddings, a tied output matrix counted once
        "training_samples",  # seen until the end
    }
)
"""Facts that are numbers; expressions can read them, and they stand among a run's metrics."""

TEXTS: Final = frozenset({"gpu", "precision", "benchmark", "system", "framework"})
"""Facts that are words."""

CALLED_OTHERWISE: Final = frozenset({"system"})
"""Facts whose words need not be the case's: a folder calls a system otherwise than its log."""

FACTS: Final = NUMBERS | TEXTS
