"""Export of policies to files that run without Vulcan.

    files = find_exporter("python").export(policy, provenance)

`policy_source` reads the policy back out of an exported module.
"""

from vulcan.export.formats import EXPORTERS, Exporter, export_refusal, find_exporter
from vulcan.export.pack_formats import hidden_by
from vulcan.export.provenance import Provenance
from vulcan.export.source import policy_source

__all__ = [
    "EXPORTERS",
    "Exporter",
    "Provenance",
    "export_refusal",
    "find_exporter",
    "hidden_by",
    "policy_source",
]
