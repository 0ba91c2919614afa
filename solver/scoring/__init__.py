"""Scores of strategies in the real game."""
