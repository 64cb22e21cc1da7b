"""A simulator of language-model servers: engines with continuous batching and a KV cache, and routers before them.

`from vulcan_serving import ServingSpec, ServingWorkload, simulate` runs policies of the tasks `request_scheduling` and
`request_routing`.
"""

from vulcan_serving.server import SERVERS, Server
from vulcan_serving.simulate import ServingRun, pace, simulate
from vulcan_serving.spec import ServingSpec
from vulcan_serving.workload import ServingWorkload

__all__ = ["SERVERS", "Server", "ServingRun", "ServingSpec", "ServingWorkload", "pace", "simulate"]
