"""Loads litellm, which takes seconds, only where a model of it is used."""

from __future__ import annotations

import logging
import os
from typing import Any


def load_litellm() -> Any:
    """The package, made quiet and kept from the network."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # the shipped price table, not a download
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads a .env file into the environment
    import litellm

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        # It writes on standard output, the place of --json; what goes wrong is raised as well
        logging.getLogger(name).setLevel(logging.CRITICAL)

    litellm.telemetry = False
    litellm.suppress_debug_info = True  # else it prints on standard output
    return litellm
