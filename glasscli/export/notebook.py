"""What notebooks show of a run: the page of a dump in a frame of its own; of a bare trace, its maps and arrays.

A frame is a document by itself, so that the page's script and style meet nobody else's, and it may do nothing but run
that script. What is shown without one is plain HTML.
"""

import base64
import struct
import zlib
from html import escape

import numpy as np

from glasscli.arrays import Array
from glasscli.export.html import page
from glasscli.inspect.dump import Dump
from glasscli.inspect.pool import max_pool
from glasscli.inspect.trace import FIELDS, LayerTrace

MAX_NUMBERS = 400_000  # of a page in a notebook, which keeps every output it ever showed: below 4 MB
HEIGHT = 860
_SIDE = 64  # cells along one side of a small map
_MAPS = 64
_INK = (42, 109, 180)  # in all strengths, on paper of any colour


def framed(dump: Dump) -> str:
    """The page of a dump, in a frame."""
    document = page(dump, MAX_NUMBERS).encode("utf-8", "replace").decode()
    return (
        f'<iframe title="{escape(f"attention of {dump.title}")}" sandbox="allow-scripts" '
        f'style="width:100%;height:{HEIGHT}px;border:0" srcdoc="{escape(document)}"></iframe>'
    )


def maps_and_arrays(trace: LayerTrace) -> str:
    """The softmax of each head as a small picture, and a line for each array: name, shape, rms, least, most."""
    n_heads, n_queries, n_keys = trace.pattern_HTS.shape
    pool = -(-max(n_queries, n_keys) // _SIDE)
    pictures = "".join(_picture(trace, head, pool) for head in range(min(n_heads, _MAPS)))
    more = f"<p>… {n_heads - _MAPS} more heads</p>" if n_heads > _MAPS else ""
    lines = "".join(
        _line(place, name, getattr(trace, name)) for place, name in FIELDS.items() if getattr(trace, name) is not None
    )
    heading = "".join(f"<th>{name}</th>" for name in ("place", "array", "shape", "rms", "min", "max"))
    return (
        f"<p><b>layer {trace.layer}</b> · {n_heads} heads · {n_queries} queries × {n_keys} keys from {trace.start}</p>"
        f'<div style="display:flex;flex-wrap:wrap;gap:8px">{pictures}</div>{more}'
        f"<table><tr>{heading}</tr>{lines}</table>"
    )


def _picture(trace: LayerTrace, head: int, pool: int) -> str:
    values, _ = max_pool(trace.pattern_HTS[head], trace.mask_TS, pool, pool)
    data = base64.b64encode(shaded_png(values)).decode()
    name = f"layer {trace.layer} head {head}"
    return (
        f'<figure style="margin:0"><img alt="{name}" src="data:image/png;base64,{data}" style="width:96px;'
        f'min-height:12px;image-rendering:pixelated;border:1px solid #8888"><figcaption>{name}</figcaption></figure>'
    )


def shaded_png(weights_TS: Array) -> bytes:
    """Weights from 0 to 1 as a PNG, a pixel each: one colour, as opaque as the weight is large.

    Source: W3C, Portable Network Graphics, 3rd edition, sections 5 and 11.
    """
    height, width = weights_TS.shape
    pixels = np.empty((height, width, 4), np.uint8)
    pixels[..., :3] = _INK
    pixels[..., 3] = np.rint(255 * np.clip(weights_TS, 0, 1)).astype(np.uint8)
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)  # 0: this row is not filtered
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits each of red, green, blue and opacity
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _line(place: str, name: str, array: Array) -> str:
    shape = " × ".join(str(n) for n in array.shape)
    values = array[np.isfinite(array)].astype(np.float64)
    facts = (np.sqrt(np.mean(values**2)), values.min(), values.max()) if values.size and array.dtype != np.bool else ()
    cells = (place, name, shape, *(f"{fact:.2f}" for fact in facts))
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
