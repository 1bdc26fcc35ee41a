"""What a precision's name stands for: ``amp`` is bfloat16 in one program and float16 in another.

Two results are of the same precision only where both say which arithmetic they are, in these words.
"""

from __future__ import annotations

from enum import StrEnum


class Arithmetic(StrEnum):
    """The numbers that the matrix products and convolutions of a training step take.

    ``*-mixed``: with weights and sums in single precision, as automatic mixed precision does it;
    the bare name: weights in that format too. :attr:`SINGLE` is what a framework does by itself
    where a program asks for single precision and forbids nothing: TF32 on GPUs that have it.
    :attr:`UNSTATED` is equal to nothing, not even to itself.
    """

    FP32 = "fp32"
    TF32 = "tf32"
    SINGLE = "fp32-or-tf32"
    FP16 = "fp16"
    FP16_MIXED = "fp16-mixed"
    BF16 = "bf16"
    BF16_MIXED = "bf16-mixed"
    FP8_MIXED = "fp8-mixed"
    UNSTATED = "unstated"


def arithmetic(text: str) -> Arithmetic:
    """The arithmetic of that name; unstated where there is none, or a later version's."""
    try:
        return Arithmetic(text)
    except ValueError:
        return Arithmetic.UNSTATED


def on_gpu(stated: Arithmetic, *, has_tf32: bool | None) -> Arithmetic:
    """What ``stated`` comes to on a GPU; ``has_tf32``: None where the GPU is not known."""
    if stated is not Arithmetic.SINGLE:
        return stated
    if has_tf32 is None:
        return Arithmetic.UNSTATED
    return Arithmetic.TF32 if has_tf32 else Arithmetic.FP32


def same(one: Arithmetic, other: Arithmetic) -> bool:
    return one is other and one not in (Arithmetic.UNSTATED, Arithmetic.SINGLE)
