"""Files that keep the hands of a session, one appended after the other."""

from __future__ import annotations

import os
import tomllib
from datetime import date
from pathlib import Path
from typing import Any

from ..game.acpc import LoggedHand, match_state_text
from ..game.hand import Hand, new_hand
from ..game.phh import phh_text
from ..game.rules import Rules


class History:
    """A file of hands: a PHH collection, or the ACPC server's log for games that PHH cannot express.

    Args:
        path: the file, continued if it is there; None: a new one in this folder, named after the game.
        rules: the game.

    Raises ValueError for a file that is there but is no PHH collection; OSError if it cannot be written.
    """

    def __init__(self, path: str | Path | None, rules: Rules):
        try:
            phh_text(new_hand(rules, seed=0))
            self._is_phh = True
        except ValueError:
            self._is_phh = False
        ending = "phhs" if self._is_phh else "log"
        self.path = _new_path(f"{rules.name}-{date.today()}", ending) if path is None else Path(path)
        self._kept = 0
        if self._is_phh and self.path.exists():
            try:
                self._kept = len(tomllib.loads(self.path.read_text("utf-8")))
            except ValueError:
                raise ValueError(f"{self.path} is no PHH collection: name another file") from None
        with self.path.open("a"):  # better now than after the first hand
            pass

    def add(self, hand: Hand, number: int, names: tuple[str, str], viewer: int, **fields: Any) -> None:
        """Append a hand, over or in play, as `viewer` saw it; on return it is on the disk.

        Args:
            hand: the hand.
            number: its number, from 0.
            names: of player 0 and player 1.
            viewer: the position whose view it is (a log shows all cards of a hand that is over).
            fields: user-defined fields of PHH, with a leading underscore; remarks in a log.
        """
        self._kept += 1
        if self._is_phh:
            text = phh_text(hand, hand_number=number + 1, players=names, viewer=viewer, **fields)
            text = f"[{self._kept}]\n{text}\n"
        elif hand.is_over:
            text = f"{LoggedHand(number, hand, hand.winnings, names)}\n"
        else:
            text = f"# not finished: {match_state_text(number, hand.observation(viewer))}\n"
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    def discard_if_empty(self) -> None:
        """Remove the file if nothing was ever written to it."""
        if self.path.exists() and self.path.stat().st_size == 0:
            self.path.unlink()


def _new_path(stem: str, ending: str) -> Path:
    number = 1
    while (path := Path(f"{stem}-{number}.{ending}")).exists():
        number += 1
    return path
