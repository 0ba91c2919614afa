"""TOML: a file read into an object, with its name in every complaint, and values written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from datetime import time
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def read_toml(path: str | Path, build: Callable[[dict[str, Any]], T]) -> T:
    """What `build` makes of the keys of a TOML file.

    Raises ValueError, with the file's name, where it cannot be read, is no TOML, or `build` raises one.
    """
    try:
        return build(tomllib.loads(Path(path).read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except RecursionError:
        raise ValueError(f"{path}: its tables or lists are nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def toml_value(value: Any, key: str) -> str:
    """A value as TOML; ValueError, naming the key, for what it cannot say."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(float(value) if isinstance(value, float) else int(value))
    if isinstance(value, time) and value.tzinfo is None:
        return value.isoformat()
    if isinstance(value, str) and not re.search("[\ud800-\udfff]", value):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item, key) for item in value) + "]"
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        pairs = (f"{toml_value(name, key)} = {toml_value(item, key)}" for name, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise ValueError(f"{key} = {value!r} cannot be written: use texts, numbers, times, lists or tables")
