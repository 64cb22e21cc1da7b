"""The offline generator: writes and recombines Anvil programs by typed mutation and crossover. No language model."""

from vulcan.generator.proposer import OfflineEvolve

__all__ = ["OfflineEvolve"]
