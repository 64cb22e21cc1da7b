"""Proofs that a policy has the properties declared by its task, in the arithmetic that it really computes in.

verify(policy)              # one verdict per property: proved, refuted with a concrete input, or unknown
refuted_required(policy)    # the required property that makes a search reject a candidate
"""

from vulcan.anvil.proofs.claims import check_properties
from vulcan.anvil.proofs.verdict import Counterexample, Verdict, claim_of
from vulcan.anvil.proofs.verify import Refutation, refuted_required, verify

__all__ = ["Counterexample", "Refutation", "Verdict", "check_properties", "claim_of", "refuted_required", "verify"]
