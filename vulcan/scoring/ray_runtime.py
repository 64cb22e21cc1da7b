"""Starts or joins Ray. Ray itself is imported only when that happens."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from vulcan.scoring.attempt import Attempt, one_line

logger = logging.getLogger(__name__)

# Jobs and outcomes are small: Ray's own default, 30 % of the host's memory, would only be in the way
_OBJECT_STORE_BYTES = 100 << 20

_LOOPBACK = "127.0.0.1"


class RayUnavailable(Exception):
    """Ray could not be started or joined; the message says why, in one line."""


class RayRuntime:
    """A Ray to work with: an existing cluster, or one of our own on this machine that ends with `close`.

    The constructor returns at once, and Ray comes up in the background; `wait` says how that went. `address`
    names a cluster to join; without one, the variable RAY_ADDRESS does; without both, Ray is started with
    `workers` processors and without its dashboard, and only this process can use it: it listens on the loopback
    interface, and answers no call without a token made for it. Neither statistics of use nor anything on standard
    output comes from it. Where this process is connected to a Ray already, that one is used and left as it is.
    """

    def __init__(self, workers: int, address: str | None = None, limit: float = 60.0) -> None:
        """`limit` bounds the start in seconds."""
        self._workers = workers
        self._address = address or os.environ.get("RAY_ADDRESS") or None
        self._limit = limit
        self._settled = threading.Event()
        self._leave = threading.Event()
        self._failure: str | None = None
        # Ray's processes die with the thread that starts them, so this one stays until the end
        self._keeper = threading.Thread(target=self._keep, name="vulcan-ray", daemon=True)
        self._keeper.start()

    @property
    def joined(self) -> str | None:
        """The address of the cluster that is joined; None where Ray is our own."""
        return self._address

    def wait(self) -> Any:
        """The `ray` module, once it is connected. Raises RayUnavailable."""
        if not self._settled.wait(self._limit):
            self._leave.set()
            raise RayUnavailable(f"Ray was not up after {self._limit:g} s")
        if self._failure is not None:
            raise RayUnavailable(self._failure)
        import ray

        return ray

    def close(self) -> None:
        """Disconnect, and end a Ray of our own. May be called twice. A start under way is not waited for."""
        self._leave.set()
        if self._settled.is_set():
            self._keeper.join(self._limit)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self) -> None:
        mine = self._connect()
        self._settled.set()
        self._leave.wait()
        if mine:
            import ray

            ray.shutdown()
            if self._address is None:
                _reload_authentication()  # a cluster that this process joins next has another token, or none

    def _connect(self) -> bool:
        """Whether a connection was made, which is to be ended."""
        # read by Ray as it is imported
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        mine = False
        attempt = Attempt()  # it raises plain `Exception` too, such as where it does not come up in its own time
        with attempt:
            import ray

            if not ray.is_initialized():
                self._initialize(ray)
                mine = True
        if attempt.failure is not None:
            where = f"join Ray at {self._address}" if self._address else "start Ray"
            self._failure = one_line(f"cannot {where}: {attempt.failure}", 300)
        return mine

    def _initialize(self, ray: Any) -> None:
        quiet = {"log_to_driver": False, "logging_level": logging.ERROR, "include_dashboard": False}
        if self._address:
            ray.init(address=self._address, **quiet)
            return
        with _private_ray():
            # "local" and not None, which would join any Ray that happens to run on this machine
            own = {"address": "local", "num_cpus": self._workers, "object_store_memory": _OBJECT_STORE_BYTES}
            ray.init(**own, **quiet)
        address = ray.get_runtime_context().gcs_address
        if address.rpartition(":")[0] != _LOOPBACK:
            ray.shutdown()
            raise RuntimeError(f"it listens on {address} and not on the loopback interface alone")


@contextmanager
def _private_ray() -> Iterator[None]:
    """Start a Ray inside this block that binds to the loopback interface and demands a new random token.

    Ray's servers bind to the loopback interface where their node's address is 127.0.0.1. On Linux `ray.init` replaces
    that address by the host's; without `ENABLE_RAY_CLUSTER`, as on macOS and Windows, 127.0.0.1 is what it chooses.
    The token keeps out other users of this host. Ray's processes inherit it, and a candidate's environment is empty.
    """
    from ray._private import ray_constants

    variables = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    before = {name: os.environ.get(name) for name in variables}
    clusters_enabled = ray_constants.ENABLE_RAY_CLUSTER
    os.environ.update(variables)
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        _reload_authentication()
        yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = clusters_enabled
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _reload_authentication() -> None:
    """Have Ray read RAY_AUTH_MODE and the token from the environment again; it does so once, as it is imported."""
    from ray import _raylet

    _raylet.Config.initialize("")  # type: ignore[attr-defined]
    _raylet.AuthenticationTokenLoader.instance().reset_cache()  # type: ignore[attr-defined]
