"""A model that was split into several GGUF files, such as `model-00001-of-00003.gguf`, as one header.

The first file has the metadata, each has tensors of its own. Any of them may be named.
"""

import re
from dataclasses import replace
from pathlib import Path

from glasscli.checkpoint.gguf.header import Header, read_header
from glasscli.checkpoint.safetensors_file import TensorInfo
from glasscli.errors import CheckpointError
from glasscli.untrusted_files import file_inside, quoted

_NAME = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


def read_model(path: Path) -> tuple[Header, list[Path]]:
    """The header of a whole model, and its files in order.

    Raises:
        CheckpointError: as `read_header`; or a part is missing, of another model, or out of its place.
    """
    header = read_header(path)
    count = header.metadata.get("split.count", 0)
    if count in (0, 1):
        return header, [path]
    named = _NAME.fullmatch(path.name)
    if type(count) is not int or named is None or count != int(named[3]):
        raise CheckpointError(f"{path}: is a part of {count}; such files are named …-00001-of-{count!s:0>5}.gguf")
    files = [path if i == int(named[2]) else _part(path, named[1], i, count) for i in range(1, count + 1)]
    headers = [header if file == path else read_header(file) for file in files]
    tensors: dict[str, TensorInfo] = {}
    for i, (file, part) in enumerate(zip(files, headers, strict=True)):
        if part.metadata.get("split.count") != count or part.metadata.get("split.no") != i:
            raise CheckpointError(f"{file}: does not say that it is part {i + 1} of {count}")
        for name, info in part.tensors.items():
            if name in tensors:
                raise CheckpointError(f"{file}: holds tensor {quoted(name)}, which {tensors[name].file.name} has too")
            tensors[name] = info
    total = headers[0].metadata.get("split.tensors.count", len(tensors))
    if total != len(tensors):
        raise CheckpointError(f"{files[0]}: speaks of {total} tensors, and its {count} parts hold {len(tensors)}")
    return replace(headers[0], tensors=tensors), files


def _part(path: Path, stem: str, number: int, count: int) -> Path:
    name = f"{stem}-{number:05}-of-{count:05}.gguf"
    try:
        return file_inside(path.parent, name)
    except CheckpointError as error:
        raise CheckpointError(f"{str(error).partition(';')[0]}; {path.name} is one of {count} parts") from None
