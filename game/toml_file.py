"""Reading a TOML file into an object, with the file's name in every complaint."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def read_toml(path: str | Path, build: Callable[[dict[str, Any]], T]) -> T:
    """What `build` makes of the keys of a TOML file.

    Raises ValueError, with the file's name, where it cannot be read, is no TOML, or `build` raises one.
    """
    try:
        return build(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
