"""The bundled profiles: all load, and all launch what the reports they reproduce launch."""

from __future__ import annotations

import math
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from backends.inventory.host_entry import Host
from backends.launchers.build import build
from backends.launchers.launcher import HostCommand, LaunchRequest, LaunchSite
from profiles.durations import parse_duration
from profiles.errors import SelectionError
from profiles.format.case import Case
from profiles.format.case_matrix import expand
from profiles.format.catalog import LIBRARY, Catalog
from profiles.format.expected_duration import expected_s
from profiles.format.profile import Profile
from profiles.format.site_settings import needs_value
from profiles.logs.examples import example_flaws
from profiles.logs.log_parser import LogParser
from profiles.logs.log_paths import recognise
from profiles.throughput.measure_run import measure_run

NAMES = [
    "allreduce-bench",
    "composer",
    "cpu-smoke",
    "deepspeed",
    "detectron2",
    "hf-trainer",
    "llm-c",
    "maxtext",
    "megatron-lm",
    "mlperf-training",
    "mmengine",
    "mmseg-deeplabv3p",
    "mmseg-hrnet",
    "modded-nanogpt",
    "nanochat",
    "nanogpt",
    "nccl-tests",
    "nemo",
    "ngc-mxnet-resnet50",
    "ngc-pytorch-bert",
    "ngc-pytorch-resnet50",
    "ngc-pytorch-resnet50-convergence",
    "ngc-tensorflow-bert",
    "ngc-tensorflow-resnet50",
    "ngc-tensorflow2-maskrcnn",
    "oneflow-resnet50",
    "paddle-resnet50",
    "paddleclas-resnet50",
    "paddlenlp-bert",
    "paddlenlp-transformer",
    "paddleseg-deeplabv3p",
    "paddleseg-hrnet",
    "torch-allreduce",
    "torch-gpt",
    "torch-resnet50",
    "torchtitan",
]
CATALOG = Catalog.load()
ADDRESSES = [f"10.11.0.{last}" for last in range(2, 6)]  # the reports' own


COLLECTIVES = {"nccl-tests", "torch-allreduce"}
"""What these measure has no samples."""

READ_ALONE = {"mlperf-training"}
"""The operator's own script starts these, with a batch size of its own."""

OWN_COMMAND = {
    "allreduce-bench",
    "composer",
    "deepspeed",
    "detectron2",
    "hf-trainer",
    "llm-c",
    "maxtext",
    "mmengine",
    "modded-nanogpt",
    "nanochat",
    "nanogpt",
    "nemo",
}
"""These read what the operator's own command prints."""

BATCH_IS_ELSEWHERE = COLLECTIVES | READ_ALONE | OWN_COMMAND | {"megatron-lm", "torchtitan"}
"""No batch per device: there is none, or the log states it, or replicas are what has one."""

ONE_LOG_PER_CASE = {
    "mmseg-deeplabv3p",
    "mmseg-hrnet",
    "ngc-mxnet-resnet50",
    "ngc-pytorch-bert",
    "ngc-pytorch-resnet50",
    "ngc-pytorch-resnet50-convergence",
    "ngc-tensorflow-bert",
    "ngc-tensorflow-resnet50",
    "ngc-tensorflow2-maskrcnn",
    "paddleclas-resnet50",
    "paddlenlp-bert",
    "paddlenlp-transformer",
    "paddleseg-deeplabv3p",
    "paddleseg-hrnet",
}
"""The reports that these reproduce list a single log for each case."""


def test_repeats_are_those_of_the_source():
    repeats = {name: CATALOG.get(name).matrix.repeats for name in NAMES}
    assert {name for name, n in repeats.items() if n == 1} == ONE_LOG_PER_CASE | {"cpu-smoke"}
    assert repeats["paddle-resnet50"] == 6  # "6 groups by default", and a listing of six
    assert {n for n in repeats.values() if n != 1} <= {5, 6, 7}


def case_of(name: str, tag: str, **parameters: str) -> tuple[Profile, Case]:
    profile = CATALOG.get(name)
    return profile, expand(profile, [tag], {key: [value] for key, value in parameters.items()})[0]


def commands(name: str, tag: str, **parameters: str) -> tuple[HostCommand, ...]:
    profile, case = case_of(name, tag, **parameters)
    settings = {
        key: setting.default if setting.default is not None else f"/given/{key}"
        for key, setting in profile.settings.items()
    }
    sites = [
        LaunchSite(host=Host(name=f"node{rank}", address=address), address=address, has_gpus=True)
        for rank, address in enumerate(ADDRESSES[: case.nodes])
    ]
    return build(
        LaunchRequest(
            profile=profile,
            case=case,
            sites=sites,
            run_id="run-7",
            repeat=1,
            port=29511,
            settings=settings,
        )
    )


def assert_in_order(words: tuple[str, ...], expected: str) -> None:
    """Every word of ``expected`` stands in ``words``, in that order."""
    position = 0
    for word in shlex.split(expected):
        assert word in words[position:], f"{word} is not after {words[:position]} in {words}"
        position = words.index(word, position) + 1


def test_the_catalogue_holds_every_system_of_the_reports() -> None:
    assert list(CATALOG.names) == NAMES
    assert CATALOG.problems == ()


@pytest.mark.parametrize("name", NAMES)
def test_a_bundled_profile_says_what_it_is_and_what_it_needs(name: str) -> None:
    profile = CATALOG.get(name)
    assert CATALOG.source(name).path == LIBRARY / f"{name}.toml"
    assert profile.source
    assert profile.description.strip().endswith(".")
    assert ("batch_size" in profile.parameters) == (name not in BATCH_IS_ELSEWHERE)
    for key, setting in profile.settings.items():
        assert setting.description, key
        if needs_value(profile, key) and not (name in OWN_COMMAND and key == "command"):
            assert setting.check != "none", f"{key}: what the operator gives is checked"
    for staged in profile.launch.stage:
        assert (LIBRARY.parent / staged).is_file()
    launch = profile.launch
    defaults = {key: setting.default or "" for key, setting in profile.settings.items()}
    seconds = expected_s(profile, expand(profile, None, {})[0], defaults)
    assert seconds is not None
    assert 0 < seconds < parse_duration(launch.timeout)
    assert parse_duration(launch.stall_timeout) <= parse_duration(launch.timeout)


def offered(profile: Profile) -> list[Case]:
    """All combinations of choices; where they are very many, each choice beside the defaults."""
    choices = {key: list(value.choice_texts) for key, value in profile.parameters.items()}
    if math.prod(len(texts) for texts in choices.values()) < 500:
        return list(expand(profile, None, choices))
    one_by_one = ({key: texts} for key, texts in choices.items())
    return [case for selection in one_by_one for case in expand(profile, None, selection)]


@pytest.mark.parametrize("name", NAMES)
def test_every_offered_case_has_a_command_on_every_host_that_runs_one(name: str) -> None:
    profile = CATALOG.get(name)
    for case in offered(profile):
        parameters = {key: case.text(key) for key in profile.parameters}
        planned = commands(name, case.tag, **parameters)
        launcher = profile.launch_for(case).launcher
        alone = launcher in ("first_node", "mpirun")
        assert [bool(command.argv) for command in planned] == [
            rank == 0 or not alone for rank in range(case.nodes)
        ]
        for command in planned:
            assert not re.search(r"(?<!\$)\{\w+\}", " ".join(command.argv)), command.argv


@pytest.mark.parametrize("name", NAMES)
def test_docs_have_a_section_for_the_profile_that_names_its_settings(name: str) -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
    section = re.search(rf"^### {re.escape(name)}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    assert section is not None
    for key in CATALOG.get(name).settings:
        assert f"`{key}`" in section[1], key


# oneflow-resnet50: the report's local_run.sh and its log


def test_oneflow_runs_local_run_sh_of_the_report_on_every_node() -> None:
    planned = commands("oneflow-resnet50", "4n8g", batch_size="160")
    assert len(planned) == 4
    assert len({command.argv for command in planned}) == 1  # ranks come from the addresses
    assert planned[0].argv[:2] == ("python3", "/given/benchmark_root/of_cnn_train_val.py")
    assert list(planned[0].argv[2:]) == [
        f"--num_examples={4 * 8 * 160 * 200}",
        "--train_data_dir=/given/data_root/train",
        "--train_data_part_num=44",
        "--num_nodes=4",
        "--gpu_num_per_node=8",
        "--model_update=momentum",
        "--learning_rate=0.001",
        "--loss_print_every_n_iter=20",
        "--batch_size_per_device=160",
        "--val_batch_size_per_device=125",
        "--num_epoch=1",
        "--log_dir=./log",
        "--node_ips=10.11.0.2,10.11.0.3,10.11.0.4,10.11.0.5",
        "--model=resnet50",
    ]


def test_oneflow_offers_the_cases_of_the_report() -> None:
    profile = CATALOG.get("oneflow-resnet50")
    assert profile.matrix.cases == ("1n1g", "1n2g", "1n4g", "1n8g", "2n8g", "4n8g")
    assert profile.parameters["batch_size"].choices == (128, 160)


def test_oneflow_throughput_is_the_mean_without_the_first_reading() -> None:
    values = [288.088, 385.628, 386.264, 385.723, 384.622, 385.367, 384.704, 384.927]
    values += [384.109, 384.517]
    log = "".join(
        f"train: epoch 0, iter {20 * (index + 1)}, loss: 6.505637, top_1: 0.020313, "
        f"top_k: 0.117578, samples/s: {value}\n"
        for index, value in enumerate(values)
    )
    profile, case = case_of("oneflow-resnet50", "1n1g")
    parser = LogParser(profile, case)
    parser.feed(log.encode())
    parser.finish()
    measured = measure_run(profile, case, parser)
    assert measured.throughput == pytest.approx(sum(values[1:]) / 9)
    assert (measured.readings, measured.used) == (10, 9)
    assert parser.metrics["top1"] == pytest.approx(2.0313)  # percent; the log has a fraction


# paddle-resnet50


PADDLE_FLAGS = """--class_dim=1000 --validate=False --model=ResNet50 --print_step=1
--lr_strategy=piecewise_decay --momentum_rate=0.875 --image_shape 3 224 224 --max_iter=120
--model_save_dir=output/ --l2_decay=0.000030518 --warm_up_epochs=1 --use_mixup=False
--use_label_smoothing=True --label_smoothing_epsilon=0.1"""


def test_paddle_drives_the_gpus_of_one_node_from_one_process() -> None:
    (command,) = commands("paddle-resnet50", "1n8g")
    assert command.argv[:2] == ("python3", "train.py")
    assert command.workdir == "/given/checkout"
    assert_in_order(command.argv, PADDLE_FLAGS)
    for word in ("--batch_size=1024", "--lr=1.024", "--total_images=54289"):
        assert word in command.argv
    assert command.environment["FLAGS_fraction_of_gpu_memory_to_use"] == "0.98"
    assert command.environment["CUDA_VISIBLE_DEVICES"] == "0,1,2,3,4,5,6,7"


def test_paddle_starts_the_same_script_on_every_node_with_its_own_address() -> None:
    planned = commands("paddle-resnet50", "2n8g")
    for address, command in zip(ADDRESSES[:2], planned, strict=True):
        assert_in_order(
            command.argv,
            "python3 -m paddle.distributed.launch --cluster_node_ips=10.11.0.2,10.11.0.3 "
            f"--node_ip={address} train.py",
        )
        assert_in_order(command.argv, PADDLE_FLAGS)
        # The batch size of train.py is a node's, not the cluster's.
        assert "--batch_size=1024" in command.argv


def test_paddle_throughput_is_by_the_timestamps_of_batches_20_and_119() -> None:
    def line(batch: int) -> str:
        # 0.37 s a batch, but the first twenty take long.
        second = 500 + (batch - 20) * 0.37 if batch >= 20 else batch * 20
        minute, rest = divmod(second, 60)
        clock = f"2020-08-27 11:{int(minute):02d}:{int(rest):02d},{round(rest % 1 * 1000):03d}"
        return f"{clock}-INFO: [Pass 0, train batch {batch}] \tloss 6.9, elapse 0.1234 sec\n"

    profile, case = case_of("paddle-resnet50", "1n1g")
    parser = LogParser(profile, case)
    parser.feed("".join(line(batch) for batch in range(120)).encode())
    parser.finish()
    measured = measure_run(profile, case, parser)
    assert measured.throughput == pytest.approx(128 / 0.37, rel=1e-3)


# ngc-tensorflow-resnet50


BENCHMARK = """--mode=training_benchmark --use_xla --warmup_steps 200 --num_iter 500
--iter_unit batch --batch_size 256 --data_dir=./data/tfrecords/"""
TF_AMP = "--use_tf_amp --use_static_loss_scaling --loss_scale=128"


@pytest.mark.parametrize(("precision", "more"), [("fp32", ""), ("amp", TF_AMP)])
def test_ngc_tensorflow_runs_one_gpu_in_the_container(precision: str, more: str) -> None:
    (command,) = commands("ngc-tensorflow-resnet50", "1n1g", precision=precision)
    assert_in_order(
        command.argv,
        "docker run --rm --ipc=host -v /given/data_dir:/data/tfrecords nvidia_rn50_tf "
        f"python ./main.py {BENCHMARK} "
        f"--results_dir=/tmp/result/gpu1_{precision}_bs256 {more}",
    )
    assert ("--use_tf_amp" in command.argv) == (precision == "amp")


def test_ngc_tensorflow_runs_eight_gpus_by_mpiexec_inside_the_container() -> None:
    (command,) = commands("ngc-tensorflow-resnet50", "1n8g")
    assert_in_order(
        command.argv,
        "docker run nvidia_rn50_tf mpiexec --allow-run-as-root --bind-to socket -np 8 "
        f"python3 main.py {BENCHMARK}",
    )


def test_ngc_tensorflow_runs_thirty_two_gpus_by_mpirun() -> None:
    first, *others = commands("ngc-tensorflow-resnet50", "4n8g")
    assert_in_order(
        first.argv,
        f"mpirun -np 32 -x PATH python main.py {BENCHMARK} "
        "--results_dir=./results/gpu32_fp32_bs256",
    )
    assert "10.11.0.2:8,10.11.0.3:8,10.11.0.4:8,10.11.0.5:8" in first.argv
    assert "docker" not in first.argv
    assert all(not other.argv for other in others)
    assert_in_order(
        first.argv,
        "--bind-to none --tag-output -x NCCL_IB_GID_INDEX -x NCCL_IB_DISABLE -timestamp-output "
        "-mca btl_tcp_if_exclude docker0,lo,matrixdummy0,matrix0 -x LD_LIBRARY_PATH",
    )
    assert first.environment["NCCL_IB_GID_INDEX"] == "3"
    assert not any("lr_init" in word for word in first.argv)
    mixed, *_ = commands("ngc-tensorflow-resnet50", "4n8g", precision="amp")
    assert_in_order(
        mixed.argv, "--use_tf_amp --use_static_loss_scaling --loss_scale=128 --lr_init=0.01"
    )
    assert mixed.environment == first.environment
    (eight,) = commands("ngc-tensorflow-resnet50", "1n8g", precision="amp")
    assert not any("lr_init" in word for word in eight.argv)


def test_ngc_tensorflow_skips_the_warm_up_and_sums_up_where_mpirun_does() -> None:
    log = "".join(
        f"DLL 2022-11-24 04:11:31.352262 - (0, {step}) total_ips : {9000 + step} \n"
        for step in range(200, 500, 10)
    )
    log += "DLL 2022-11-24 04:12:37.618463 - () train_throughput : 1.5 images/s\n"
    for tag, expected in (("1n8g", 9000 + sum(range(250, 500, 10)) / 25), ("4n8g", 1.5)):
        profile, case = case_of("ngc-tensorflow-resnet50", tag)
        parser = LogParser(profile, case)
        parser.feed(log.encode())
        parser.finish()
        assert measure_run(profile, case, parser).throughput == pytest.approx(expected)


# ngc-pytorch-resnet50, benchmark and convergence


def test_ngc_pytorch_benchmark_trains_only_and_joins_hosts_by_multiproc() -> None:
    training = "--arch resnet50 -b 256 --training-only -p 1 --raport-file benchmark.json"
    (one,) = commands("ngc-pytorch-resnet50", "1n1g", precision="amp")
    assert_in_order(
        one.argv,
        f"docker -v /given/data_dir:/imagenet nvidia_rn50_pytorch python ./main.py {training} "
        "--epochs 1 --prof 100 --amp --static-loss-scale 256 /imagenet",
    )
    (eight,) = commands("ngc-pytorch-resnet50", "1n8g")
    assert_in_order(
        eight.argv, f"python ./multiproc.py --nproc_per_node 8 ./main.py {training} /imagenet"
    )
    assert "--nnodes" not in eight.argv
    for rank, command in enumerate(commands("ngc-pytorch-resnet50", "4n8g")):
        assert_in_order(
            command.argv,
            "python ./multiproc.py --master_addr 10.11.0.2 --master_port 29511 --nnodes 4 "
            f"--nproc_per_node 8 --node_rank {rank} ./main.py",
        )


CONVERGENCE = "./launch.py --model resnet50 --precision AMP --mode convergence --platform DGX1V"


def test_ngc_pytorch_convergence_trains_90_epochs_without_mixup() -> None:
    (command,) = commands("ngc-pytorch-resnet50-convergence", "1n1g")
    assert_in_order(
        command.argv,
        f"python {CONVERGENCE} /imagenet --epochs 90 --mixup 0.0 --workspace ./ "
        "--raport-file raport.json",
    )
    assert "./multiproc.py" not in command.argv


def test_ngc_pytorch_convergence_looks_for_the_best_accuracy_on_eight_gpus() -> None:
    (command,) = commands("ngc-pytorch-resnet50-convergence", "1n8g", epochs="250")
    assert_in_order(
        command.argv,
        f"python ./multiproc.py --nproc_per_node 8 {CONVERGENCE} /imagenet --workspace ./ "
        "--raport-file raport.json",
    )
    assert "--epochs" not in command.argv


def test_time_to_train_is_from_the_first_line_to_the_last_over_midnight() -> None:
    log = (
        b"DLL 2021-03-01 23:59:50.500000 - PARAMETER epochs : 90\n"
        b"DLL 2021-03-02 00:10:00.000000 - Epoch: 0  train.loss : 3.1 None "
        b"train.compute_ips : 801.00 images/s val.top1 : 20.50 % \n"
        b"DLL 2021-03-02 00:20:00.000000 - Epoch: 1  train.loss : 2.1 None "
        b"train.compute_ips : 859.00 images/s val.top1 : 76.63 % \n"
        b"DLL 2021-03-02 00:20:10.500000 - Summary: train.loss : 2.1 None "
        b"train.compute_ips : 859.24 images/s val.top1 : 76.63 % \n"
    )
    profile, case = case_of("ngc-pytorch-resnet50-convergence", "1n1g")
    parser = LogParser(profile, case)
    parser.feed(log)
    parser.finish()
    assert parser.metrics == pytest.approx({"top1": 76.63, "time_to_train": 1220.0, "loss": 2.1})
    assert measure_run(profile, case, parser).throughput == 859.24


# ngc-tensorflow2-maskrcnn


def test_maskrcnn_runs_the_benchmark_of_the_container() -> None:
    (command,) = commands("ngc-tensorflow2-maskrcnn", "1n8g", batch_size="4", precision="amp")
    assert_in_order(
        command.argv,
        "docker run -v /given/checkout:/workspace/ -v /given/checkout/weights:/model/ "
        "-v /given/data_dir:/data/ /given/image "
        "python scripts/benchmark_training.py --gpus 8 --batch_size 4 --amp",
    )


def test_maskrcnn_on_several_hosts_is_a_todo_of_the_report() -> None:
    profile = CATALOG.get("ngc-tensorflow2-maskrcnn")
    assert "TODO" in profile.description
    assert profile.matrix.exclude == ("nodes > 1",)


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        ("DLL 2021-04-01 10:00:00.0 - () train_throughput : 37.8 samples/sec\n", 37.8),
        (
            "DLL 2021-04-01 10:00:00.0 - () Average_throughput : 37.9 Total processed steps : 2\n",
            37.9,
        ),
        ("", 36.2),
    ],
)
def test_maskrcnn_counts_what_dllogger_says_at_the_end(last: str, expected: float) -> None:
    log = "[MaskRCNN] INFO : throughput: 35.1 samples/sec\nthroughput: 36.2 samples/sec\n" + last
    profile, case = case_of("ngc-tensorflow2-maskrcnn", "1n8g")
    parser = LogParser(profile, case)
    parser.feed(log.encode())
    parser.finish()
    assert measure_run(profile, case, parser).throughput == expected


# The families of the published logs, against the commands that those logs print


def test_paddleclas_is_configured_as_its_logs_say() -> None:
    (command,) = commands("paddleclas-resnet50", "1n8g", precision="pure_fp16")
    assert_in_order(
        command.argv,
        "python -m paddle.distributed.launch --gpus=0,1,2,3,4,5,6,7 ppcls/static/train.py "
        "-c ppcls/configs/ImageNet/ResNet/ResNet50_amp_O2_ultra.yaml "
        "-o DataLoader.Train.loader.num_workers=4 "
        "-o DataLoader.Train.sampler.batch_size=256 -o Global.seed=1234 -o Global.epochs=8 "
        "-o Global.eval_during_train=False -o fuse_elewise_add_act_ops=True -o enable_addto=True",
    )
    (single,) = commands("paddleclas-resnet50", "1n1g")
    assert_in_order(single.argv, "python -u ppcls/static/train.py -c")
    assert "paddle.distributed.launch" not in single.argv
    assert f"--ips={','.join(ADDRESSES)}" in commands("paddleclas-resnet50", "4n8g")[3].argv


def test_mxnet_runs_its_benchmark_once_per_case() -> None:
    (command,) = commands("ngc-mxnet-resnet50", "1n8g", batch_size="192", precision="amp")
    assert_in_order(
        command.argv,
        "python benchmark.py -n 8 -b 192 --dtype float16 -o benchmark_report_fp16.json "
        "-i 500 -e 3 -w 1 --num-examples 32000 --mode train",
    )


@pytest.mark.parametrize("tag", ["1n1g", "1n8g", "4n8g"])
def test_paddlenlp_bert_merges_gradients_as_its_logs_say(tag: str) -> None:
    command = commands("paddlenlp-bert", tag, precision="fp16")[0]
    assert_in_order(
        command.argv,
        "./run_pretrain.py --max_predictions_per_seq 80 --learning_rate 5e-5 --logging_steps 10 "
        "--max_steps 500 --model_type bert --model_name_or_path bert-base-uncased --batch_size 96 "
        "--use_amp True --gradient_merge_steps 88",
    )


@pytest.mark.parametrize(("tag", "gpus", "accumulation"), [("1n1g", 1, 704), ("1n8g", 8, 88)])
def test_ngc_bert_accumulates_to_67584_sequences(tag: str, gpus: int, accumulation: int) -> None:
    (tensorflow,) = commands("ngc-tensorflow-bert", tag, precision="fp16")
    assert_in_order(
        tensorflow.argv,
        f"bash scripts/run_pretraining_lamb.sh 96 64 8 7.5e-4 5e-4 fp16 true {gpus} 2000 200 50 "
        f"200 {accumulation} 512 base",
    )
    (pytorch,) = commands("ngc-pytorch-bert", tag)
    assert_in_order(
        pytorch.argv,
        f"bash scripts/run_pretraining.sh {67584 // gpus} 6e-3 fp32 {gpus} 0.2843 20 200 false "
        f"true true {accumulation}",
    )


def test_ngc_pytorch_bert_tells_every_host_its_rank() -> None:
    planned = commands("ngc-pytorch-bert", "4n8g")
    assert_in_order(
        planned[2].argv,
        "env NUM_NODES=4 NODE_RANK=2 MASTER_NODE=10.11.0.2 MASTER_PORT=29511 bash",
    )


@pytest.mark.parametrize(
    ("precision", "amp", "pure"),
    [("fp32", "False", "False"), ("amp", "True", "False"), ("pure_fp16", "True", "True")],
)
def test_transformer_changes_its_configuration_by_sed(
    tmp_path: Path, precision: str, amp: str, pure: str
) -> None:
    """The shell text of the command really makes the configuration that the logs print."""
    (command,) = commands("paddlenlp-transformer", "1n8g", precision=precision, batch_size="2560")
    shell = command.argv[command.argv.index("sh") :]
    text = shell[2].replace("/tmp/", f"{tmp_path}/")
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "transformer.big.yaml").write_text(
        "random_seed: 128\nbatch_size: 4096\nmax_iter: None\nis_distributed: False\n"
        "use_amp: False\nuse_pure_fp16: False\ninfer_batch_size: 8\n"
    )
    start = shell.index("python")
    done = subprocess.run(
        [*shell[:2], text, *shell[3:start], "echo", *shell[start:]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (tmp_path / "transformer.big.yaml").read_text() == (
        "random_seed: 128\nbatch_size: 2560\nmax_iter: 3000\nis_distributed: True\n"
        f"use_amp: {amp}\nuse_pure_fp16: {pure}\ninfer_batch_size: 8\n"
    )
    assert done.stdout.startswith("python -m paddle.distributed.launch --log_dir=./mylog")
    assert "static/train.py --distributed --config" in done.stdout


def test_paddleseg_and_mmseg_train_what_their_logs_print() -> None:
    (hrnet,) = commands("paddleseg-hrnet", "1n1g", precision="fp16")
    assert_in_order(
        hrnet.argv,
        "python tools/train.py "
        "--config test_tipc/configs/fcn_hrnetw18/fcn_hrnetw18_1024x512_cityscapes.yml "
        "--device gpu --save_interval 500 --seed 100 --num_workers 8 --iters=400 "
        "--precision=fp16 --amp_level=O2 --batch_size=8 --log_iters 15 --repeats 500",
    )
    deeplab = commands("paddleseg-deeplabv3p", "4n8g")[1]
    assert_in_order(
        deeplab.argv,
        "train.py --config benchmark/deeplabv3p.yml --batch_size 4 --num_workers 8 "
        "--data_format NCHW",
    )
    mmseg = commands("mmseg-hrnet", "4n8g")[3]
    assert_in_order(
        mmseg.argv,
        "python3 -m torch.distributed.launch --nproc_per_node=8 --nnodes=4 --node_rank=3 "
        "--master_addr=10.11.0.2 --master_port=29511 tools/train.py "
        "configs/hrnet/fcn_hr18_512x1024_80k_cityscapes.py --launcher pytorch --no-validate "
        "--max_iters 10 --log_iters 2 --batch_size 8 --num_workers 8",
    )


# What people run today


def test_nccl_tests_drives_a_host_from_one_process_and_several_by_mpirun() -> None:
    (one,) = commands("nccl-tests", "1n8g", collective="alltoall", precision="bf16")
    assert " ".join(one.argv) == (
        "/given/binary_dir/alltoall_perf -b 8 -e 8G -f 2 -n 20 -d bfloat16 -g 8"
    )
    first, second = commands("nccl-tests", "2n8g")
    assert second.argv == ()
    assert_in_order(
        first.argv,
        "mpirun -np 16 --host 10.11.0.2:8,10.11.0.3:8 --tag-output "
        "/given/binary_dir/all_reduce_perf -b 8 -e 8G -f 2 -n 20 -d float -g 1",
    )


@pytest.mark.parametrize("name", sorted(COLLECTIVES))
def test_one_device_has_no_collective(name: str) -> None:
    with pytest.raises(SelectionError, match="gpus < 2"):
        expand(CATALOG.get(name), ["1n1g"], {})


def test_torch_resnet50_is_started_by_torchrun_on_every_node() -> None:
    planned = commands("torch-resnet50", "2n8g", precision="amp")
    for rank, command in enumerate(planned):
        assert_in_order(
            command.argv,
            f"torchrun --nnodes=2 --node-rank={rank} --nproc-per-node=8 --master-addr=10.11.0.2 "
            "--master-port=29511 torch_resnet50.py --batch-size 256 --precision amp "
            "--compile off --graphs off",
        )


@pytest.mark.parametrize(("compiled", "expected"), [("off", 2000.0), ("on", 3000.0)])
def test_torch_resnet50_never_counts_compiling(compiled: str, expected: float) -> None:
    profile, case = case_of("torch-resnet50", "1n1g", compile=compiled)
    parser = LogParser(profile, case)
    for step, speed in ((1, 500.0), (2, 1500.0), (3, 3000.0)):
        line = f"train: epoch 0, iter {step}, loss: 6.9, samples/s: {speed:.3f}, mem: 27915\n"
        parser.feed(line.encode())
    parser.finish()
    assert measure_run(profile, case, parser).throughput == pytest.approx(expected)


def test_torch_gpt_is_started_with_every_parameter() -> None:
    chosen = {"size": "1.3b", "parallel": "fsdp2", "sequence_length": "2048", "batch_size": "8"}
    for rank, command in enumerate(commands("torch-gpt", "2n8g", **chosen)):
        assert_in_order(
            command.argv,
            f"torchrun --nnodes=2 --node-rank={rank} --nproc-per-node=8 torch_gpt.py --size 1.3b "
            "--batch-size 8 --max-micro-batch 0 --sequence-length 2048 --precision bf16 "
            "--parallel fsdp2 --compile blocks --checkpointing off --attention auto",
        )


def test_torch_allreduce_is_started_by_torchrun_on_every_node() -> None:
    planned = commands("torch-allreduce", "2n8g", precision="fp32")
    for rank, command in enumerate(planned):
        assert_in_order(
            command.argv,
            f"torchrun --nnodes=2 --node-rank={rank} --nproc-per-node=8 torch_allreduce.py "
            "--dtype fp32 --min-size 4K --max-size auto --trials 20 --warmup 5",
        )


def test_cpu_smoke_gives_every_node_its_rank_and_the_run_as_token() -> None:
    planned = commands("cpu-smoke", "2n2g")
    for rank, command in enumerate(planned):
        assert_in_order(
            command.argv,
            f"python3 cpu_smoke.py --nodes 2 --node-rank {rank} --devices 2 --batch-size 32 "
            "--master-address 10.11.0.2 --master-port 29511 --token run-7 --seconds 8",
        )


@pytest.mark.parametrize(
    ("name", "path", "groups"),
    [
        ("oneflow-resnet50", "resnet50/4n8g/r50_b128_fp32_1.log", "4 8 128 fp32 1"),
        ("paddle-resnet50", "logs/paddle/resnet50/1n8g/r50_b128_fp32_6.log", "1 8 128 fp32 6"),
        ("ngc-tensorflow-resnet50", "logs/tf_gpu8_amp_bs256.txt", "8 amp 256"),
        ("ngc-pytorch-resnet50-convergence", "logs/1gpu_time2train_ips.log", "1 time2train_ips"),
        ("ngc-pytorch-resnet50-convergence", "logs/8gpu_accuracy_2.log", "8 accuracy 2"),
        ("ngc-tensorflow2-maskrcnn", "./tf_gpu1_fp32_bs2.txt", "1 fp32 2"),
        ("ngc-pytorch-resnet50", "pytorch_gpu32_fp32_bs256.txt", "32 fp32 256"),
        (
            "paddleclas-resnet50",
            "PaddleClas_ResNet50_bs256_pure_fp16_DP_N1C8_log",
            "256 pure_fp16 1 8",
        ),
        ("paddleseg-hrnet", "logs/paddle/Hrnet_FP16_BS8-N32.log", "FP16 8 32"),
    ],
)
def test_paths_of_the_reports_tell_their_cases(name: str, path: str, groups: str) -> None:
    found = [re.search(pattern, path) for pattern in CATALOG.get(name).import_.paths]
    told = [" ".join(filter(None, match.groups())) for match in found if match]
    assert groups in told


def test_the_reports_own_log_of_a_convergence_is_recognised() -> None:
    profile = CATALOG.get("ngc-pytorch-resnet50-convergence")
    log = recognise(profile, "logs/1gpu_time2train_ips.log")
    assert log is not None
    assert (log.case.tag, log.case.parameters["epochs"]) == ("1n1g", 90)
    accuracy = recognise(profile, "logs/8gpu_accuracy.log")
    assert accuracy is not None
    assert (accuracy.case.tag, accuracy.case.parameters["epochs"]) == ("1n8g", 250)


def test_the_worked_example_of_the_docs_is_a_profile_that_does_what_they_say(
    tmp_path: Path,
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "profiles.md").read_text(encoding="utf-8")
    example, *_of_json = re.findall(r"^```toml\n(.*?)^```", text, re.M | re.S)
    printed = re.findall(r"^    (step \d+ .*)$", text, re.M)
    path = tmp_path / "acme-acmenet.toml"
    path.write_text(example, encoding="utf-8")
    profile = Catalog.load().get(str(path))
    case = expand(profile, ["2n8g"], {})[0]
    assert "--batch 1024" in profile.launch_for(case).command
    parser = LogParser(profile, case)
    parser.feed("\n".join(printed).encode())
    parser.finish()
    assert [(reading.step, reading.value) for reading in parser.readings] == [
        (100, 1843.2),
        (200, 1851.9),
    ]
    assert parser.metrics == {"loss": 2.17}
    assert list(example_flaws(profile)) == []


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        (
            "cpu-smoke",
            "cpu_smoke: node 0: cannot listen on 127.0.0.1 port 29500: Address already in use",
            "the rendezvous port is in use",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 1: cannot join node 0 at 10.11.0.2 port 29500: No route to host",
            "the nodes cannot reach each other",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 0: node 1, 2 did not connect in time",
            "the nodes cannot reach each other",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 0: lost node 1 (it closed the connection)",
            "another node was lost",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 1: node 0: lost node 2 (it closed the connection)",
            "another node was lost",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 1: node 2 was ended by SIGTERM",
            "another node was lost",
        ),
        (
            "cpu-smoke",
            "cpu_smoke: node 0: device 1 of node 1 was ended by SIGKILL",
            "a device process was killed",
        ),
        (
            "torch-gpt",
            "torch_gpt: local rank 3 has no GPU: PyTorch sees 1 on this host",
            "fewer GPUs are visible than the case needs",
        ),
        (
            "torch-gpt",
            "torch_gpt: bf16 needs an NVIDIA GPU of the Ampere generation or newer",
            "the GPU is too old for this precision",
        ),
        (
            "torch-gpt",
            "torch_gpt: fsdp2 needs PyTorch 2.4 or newer, not 2.1.2+cu121",
            "this PyTorch is too old for what was asked",
        ),
        (
            "torch-allreduce",
            "torch_allreduce: local rank 3 has no GPU: PyTorch sees 1 on this host",
            "fewer GPUs are visible than the case needs",
        ),
        (
            "torch-allreduce",
            "torch_allreduce: no size fits: bytes 4096: the device with least has 9 free",
            "the smallest size does not fit into the memory that is free",
        ),
        (
            "torch-allreduce",
            "torch_allreduce: group host1: its ranks add up to 3, not 5",
            "the all-reduce gives wrong sums",
        ),
        (
            "torch-allreduce",
            "[rank1]: torch.distributed.DistBackendError: NCCL error in: a.cpp:1, remote error",
            "NCCL failed",
        ),
        (
            "torch-resnet50",
            "torch_resnet50: local rank 3 has no GPU: PyTorch sees 1 on this host",
            "fewer GPUs are visible than the case needs",
        ),
        (
            "torch-resnet50",
            "torch_resnet50: tf32 needs an NVIDIA GPU of the Ampere generation or newer",
            "the GPU is too old for this precision",
        ),
        (
            "torch-resnet50",
            "torch_resnet50: amp is bfloat16 here: it needs the Ampere generation or newer",
            "the GPU is too old for this precision",
        ),
    ],
)
def test_what_the_workloads_say_when_they_fail_has_a_reason(
    name: str, line: str, reason: str
) -> None:
    profile = CATALOG.get(name)
    parser = LogParser(profile, expand(profile, None, {})[0])
    parser.feed(f"{line}\n".encode())
    parser.finish()
    assert [failure.reason for failure in parser.failures][:1] == [reason]


# megatron-lm: its last rank prints the readings


def test_megatrons_last_rank_is_on_the_first_host() -> None:
    told = []
    for command in commands("megatron-lm", "2n8g"):
        words = ["echo" if word == "torchrun" else word for word in command.argv]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        told.append(done.stdout.split())
    for rank, words in zip((1, 0), told, strict=True):
        assert words[:6] == [
            "--nnodes=2",
            f"--node-rank={rank}",
            "--nproc-per-node=8",
            f"--master-addr={ADDRESSES[1]}",
            "--master-port=29511",
            "/given/checkout/pretrain_gpt.py",
        ]
        assert words[-4:] == ["--eval-interval", "200", "--eval-iters", "1"]
