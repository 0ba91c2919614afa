"""Files that keep the hands of a session, one appended after the other."""

from __future__ import annotations

import os
import re
import tomllib
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from ..game.acpc import match_state_text, parse_match_state
from ..game.hand import Hand, new_hand
from ..game.phh import phh_text
from ..game.rules import Rules


class History:
    """A file of hands as one player saw them.

    A PHH collection; for games that PHH cannot express a file of match states of the ACPC protocol: the
    last one of every hand, one a line.

    Args:
        path: the file, made with the first hand or continued, with the numbers going on; None: a new one in
            this folder, named after the game.
        rules: the game.

    Raises ValueError for a file that is there but is none of these; OSError if it cannot be written.
    """

    def __init__(self, path: str | Path | None, rules: Rules):
        self._rules = rules
        try:
            phh_text(new_hand(rules, seed=0))
            self._is_phh = True
        except ValueError:
            self._is_phh = False
        ending = "phhs" if self._is_phh else "states"
        self.path = _new_path(f"{rules.name}-{date.today()}", ending) if path is None else Path(path)
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"{self.path} is no regular file: name another one for the history")
        if not os.access(self.path if self.path.exists() else self.path.parent, os.W_OK):
            raise ValueError(f"{self.path} cannot be written: name another file for the history")
        self._size, self._last = -1, 0  # bytes of the file, and the number of the last hand in it
        self._ending = ""  # what must come before another hand
        self._look()

    def _look(self) -> None:
        """Find the last hand of the file, unless nobody has changed its size since."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._size:
            return
        text = self.path.read_text("utf-8", "backslashreplace") if size else ""
        try:
            self._last = _last_table(text) if self._is_phh else _last_state(text, self._rules)
        except ValueError as error:
            raise ValueError(f"{self.path} cannot be continued ({error}): name another file") from None
        self._ending = "\n" if text and not text.endswith("\n") else ""

    def add(self, hand: Hand, names: tuple[str, str], viewer: int, **fields: Any) -> None:
        """Append a hand, over or in play, as `viewer` saw it; on return it is on the disk.

        Args:
            hand: the hand.
            names: of player 0 and player 1.
            viewer: the position whose view it is.
            fields: user-defined fields of PHH, with a leading underscore.

        Raises OSError where it cannot be written; the file then ends as before.
        """
        self._look()
        number = self._last + 1
        if self._is_phh:
            text = phh_text(hand, hand_number=number, players=names, viewer=viewer, **fields)
            text = f"[{number}]\n{text}\n"
        else:
            text = f"# {names[0]}|{names[1]}\n{match_state_text(number, hand.observation(viewer))}\n"
        data = (self._ending + text).encode()
        with self.path.open("ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                written = 0
                while written < len(data):
                    written += file.write(data[written:])
                os.fsync(file.fileno())
            except OSError:
                with suppress(OSError):
                    file.truncate(end)
                raise
        self._size, self._last, self._ending = end + len(data), number, ""


def _last_table(text: str) -> int:
    """Largest number of a hand in a PHH collection, 0 in an empty one."""
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ValueError("its tables are nested too deeply") from None
    for name, table in tables.items():
        if not (name.isascii() and name.isdecimal() and isinstance(table, dict) and "variant" in table):
            raise ValueError(f"it is no collection of hands: {name}")
    return max(map(int, tables), default=0)


def _last_state(text: str, rules: Rules) -> int:
    """Largest number of a hand in a file of match states, 0 in an empty one."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return max((parse_match_state(line, rules)[0] for line in lines), default=0)


def _new_path(stem: str, ending: str) -> Path:
    stem, number = re.sub(r"[^\w.-]", "_", stem), 1
    while (path := Path(f"{stem}-{number}.{ending}")).exists():
        number += 1
    return path
