"""What the profiles of LLM trainers, collectives and MLPerf make of their logs: lines made up here,
old and new, as they come through launchers: coloured, behind rank prefixes, glued to what another
one says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles.format.case import Case
from profiles.format.catalog import Catalog
from profiles.logs.examples import example_flaws
from profiles.logs.log_parser import LogParser
from profiles.throughput.measure_run import Measurement, measure_run
from tests.unit.test_library_examples import READINGS

CATALOG = Catalog.load()


@dataclass(frozen=True)
class Log:
    """``throughput``: global, of ``gpus``, which the case has. ``metrics``: some of them."""

    profile: str
    lines: tuple[str, ...]
    throughput: float | None
    readings: int
    gpus: int = 8
    metrics: Mapping[str, float] = field(default_factory=dict)
    batch_size: int | None = None
    one_rank: bool = True  # what other ranks say does not count

    @property
    def case(self) -> Case:
        given = {} if self.batch_size is None else {"batch_size": self.batch_size}
        nodes, per_node = (self.gpus // 8, 8) if self.gpus % 8 == 0 else (1, self.gpus)
        return Case(self.profile, nodes, per_node, given)


def megatron_dump(**values: object) -> list[str]:
    lines = ["------------------------ arguments ------------------------"]
    for name, value in sorted(
        {"decoder_seq_length": None, "ffn_hidden_size": 8192, **values}.items()
    ):
        lines.append(f"  {name} {'.' * (48 - len(name))} {value}")
    return [*lines, "-------------------- end of arguments ---------------------"]


def megatron_line(step: int, ms: float, **more: object) -> str:
    parts = [f"elapsed time per iteration (ms): {ms}", "learning rate: 1.500E-04"]
    if "samples" in more:
        parts.insert(0, f"consumed samples: {more['samples']:>12}")
    if "tflops" in more:
        parts.insert(2, f"throughput per GPU (TFLOP/s/GPU): {more['tflops']}")
    if "batch" in more:
        parts.append(f"global batch size: {more['batch']:>5}")
    parts += ["lm loss: 3.250000E+00", "loss scale: 1.0", "number of nan iterations:   0"]
    return f" iteration {step:>8}/     400 | {' | '.join(parts)} |"


MEGATRON_NEW = (
    "using world size: 32, data-parallel size: 4, context-parallel size: 1, hierarchical "
    "context-parallel sizes: Nonetensor-model-parallel size: 2, encoder-tensor-model-parallel "
    "size: 0, pipeline-model-parallel size: 4, encoder-pipeline-model-parallel size: 0",
    *megatron_dump(
        bf16=True,
        encoder_tensor_model_parallel_size=0,
        fp16=False,
        fp8=None,
        global_batch_size=64,
        hidden_size=4096,
        micro_batch_size=2,
        num_attention_heads=32,
        num_layers=24,
        padded_vocab_size=50304,
        pipeline_model_parallel_size=4,
        retriever_seq_length=256,
        seq_length=2048,
        tensor_model_parallel_size=2,
        virtual_pipeline_model_parallel_size=None,
        world_size=32,
    ),
    " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)",
    megatron_line(10, 9100.5, samples=640, tflops=33.1, batch=64),
    "[Rank 3] (after 10 iterations) memory (MB) | allocated: 9000.5 | max allocated: 20480.5 | "
    "reserved: 22000.0 | max reserved: 22000.0",
    "time (ms) | forward-compute: 176.3 | backward-compute: 514.8",
    megatron_line(20, 1020.0, samples=1280, tflops=301.0, batch=64),
    megatron_line(30, 1000.0, samples=1920, tflops=307.0, batch=64),
    megatron_line(40, 1010.0, samples=2560, tflops=304.0, batch=64),
)
MEGATRON_OLD = (  # before 2021: no pipeline, no global batch; DeepSpeed's world is the replicas
    "using world size: 16 and model-parallel size: 2",
    *megatron_dump(
        batch_size=6, fp16=True, hidden_size=2048, num_layers=24, seq_length=512, world_size=16
    ),
    "[2021-02-03 04:05:06,007] [INFO] [config.py:752:print]   world_size ................... 8",
    megatron_line(1, 4000.0),
    megatron_line(2, 2000.0),
    megatron_line(3, 2400.0),
)
SMI = "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:61:00.0 Off |                    0 |"


def titan(step: int, rest: str, what: str = "step") -> str:
    return (
        f"[titan] 2025-03-04 05:06:07,089 - root - INFO - {what}: {step:>2}  loss:  7.1201  {rest}"
    )


CONFIG = "[2024-02-03 04:04:01,002] [INFO] [config.py:1000:print]   "


def deepspeed(step: int, mean: float, current: float) -> str:
    return (
        f"[2024-02-03 04:05:06,007] [INFO] [timer.py:260:stop] epoch=0/micro_step={step * 2}/"
        f"global_step={step}, RunningAvgSamplesPerSec={mean}, CurrSamplesPerSec={current}, "
        "MemAllocated=3.1GB, MaxMemAllocated=17.5GB"
    )


def nemo(step: int, seconds: float) -> str:
    return (
        f"Training epoch 0, iteration {step}/99 | lr: 1.1e-05 | global_batch_size: 128 | "
        f"global_step: {step} | reduced_train_loss: 8.14 | train_step_timing in s: {seconds} | "
        f"consumed_samples: {128 * step}"
    )


def maxtext(step: int, seconds: float, tokens: float) -> str:
    return (
        f"completed step: {step}, seconds: {seconds}, TFLOP/s/device: 130.5, "
        f"Tokens/s/device: {tokens}, total_weights: 65536, loss: 8.125"
    )


def nanochat(step: int, ms: float, tokens: str, mfu: str) -> str:
    return (
        f"step {step:05d}/09000 (0.10%) | loss: 5.500000 | lrm: 1.00 | dt: {ms}ms | "
        f"tok/sec: {tokens} | {mfu} | total time: 0.10m"
    )


def llm_c(step: int, ms: float, tokens: int, mfu: str = "40.5% bf16 MFU") -> str:
    return (
        f"step {step:>4}/100 | loss 7.250000 (+0.10z)| norm 1.9000 (-0.20z)| lr 1.20e-05 | "
        f"{ms} ms | {mfu} | {tokens} tok/s"
    )


def modded(step: int, ms: int, average: str, loss: str = "") -> str:
    return f"step:{step}/40 {loss}train_time:{ms}ms step_avg:{average}ms"


MODDED_OLD = (
    'print0(f"step:{step}/{train_steps} val_loss:{val_loss:.4f} '
    'train_time:{training_time_ms:.0f}ms step_avg:{training_time_ms/(timed_steps-1):.2f}ms")',
    SMI,
    modded(0, 0, "nan", "val_loss:10.8000 "),
    *(modded(step, 20_000 + 130 * step, "nan") for step in range(1, 11)),
    *(modded(step, 100 * (step - 10), "100.00") for step in range(11, 40)),
    modded(40, 3000, "100.00", "val_loss:3.2750 "),
)
MODDED_NEW = (
    modded(0, 0, "0.02", "val_loss:10.8000 "),
    *(modded(step, 50 * step, "50.00") for step in range(1, 21)),
    modded(20, 1100, "55.00", "val_loss:4.1000 "),  # what the device still had to do
    *(modded(step, 1100 + 50 * (step - 20), "53.00") for step in range(21, 41)),
    modded(40, 2100, "52.50", "val_loss:3.2790 "),
    "peak memory allocated: 30000 MiB reserved: 40000 MiB",
)


def mmengine(step: int, time: float) -> str:
    return (
        f"03/04 05:06:07 - mmengine - INFO - Epoch(train)   [1][{step:>4}/1200]  lr: 2.0000e-02  "
        f"eta: 1 day, 1:02:11  time: {time}  data_time: 0.0125  memory: 9120  loss: 1.2500"
    )


def mmcv(step: int, time: float) -> str:
    return (
        f"2021-03-04 05:06:07,008 - mmdet - INFO - Epoch [1][{step}/1200]\tlr: 2.000e-02, "
        f"eta: 1:02:11, time: {time}, data_time: 0.025, memory: 5100, loss_cls: 0.5, loss: 1.2500"
    )


def detectron2(step: int, mean: float) -> str:
    return (
        f"[05/06 07:08:09 d2.utils.events]:  eta: 2:10:31  iter: {step}  total_loss: 1.75  "
        f"loss_cls: 0.7011  loss_box_reg: 0.4112    time: {mean:.4f}  last_time: 0.3  "
        "data_time: 0.0062  last_data_time: 0.0058   lr: 0.0069431  max_mem: 7201M"
    )


def composer(step: int, tokens: float) -> tuple[str, ...]:
    return (
        f"[epoch=1/1][batch={step}/4800]:",
        f"\t Train throughput/tokens_per_sec: {8 * tokens:.4f}",
        f"\t Train throughput/device/tokens_per_sec: {tokens:.4f}",
        "\t Train throughput/device/mfu: 0.4250",
        "\t Train throughput/device/flops_per_sec: 420000000000000.0000",
    )


def mllog(key: str, at_ms: int, value: str = "null", **metadata: object) -> str:
    told = json.dumps({"file": "train.py", "lineno": 7, **metadata})
    return (
        f':::MLLOG {{"namespace": "", "time_ms": {at_ms}, "event_type": "POINT_IN_TIME", '
        f'"key": "{key}", "value": {value}, "metadata": {told}}}'
    )


def nccl_row(size: int, us: float, busbw: float) -> str:
    return (
        f"{size:>12}  {size // 4:>12}     float     sum      -1  {us:>7}  {busbw / 1.75:6.2f}  "
        f"{busbw:6.2f}       0  {us:>7}  {busbw / 1.75:6.2f}  {busbw:6.2f}       0"
    )


LOGS = {
    "megatron-lm": Log(
        "megatron-lm",
        (SMI, *MEGATRON_NEW),
        64 * 2048 / 1.01,
        4,
        gpus=32,
        metrics={
            "step_time_s": 1.01,
            "tflop_per_s_per_gpu": 304.0,
            "tokens_per_s_per_gpu": 64 * 2048 / 1.01 / 32,
            "mfu": 304.0 / 989,
            "memory": 20480.5,
            "global_batch": 64,
            "micro_batch": 2,
            "accumulation": 8,
            "sequence_length": 2048,
            "world_size": 32,
            "tensor_parallel": 2,
            "pipeline_parallel": 4,
            "data_parallel": 4,
            "layers": 24,
            "width": 4096,
            "heads": 32,
            "vocabulary": 50304,
        },
        one_rank=False,
    ),
    "megatron-lm of 2020": Log(
        "megatron-lm",
        MEGATRON_OLD,
        6 * 8 * 512 / 2.2,
        3,
        gpus=16,
        metrics={"global_batch": 48, "data_parallel": 8, "world_size": 16, "step_time_s": 2.2},
        one_rank=False,
    ),
    "megatron-deepspeed of BLOOM": Log(  # seconds, in place of milliseconds
        "megatron-lm",
        (
            "using world size: 16, data-parallel-size: 2, tensor-model-parallel size: 4, "
            "pipeline-model-parallel size: 2",
            *megatron_dump(seq_length=2048, world_size=16, global_batch_size=128),
            *(
                f" iteration {step:>8}/     400 | consumed samples: {128 * step:>12} | consumed "
                f"tokens: {262144 * step:>12} | elapsed time per iteration (s): {seconds} | "
                "learning rate: 6.000E-05 | global batch size:   128 | lm loss: 2.500000E+00 | "
                f"samples per second: {128 / seconds:.3f} | TFLOPs: 149.5 |"
                for step, seconds in ((1, 60.5), (2, 10.5), (3, 11.0), (4, 11.5))
            ),
        ),
        128 * 2048 / 11,
        4,
        gpus=16,
        metrics={"step_time_s": 11, "tflop_per_s_per_gpu": 149.5, "data_parallel": 2},
        one_rank=False,
    ),
    "megatron of ROCm": Log(  # this step's figure, and the mean behind a slash
        "megatron-lm",
        (
            *megatron_dump(seq_length=4096, world_size=8, global_batch_size=64),
            *(
                f"[20250304 05:06:07][rank-7/8][INFO ] [2025-03-04 05:06:07] iteration {step:>8}/"
                f"     400 | consumed samples: {64 * step:>12} | elapsed time per iteration (ms): "
                f"{ms}/2100.5 | throughput per GPU (TFLOP/s/GPU): 500.5/480.5 | global batch "
                "size:    64 | lm loss: 2.500000E+00 |"
                for step, ms in ((1, 9000.5), (2, 2000.0), (3, 2000.0))
            ),
        ),
        64 * 4096 / 2,
        3,
        metrics={"step_time_s": 2, "tflop_per_s_per_gpu": 500.5},
        one_rank=False,
    ),
    "megatron-deepspeed of 2024": Log(  # the sequence length in the line
        "megatron-lm",
        tuple(
            f" iteration {step:>8}/     400 | consumed samples: {96 * step:>12} | consumed tokens: "
            f"{96 * 4096 * step:>12} | elapsed time per iteration (ms): {ms} | learning rate: "
            "3.000E-04 | global batch size:    96 | lm loss: 1.050000E+01 | loss scale: 1.0 | "
            "actual seqlen:  4096 | number of nan iterations:   0 | samples per second: 9.6 | "
            "tokens per gpu per second(tgs): 615.5 | TFLOPs: 38.61 |"
            for step, ms in ((1, 30000.5), (2, 10000.0), (3, 10200.0))
        ),
        96 * 4096 / 10.1,
        3,
        metrics={"step_time_s": 10.1, "tflop_per_s_per_gpu": 38.61, "sequence_length": 4096},
        one_rank=False,
    ),
    "gpt-neox": Log(
        "megatron-lm",
        (
            "  seq_length ...................... 2048........................updated",
            "  train_batch_size ................ 512.........................updated",
            *(
                f" samples/sec: 50.690 | iteration {step:>8}/     400 | elapsed time per iteration "
                f"(ms): {ms} | learning rate: 1.500E-04 | approx flops per GPU: 55.7TFLOPS | "
                "lm_loss: 7.250000E+00 | loss scale: 1.0 | number of nan iterations:   0 |"
                for step, ms in ((1, 30000.5), (2, 10000.0), (3, 10200.0))
            ),
        ),
        512 * 2048 / 10.1,
        3,
        metrics={"step_time_s": 10.1, "loss": 7.25},
        one_rank=False,
    ),
    "torchtitan": Log(
        "torchtitan",
        (
            "[titan] 2025-03-04 05:06:07,089 - root - INFO - Building 1-D device mesh with "
            "['dp_shard'], [8]",
            "[titan] 2025-03-04 05:06:07,089 - root - INFO - Training starts at step 1, with local "
            "batch size 4, global batch size 32, sequence length 4096, total steps 100 (warmup 20)",
            titan(
                1, "grad_norm:  9.12  memory: 50.00GiB(63.31%)  tps: 212  tflops: 3.1  mfu: 0.31%"
            ),
            "[titan] 2025-03-04 05:06:07,089 - root - INFO - [GC] Performing periodical GC "
            "collection 0.02 seconds",
            titan(
                10,
                "grad_norm:  1.02  memory: 60.50GiB(77.31%)  tps: 6,800  "
                "tflops: 396.20  mfu: 40.06%",
            ),
            titan(10, "memory: 61.50GiB(77.31%)  tps: 15,000", what="validate step"),
            titan(
                20,
                "grad_norm:  1.02  memory: 60.50GiB(77.31%)  tps: 6,840  "
                "tflops: 398.20  mfu: 40.26%",
            ),
        ),
        8 * 6820,
        3,
        metrics={
            "tokens_per_s_per_gpu": 6820,
            "mfu": 0.4016,
            "tflop_per_s_per_gpu": 397.2,
            "memory": 61.5 * 1024,
            "global_batch": 32,
            "sequence_length": 4096,
            "world_size": 8,
        },
    ),
    "torchtitan under tensor parallelism": Log(
        "torchtitan",
        (
            "[titan] 2025-03-04 05:06:07,089 - root - INFO - Building 2-D device mesh with "
            "['dp_shard', 'tp'], [4, 2]",
            titan(1, "memory: 50.00GiB(63.31%)  tps: 101"),
            titan(10, "memory: 50.00GiB(63.31%)  tps: 2,100"),
        ),
        8 * 2100,
        2,
        metrics={"world_size": 8, "tensor_parallel": 2, "data_parallel": 4},
    ),
    "torchtitan of 2024": Log(
        "torchtitan",
        (
            titan(1, "memory: 50.00GiB(63.31%)  wps: 101  mfu: N/A"),
            titan(10, "memory: 50.00GiB(63.31%)  wps: 2,100  mfu: N/A"),
        ),
        8 * 2100,
        2,
    ),
    "torchtitan with more figures": Log(
        "torchtitan",
        (
            titan(1, "grad_norm:  1.02  lr:  3.0e-05  memory: 50.00GiB(63.31%)  tps: 101"),
            titan(10, "grad_norm:  1.02  lr:  3.0e-04  memory: 50.00GiB(63.31%)  tps: 2,100"),
        ),
        8 * 2100,
        2,
    ),
    "deepspeed": Log(
        "deepspeed",
        (
            "[2024-02-03 04:03:01,002] [INFO] [launch.py:151:main] dist_world_size=8",
            f"{CONFIG}train_batch_size ............. 64",
            f"{CONFIG}train_micro_batch_size_per_gpu  4",
            deepspeed(10, 40.5, 40.5),
            deepspeed(20, 80.5, 100.5),
            deepspeed(30, 85.5, 101.5),
        ),
        101.0,
        3,
        metrics={"memory": 17.5 * 1024, "global_batch": 64, "micro_batch": 4, "world_size": 8},
    ),
    "deepspeed before 0.5.9": Log(
        "deepspeed",
        (
            "[2021-02-03 04:05:06,007] [INFO] [timer.py:154:stop] 0/10, SamplesPerSec=20.25",
            "[2021-02-03 04:05:16,007] [INFO] [timer.py:154:stop] 0/20, SamplesPerSec=30.25",
        ),
        30.25,
        2,
    ),
    "deepspeed 0.5.9 to 0.7": Log(
        "deepspeed",
        (
            "[2022-02-03 04:05:06,007] [INFO] [timer.py:193:stop] 0/10, "
            "RunningAvgSamplesPerSec=20.25, CurrSamplesPerSec=19.5, MemAllocated=0.25GB, "
            "MaxMemAllocated=9.0GB",
            "[2022-02-03 04:05:16,007] [INFO] [timer.py:193:stop] 0/20, "
            "RunningAvgSamplesPerSec=25.25, CurrSamplesPerSec=30.25, MemAllocated=0.25GB, "
            "MaxMemAllocated=9.0GB",
        ),
        30.25,
        2,
        metrics={"memory": 9 * 1024},
    ),
    "deepspeed's pipeline engine": Log(
        "deepspeed",
        (
            "steps: 10 loss: 9.1250 iter time (s): 2.500 samples/sec: 51.200",
            "steps: 20 loss: 8.1250 aux_loss: 0.0100 iter time (s): 0.500 samples/sec: 256.000",
            "steps: 30 loss: 7.1250 iter time (s): 0.500 samples/sec: 256.000",
        ),
        256,
        3,
    ),
    "hf-trainer": Log(
        "hf-trainer",
        (
            "[INFO|trainer.py:1200] 2024-02-03 04:04:01,002 >>   Num examples = 8,000",
            "  Instantaneous batch size per device = 4",
            "  Total train batch size (w. parallel, distributed & accumulation) = 64",
            "  Gradient Accumulation steps = 2",
            "{'loss': 2.5, 'grad_norm': 1.5, 'learning_rate': 4e-05, 'epoch': 1.0}",
            "{'train_runtime': 91.25, 'train_samples_per_second': 87.5, "
            "'train_steps_per_second': 1.375, 'train_loss': 2.25, 'epoch': 1.0}",
            "{'train_runtime': 91.5, 'train_samples_per_second': 87.5, "
            "'train_steps_per_second': 1.375, 'train_loss': 2.25, 'epoch': 1.0}",
        ),
        87.5,
        2,
        metrics={"train_runtime_s": 91.5, "global_batch": 64, "world_size": 8, "loss": 2.25},
        one_rank=False,
    ),
    "hf-trainer's table": Log(
        "hf-trainer",
        (
            "***** train metrics *****",
            "  epoch                    =        1.0",
            "  train_runtime            = 0:01:31.25",
            "  train_samples_per_second =       87.5",
            "  train_steps_per_second   =      1.375",
        ),
        87.5,
        1,
        one_rank=False,
    ),
    "hf-trainer's table of more than a day": Log(
        "hf-trainer",
        (
            "  train_runtime            = 1 day, 2:03:04.05",
            "  train_samples_per_second =       87.5",
        ),
        87.5,
        1,
        one_rank=False,
    ),
    "hf-trainer's file of results": Log(
        "hf-trainer",
        (
            "{",
            '    "epoch": 1.0,',
            '    "train_runtime": 91.25,',
            '    "train_samples_per_second": 87.5,',
            '    "train_steps_per_second": 1.375',
            "}",
        ),
        87.5,
        1,
        metrics={"train_runtime_s": 91.25, "steps_per_s": 1.375},
        one_rank=False,
    ),
    "hf-trainer 5": Log(
        "hf-trainer",
        (
            "{'train_runtime': '91.25', 'train_samples_per_second': '8.75e+01', "
            "'train_steps_per_second': '1.375', 'epoch': '1'}",
        ),
        87.5,
        1,
        metrics={"train_runtime_s": 91.25},
        one_rank=False,
    ),
    "nemo": Log(
        "nemo",
        (
            "All distributed processes registered. Starting with 16 processes",
            "    seq_length: 4096",
            nemo(0, 30.5),
            nemo(1, 6.25),
            nemo(2, 6.75),
        ),
        128 / 6.5,
        3,
        gpus=16,
        metrics={
            "step_time_s": 6.5,
            "world_size": 16,
            "tokens_per_s_per_gpu": 128 / 6.5 * 4096 / 16,
        },
    ),
    "nemo 1's progress bar": Log(
        "nemo",
        (
            "    global_batch_size: 256",
            "Epoch 0: :   1%|▏| 1/100 [00:30<?, reduced_train_loss=10.9, global_step=0.000, "
            "consumed_samples=256.0, train_step_timing in s=30.20]",
            "Epoch 0: :   2%|▏| 2/100 [00:33<?, reduced_train_loss=10.8, global_step=1.000, "
            "consumed_samples=512.0, train_step_timing in s=3.200]",
        ),
        80,
        2,
    ),
    "megatron bridge": Log(
        "nemo",
        (
            "  global_batch_size: 512",
            "Step Time : 40.00s GPU utilization: 80.5MODEL_TFLOP/s/GPU",
            "Step Time : 4.00s GPU utilization: 700.5MODEL_TFLOP/s/GPU",
            "Step Time : 4.00s GPU utilization: 700.5MODEL_TFLOP/s/GPU",
        ),
        128,
        3,
        metrics={"step_time_s": 4, "tflop_per_s_per_gpu": 700.5},
    ),
    "megatron bridge, started by nemo-run": Log(  # the batch is in a line of another form
        "nemo",
        tuple(
            f"train_8b/0 {line}"
            for line in (
                "Step Time : 40.00s GPU utilization: 80.5MODEL_TFLOP/s/GPU",
                " [2025-03-04 05:06:07] iteration       10/      50 | consumed samples: 512 | "
                "elapsed time per iteration (ms): 40000.0 | global batch size:   512 |",
                "Step Time : 4.00s GPU utilization: 700.5MODEL_TFLOP/s/GPU",
            )
        ),
        128,
        2,
        metrics={"step_time_s": 4, "global_batch": 512},
    ),
    "maxtext": Log(
        "maxtext",
        (
            "Num_devices: 8, shape (1, 1, 8, 1, 1, 1)",
            "Config param max_target_length: 2048",
            maxtext(0, 60.5, 500.5),
            maxtext(1, 0.25, 150000.5),
            maxtext(2, 5.5, 8000.5),
            maxtext(3, 5.25, 8700.0),
            maxtext(4, 5.25, 8800.0),
        ),
        8 * 8750,
        5,
        metrics={"world_size": 8, "sequence_length": 2048, "step_time_s": 5.25, "loss": 8.125},
    ),
    "nanogpt": Log(
        "nanogpt",
        (
            "tokens per iteration will be: 245,760",
            "step 0: train loss 10.9, val loss 10.9",
            "iter 0: loss 10.9000, time 40210.50ms, mfu -100.00%",
            "iter 10: loss 9.5000, time 250.50ms, mfu 30.00%",
            "iter 20: loss 8.5000, time 240.00ms, mfu 30.50%",
            "iter 30: loss 8.2500, time 240.00ms, mfu 31.00%",
        ),
        245760 / 0.24,
        4,
        metrics={"step_time_s": 0.24, "mfu": 0.31, "loss": 8.25},
    ),
    "nanochat": Log(
        "nanochat",
        (
            "2025-11-02 03:04:05,006 - nanochat.common - INFO - Distributed world size: 8",
            "Tokens / micro-batch / rank: 32 x 2048 = 65,536",
            "Total batch size 524,288 => gradient accumulation steps: 1",
            nanochat(0, 9000.5, "58,000", "mfu: 3.50"),
            nanochat(1, 500.0, "1,048,576", "bf16_mfu: 51.50"),
            nanochat(2, 500.0, "1,048,576", "bf16_mfu: 51.50"),
            "Peak memory usage: 61000.50MiB",
        ),
        1048576,
        3,
        metrics={
            "world_size": 8,
            "global_batch": 256,
            "sequence_length": 2048,
            "step_time_s": 0.5,
            "mfu": 0.515,
            "memory": 61000.5,
        },
    ),
    "nanochat's ancestor": Log(
        "nanochat",
        (
            "step    0 | loss: 10.95 | lr: 6.0e-04 | norm: 1.2 | dt: 9000.1ms | tok/sec: 58250.25",
            "step    1 | loss: 9.500 | lr: 6.0e-04 | norm: 1.2 | dt: 500.0ms | tok/sec: 1048576.0",
        ),
        1048576,
        2,
        metrics={"step_time_s": 0.5},
    ),
    "llm-c": Log(
        "llm-c",
        (
            "| device                | NVIDIA A100-SXM4-80GB                              |",
            "| num_processes         | 8                                                  |",
            "batch_size B=64 * seq_len T=1024 * num_processes=8 and total_batch_size=524288",
            llm_c(1, 900.5, 580000),
            llm_c(2, 512.0, 1024000),
            llm_c(3, 512.0, 1024000),
        ),
        1024000,
        3,
        metrics={"world_size": 8, "global_batch": 512, "step_time_s": 0.512, "mfu": 0.405},
    ),
    "llm-c on a GPU that it does not know": Log(
        "llm-c",
        (
            llm_c(1, 900.5, 580000, "-100.0% bf16 MFU"),
            llm_c(2, 512.0, 1024000, "-100.0% bf16 MFU"),
        ),
        1024000,
        2,
    ),
    "llm-c of early 2024": Log(
        "llm-c",
        (
            "step    1/74: train loss 4.367631 (80.639749 ms, 50795 tok/s)",
            "step    2/74: train loss 4.031242 (64.250000 ms, 63750 tok/s)",
        ),
        63750,
        2,
        metrics={"step_time_s": 0.06425},
    ),
    "modded-nanogpt": Log(
        "modded-nanogpt",
        MODDED_NEW,
        40 / 2.1,
        40,
        metrics={"time_to_train_s": 2.1, "val_loss": 3.279, "memory": 30000},
    ),
    "modded-nanogpt's last line": Log(
        "modded-nanogpt",
        ("step:6400/6400 val_loss:3.2771 train_time:1201032ms step_avg:187.95ms",),
        1 / 0.18795,
        0,
        metrics={"time_to_train_s": 1201.032, "val_loss": 3.2771, "step_time_s": 0.18795},
    ),
    "modded-nanogpt with more figures": Log(
        "modded-nanogpt",
        tuple(
            line.replace(" train_time", " val_bpb:1.2244 train_time")
            if "val_loss" in line
            else line
            for line in MODDED_NEW
        ),
        40 / 2.1,
        40,
        metrics={"time_to_train_s": 2.1, "val_loss": 3.279},
    ),
    "modded-nanogpt, ended before its first step": Log(
        "modded-nanogpt",
        (modded(0, 0, "0.02", "val_loss:10.8000 "),),
        None,
        0,
    ),
    "modded-nanogpt in a virtual machine": Log(  # whose GPUs have other addresses
        "modded-nanogpt",
        (
            *(
                f"|   {number}  NVIDIA H100 80GB HBM3          On  | 00000000:00:0{number + 4}.0 "
                "Off |                    0 |"
                for number in range(4)
            ),
            *MODDED_NEW,
        ),
        40 / 2.1,
        40,
        metrics={"last_device": 3},
    ),
    "modded-nanogpt, timed from step 10": Log(
        "modded-nanogpt",
        MODDED_OLD,
        10.0,
        29,
        metrics={"time_to_train_s": 3.0, "val_loss": 3.275, "step_time_s": 0.1},
    ),
    "mmengine": Log(
        "mmengine",
        (
            "    GPU number: 8",
            "    GPU 0,1,2,3,4,5,6,7: NVIDIA A100-SXM4-80GB",
            mmengine(50, 0.9),
            mmengine(100, 0.25),
            "03/04 05:06:07 - mmengine - INFO - Epoch(val)   [1][100/120]    eta: 0:00:02  "
            "time: 0.0391  data_time: 0.0102  memory: 900",
            mmengine(150, 0.25),
        ),
        16 * 8 / 0.25,
        3,
        batch_size=16,
        metrics={"step_time_s": 0.25, "data_time_s": 0.0125, "memory": 9120, "world_size": 8},
    ),
    "mmcv 1": Log(
        "mmengine",
        (mmcv(50, 0.9), mmcv(100, 0.5), mmcv(150, 0.5)),
        2 * 8 / 0.5,
        3,
        batch_size=2,
        metrics={"step_time_s": 0.5, "data_time_s": 0.025},
    ),
    "mmengine without a batch": Log(
        "mmengine",
        (mmengine(50, 0.9), mmengine(100, 0.25)),
        None,
        2,
        metrics={"data_time_s": 0.0125},
    ),
    "detectron2": Log(
        "detectron2",
        (
            "[05/06 07:01:02 detectron2]: Rank of current process: 0. World size: 8",
            "  IMS_PER_BATCH: 16",
            detectron2(20, 1.5),
            detectron2(40, 1.0),  # 20 x 1.5 s, then 20 x 0.5 s
            detectron2(60, 2.5 / 3),
        ),
        16 / 0.5,
        3,
        metrics={"step_time_s": 0.5, "data_time_s": 0.0062, "global_batch": 16, "world_size": 8},
    ),
    "detectron2 before 0.6": Log(
        "detectron2",
        (
            "  IMS_PER_BATCH: 16",
            *(
                detectron2(step, mean)
                .replace("  last_time: 0.3", "")
                .replace("  last_data_time: 0.0058", "")
                for step, mean in ((20, 1.5), (40, 1.0), (60, 2.5 / 3))
            ),
        ),
        16 / 0.5,
        3,
    ),
    "composer": Log(
        "composer",
        (
            "n_gpus: 8",
            "max_seq_len: 2048",
            *composer(1, 100.5),
            *composer(2, 9000.0),
            *composer(3, 9100.0),
        ),
        8 * 9050,
        3,
        metrics={"mfu": 0.425, "tflop_per_s_per_gpu": 420, "world_size": 8},
    ),
    "mlperf-training": Log(
        "mlperf-training",
        (
            mllog("submission_benchmark", 100, '"resnet"'),
            mllog("global_batch_size", 200, "3264"),
            ':::SYSJSON {"submitter": "Acme", "number_of_nodes": "2", '
            '"accelerators_per_node": "4", "accelerator_model_name": "Acme G1"}',
            mllog("run_start", 1000),
            mllog("tracked_stats", 2000, '{"throughput": 1500.5}', step=1),
            mllog("tracked_stats", 3000, '{"throughput": 2500.5}', step=2),
            mllog("eval_accuracy", 60500, "0.7591", epoch_num=4),
            mllog("run_stop", 61000, status="success"),
        ),
        2500.5,
        2,
        metrics={"time_to_train_s": 60, "eval_accuracy": 0.7591, "world_size": 8},
        one_rank=False,
    ),
    "nccl-tests": Log(
        "nccl-tests",
        (
            "# nThread 1 nGpus 8 minBytes 1048576 maxBytes 2147483648 step: 2048(factor)",
            *(
                f"#  Rank {rank:>2} Group  0 Pid   4711 on      node7 device {rank:>2} "
                "[0000:1b:00] NVIDIA H100 80GB HBM3"
                for rank in range(8)
            ),
            nccl_row(1048576, 48.3, 38.01),
            nccl_row(2147483648, 7900, 475.5),
            "# Avg bus bandwidth    : 256.755",
        ),
        475.5,
        2,
        metrics={"world_size": 8, "size_bytes": 2147483648, "avg_busbw": 256.755},
        one_rank=False,
    ),
    "allreduce-bench": Log(
        "allreduce-bench",
        (
            "0 data size: 4.0 GB",
            "ignore me 124",
            "0:",
            " duration: 0.0480 sec",
            " algo throughput: 1333333333333.3333 bps, 1333.3333 Gbps",
            " busbw: 1000.0000  Gbps",
            "1:",
            " duration: 0.0481 sec",
            " algo throughput: 1330000000000.0000 bps, 1330.0000 Gbps",
            " busbw: 992.0000  Gbps",
        ),
        996 * 0.125,
        2,
        metrics={"size_bytes": 4e9},
        one_rank=False,
    ),
    "allreduce-bench of 2023": Log(
        "allreduce-bench",
        (
            "The average bandwidth of all_reduce with a 2.0GB payload (7 trials, 16 ranks):",
            " algbw: 100.000 GBps (800.0 Gbps)",
            " busbw: 187.500 GBps (1500.0 Gbps)",
        ),
        187.5,
        1,
        gpus=16,
        metrics={"size_bytes": 2e9, "algbw": 100, "world_size": 16},
        one_rank=False,
    ),
}

CHATTER = "NCCL INFO Channel 03/0 : 1[1] -> 2[2] via P2P/IPC comm 0x55"


def coloured(log: Log) -> str:
    """As terminals get it: a colour at each word, and a title."""
    return "".join(
        "\x1b[1;32m" + line.replace(" ", " \x1b[38;2;1;2;3m") + "\x1b[0m\x1b]0;title\x07\r\n"
        for line in log.lines
    )


def prefixed(prefix: str) -> Callable[[Log], str]:
    return lambda log: "".join(f"{prefix}{line}\n" for line in log.lines)


def among_others(log: Log) -> str:
    """Every line of rank 0 beside one of rank 1 that says ten times as much."""
    return "".join(
        f"[rank1]:{line.replace(': ', ': 9')}\n[rank0]:{line}\n[1,1]<stdout>:{CHATTER}\n"
        for line in log.lines
    )


def glued(log: Log) -> str:
    """No process waits for another's line end."""
    return "".join(f"{CHATTER}!{line} {CHATTER}\n" for line in log.lines)


WRAPPINGS: dict[str, Callable[[Log], str]] = {
    "as it is": prefixed(""),
    "coloured": coloured,
    "torchrun": prefixed("[rank0]:"),
    "torchrun, a blank after": prefixed("[rank0]: "),
    "torchrun --tee": prefixed("[default0]:"),
    "srun --label": prefixed("0: "),
    "srun --label of many": prefixed("  0: "),
    "mpirun --tag-output": prefixed("[1,0]<stdout>:"),
    "glued": glued,
}


def measured(log: Log, data: bytes, cuts: tuple[int, ...] = ()) -> Measurement:
    profile = CATALOG.get(log.profile)
    parser = LogParser(profile, log.case)
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        parser.feed(data[start:end])
    parser.finish()
    return measure_run(profile, log.case, parser)


def check(log: Log, text: str) -> None:
    found = measured(log, text.encode())
    if log.throughput is None:
        assert found.throughput is None
    else:
        assert found.throughput == pytest.approx(log.throughput, rel=1e-3), found.reason
    assert found.readings == log.readings
    for name, value in log.metrics.items():
        assert found.metrics[name] == pytest.approx(value, rel=1e-3), name


def test_every_profile_of_others_trainers_has_a_log_here() -> None:
    """But those of the seeds' reports, whose examples have their figures in another test."""
    ours = {name for name in CATALOG.names if CATALOG.get(name).launch.stage}
    assert set(CATALOG.names) - ours - set(READINGS) <= {log.profile for log in LOGS.values()}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", LOGS)
def test_a_log_reads_the_same_however_it_comes(name: str, wrapping: str) -> None:
    check(LOGS[name], WRAPPINGS[wrapping](LOGS[name]))


@pytest.mark.parametrize("name", [name for name, log in LOGS.items() if log.one_rank])
def test_other_ranks_do_not_count(name: str) -> None:
    check(LOGS[name], among_others(LOGS[name]))


@pytest.mark.parametrize("name", LOGS)
def test_two_lines_on_one_are_two_readings(name: str) -> None:
    log = LOGS[name]
    pairs = [" ".join(log.lines[at : at + 2]) for at in range(0, len(log.lines), 2)]
    check(log, "\n".join(pairs) + "\n")


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=15)
@given(data=st.data())
def test_any_chunking_gives_the_same(name: str, data: st.DataObject) -> None:
    log = LOGS[name]
    text = data.draw(st.sampled_from(sorted(WRAPPINGS)), label="wrapping")
    raw = WRAPPINGS[text](log).encode()
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=12).map(tuple), label="cuts")
    assert measured(log, raw, cuts) == measured(log, raw)


@pytest.mark.parametrize("name", sorted({log.profile for log in LOGS.values()}))
def test_every_pattern_reads_its_example(name: str) -> None:
    assert list(example_flaws(CATALOG.get(name))) == []


def test_megatron_at_fp8_has_no_mfu() -> None:
    dump = [line.replace("None", "hybrid") if " fp8 " in line else line for line in MEGATRON_NEW]
    found = measured(LOGS["megatron-lm"], "\n".join([SMI, *dump]).encode())
    assert found.throughput is not None
    assert "mfu" not in found.metrics


def test_what_a_log_does_not_know_is_no_figure() -> None:
    unknown = measured(
        LOGS["llm-c on a GPU that it does not know"],
        "\n".join(LOGS["llm-c on a GPU that it does not know"].lines).encode(),
    )
    titan = LOGS["torchtitan of 2024"]
    assert "mfu" not in unknown.metrics
    assert "mfu" not in measured(titan, "\n".join(titan.lines).encode()).metrics


def test_step_times_without_a_batch_are_said_to_be_that() -> None:
    log = LOGS["mmengine without a batch"]
    found = measured(log, "\n".join(log.lines).encode())
    assert (found.throughput, found.reason) == (None, "")
    assert found.metrics["step_time_s"] > 0
    assert any("--batch-size" in text for text in found.warnings)


def test_days_are_no_seconds() -> None:
    log = LOGS["hf-trainer's table of more than a day"]
    assert "train_runtime_s" not in measured(log, "\n".join(log.lines).encode()).metrics
