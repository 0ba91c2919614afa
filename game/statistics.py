"""The one statistic of scores and matches."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np


def standard_error(values: np.ndarray) -> float:
    """Standard error of the mean of independent values; not a number for less than two."""
    return float(values.std(ddof=1) / sqrt(len(values))) if len(values) > 1 else nan
