"""Results files behind the pages of docs/studies, which the repository contains compressed (`docs/studies/runs/*.jsonl.gz`)."""

import gzip
from pathlib import Path


def unpack(path: Path) -> Path:
    """Returns `path`, after writing it from `path`.gz if only that exists."""
    packed = path.with_name(path.name + ".gz")
    if packed.exists() and not path.exists():
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


def pack(path: Path) -> None:
    """Replaces `path` by `path`.gz. A compressed file with the same content keeps its bytes."""
    packed, content = path.with_name(path.name + ".gz"), path.read_bytes()
    if not packed.exists() or gzip.decompress(packed.read_bytes()) != content:
        packed.write_bytes(gzip.compress(content, 9, mtime=0))
    path.unlink()
