"""An animated picture as a GIF, which plays wherever an image does, with its words beside it.

Each frame is drawn as the other pictures are. The words of all frames stand in the file's comment,
so that a test can read what the film shows.
"""

from __future__ import annotations

import io
import json
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from PIL import Image

from warnings_in_pictures import rows

MOST_BYTES = 1_500_000
COLOURS = 127
"""Of the palette; one more says: as before."""
SAMPLED = 8
"""Frames, evenly spread, whose colours make the palette."""
MARK = "SIMULATED"
NOT_SEEN = ("Cc", "Cf", "Co", "Cn", "Cs")


@dataclass(frozen=True)
class Frame:
    png: bytes
    words: str
    seconds: float


def frame(svg: str, png: bytes, seconds: float) -> Frame:
    """Raises ValueError where a frame would show what no reader should see."""
    words = "\n".join(rows(svg))
    if said := wrong_in(words):
        raise ValueError(f"a frame of the film {said}:\n{words}")
    return Frame(png, words, seconds)


def wrong_in(words: str) -> str:
    """What a frame with these words must not be; empty: nothing."""
    if MARK not in words:
        return f"does not say {MARK}"
    odd = {c for c in words if c != "\n" and unicodedata.category(c) in NOT_SEEN}
    odd |= {"\N{REPLACEMENT CHARACTER}"} & set(words)
    return f"has {sorted(map(ascii, odd))}" if odd else ""


def write_film(frames: Sequence[Frame], path: Path) -> int:
    """Its size in bytes. Of each frame there is in it what differs from the one before.

    Raises ValueError where that is more than ``MOST_BYTES``: the file at *path* stays as it was.
    """
    frames = _without_stills(frames)
    pictures = [Image.open(io.BytesIO(one.png)).convert("RGB") for one in frames]
    palette = _palette(pictures[:: max(1, len(pictures) // SAMPLED)])
    colours = [*(palette.getpalette() or [])[: 3 * COLOURS], 0, 0, 0]
    mapped = [
        np.asarray(one.quantize(palette=palette, dither=Image.Dither.NONE)) for one in pictures
    ]
    changes = [np.where(now == before, COLOURS, now) for before, now in pairwise(mapped)]
    layers = [Image.fromarray(one.astype(np.uint8)) for one in (mapped[0], *changes)]
    for layer in layers:
        layer.putpalette(colours)
    written = io.BytesIO()
    layers[0].save(
        written,
        format="GIF",
        save_all=True,
        append_images=layers[1:],
        duration=[round(1000 * one.seconds) for one in frames],
        loop=0,
        disposal=1,
        transparency=COLOURS,
        optimize=False,
        comment=zlib.compress(json.dumps([one.words for one in frames]).encode(), 9),
    )
    size = written.tell()
    if size > MOST_BYTES:
        raise ValueError(f"the film has {size:,} bytes; {MOST_BYTES:,} are the most")
    path.write_bytes(written.getvalue())
    return size


def _without_stills(frames: Sequence[Frame]) -> list[Frame]:
    """Where nothing changes one frame stays as long as several."""
    kept: list[Frame] = []
    for one in frames:
        if kept and kept[-1].png == one.png:
            kept[-1] = replace(one, seconds=kept[-1].seconds + one.seconds)
        else:
            kept.append(one)
    return kept


def words_of(path: Path) -> list[str]:
    """What each frame of a written film shows."""
    with Image.open(path) as film:
        comment = film.info["comment"]
    return [str(words) for words in json.loads(zlib.decompress(comment))]


def _palette(pictures: Sequence[Image.Image]) -> Image.Image:
    width, height = pictures[0].size
    strip = Image.new("RGB", (width, height * len(pictures)))
    for number, one in enumerate(pictures):
        strip.paste(one, (0, number * height))
    return strip.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, kmeans=1)
