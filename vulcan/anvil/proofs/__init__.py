"""Proofs: whether a policy has the properties that its task declares, in the arithmetic that it really computes in.

verify(policy)              # a verdict a property: proved, refuted with a concrete input, or unknown
refuted_required(policy)    # what a search rejects a candidate for
"""

from vulcan.anvil.proofs.claims import check_properties
from vulcan.anvil.proofs.verdict import Counterexample, Verdict, claim_of
from vulcan.anvil.proofs.verify import Refutation, refuted_required, verify

__all__ = ["Counterexample", "Refutation", "Verdict", "check_properties", "claim_of", "refuted_required", "verify"]
