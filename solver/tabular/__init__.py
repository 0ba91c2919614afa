"""Any two-player, zero-sum, turn-based OpenSpiel game with perfect recall as flat arrays, and CFR on them."""
