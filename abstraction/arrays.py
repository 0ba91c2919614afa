"""Arrays on disk: a folder with a JSON header and plain .npy files, written whole or not at all."""

from __future__ import annotations

import errno
import glob
import json
import os
import shutil
import threading
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = 1


def save_arrays(path: Path, kind: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a folder beside its old version, sync it and rename it into place.

    Args:
        path: the folder; an old one of the same kind is replaced, anything else is left alone.
        kind: what the folder holds, such as ``"strategy"``.
        header: JSON values to keep with the arrays.
        arrays: numeric arrays by name.

    Raises ValueError if `path` exists and is not a folder of that kind.
    """
    path = Path(path)
    # Refuse to overwrite what is not ours; a folder that another process is just replacing is.
    if all(path.exists() and _read_header(path, kind) is None for _ in range(5)):
        raise ValueError(f"{path} exists and holds no {kind}: nothing was overwritten")
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = f"{os.getpid()}-{threading.get_ident()}"
    fresh = path.with_name(f".{path.name}.{writer}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    entries = {}
    for name, array in arrays.items():
        array = np.ascontiguousarray(array)
        with open(fresh / f"{name}.npy", "wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        entries[name] = {"dtype": array.dtype.str, "shape": array.shape, "crc32": _checksum(array)}
    header = {"nashfold": kind, "format": FORMAT, **header, "arrays": entries}
    text = json.dumps(header | {"crc32": _header_checksum(header)}, indent=1)
    with open(fresh / "header.json", "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    _replace(fresh, path, path.with_name(f".{path.name}.{writer}.old"))


def _replace(fresh: Path, path: Path, old: Path) -> None:
    """Rename a folder into the place of another one, which may be put there by others at any time."""
    while True:
        shutil.rmtree(old, ignore_errors=True)
        with suppress(FileNotFoundError):
            path.rename(old)
        try:
            fresh.rename(path)
            break
        except OSError as error:  # another process was there first: what it wrote is replaced
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
    shutil.rmtree(old, ignore_errors=True)


def load_arrays(
    path: Path, kind: str, memory_map: bool = True
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays of a folder written by `save_arrays`, checked against their checksums.

    Raises ValueError where the folder is missing, of another kind or format, or damaged.
    """
    path = Path(path)
    if not path.exists():  # killed between two renames, `save_arrays` leaves the old folder aside
        for old in list(path.parent.glob(f".{glob.escape(path.name)}.*.old"))[:1]:
            old.rename(path)
    if not path.is_dir():
        reason = "it is a file" if path.exists() else "there is no such folder"
        raise ValueError(f"{path} is no {kind} folder: {reason}")
    header = _read_header(path, kind)
    if header is None:
        raise ValueError(f"{path} holds no {kind}: it has no header.json of one")
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} has format {header.get('format')}, this version reads format {FORMAT}")
    if header.pop("crc32", None) != _header_checksum(header):
        raise ValueError(f"{kind} {path} is damaged: header.json is not the one that was written")
    arrays = {}
    for name, entry in header["arrays"].items():
        file = path / f"{name}.npy"
        try:
            array = np.load(file, mmap_mode="r" if memory_map else None, allow_pickle=False)
        except Exception as error:  # a damaged file can make NumPy raise almost anything
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ValueError(
                f"{kind} {path} is damaged: {file.name} cannot be read ({reason})"
            ) from None
        same_form = array.dtype.str == entry["dtype"] and list(array.shape) == entry["shape"]
        if not same_form or _checksum(array) != entry["crc32"]:
            raise ValueError(f"{kind} {path} is damaged: {file.name} is not the array that was written")
        arrays[name] = array
    return header, arrays


def _read_header(path: Path, kind: str) -> dict[str, Any] | None:
    """The header of a folder of that kind, or None."""
    try:
        header = json.loads((path / "header.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return header if isinstance(header, dict) and header.get("nashfold") == kind else None


def _header_checksum(header: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(header, sort_keys=True).encode())


def _checksum(array: np.ndarray) -> int:
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data) if array.size else 0
