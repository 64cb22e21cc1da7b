"""The offline generator: Anvil programs by typed mutation and crossover, without a language model."""

from vulcan.generator.proposer import OfflineEvolve

__all__ = ["OfflineEvolve"]
