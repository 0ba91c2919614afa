"""Where the command `nashfold` starts: the rest is imported under its eyes, as it takes a while."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line; Ctrl-C while it still loads ends it as quietly as later."""
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        print("nashfold: interrupted", file=sys.stderr)
        return 130
