"""A policy as a recovery strategy of SkyPilot's managed jobs: the class `PolicyStrategyExecutor`."""

import asyncio

import sky.jobs.recovery_strategy
import sky.server.plugins
import sky.utils.registry

from vulcan_spot.exported.stand_ins import SpotRun

# --- exported modules have the policy above this line ---


@sky.utils.registry.JOBS_RECOVERY_STRATEGY_REGISTRY.type_register(name="VULCAN")
class PolicyStrategyExecutor(sky.jobs.recovery_strategy.FailoverStrategyExecutor):
    """A strategy that asks the policy once a tick, from the launch on.

    A job says how long it takes, when it has to be done and how long a VM takes to start:

        resources:
          job_recovery: {strategy: VULCAN, duration_hours: 20, deadline_hours: 30, overhead_hours: 0.2}

    Whether spot is available is found by launching it, at most once a tick: what the policy then does not want is let
    go at once. Waiting is to launch nothing until the next tick; on-demand is the same resources without `use_spot`,
    and is kept to the end: while it runs nobody knows of spot, which the policy is told is not there. SkyPilot does
    not know what a job has done, so that work counts by the time that VMs ran, as in the simulator.
    """

    def set_strategy_config(self, config):
        """Take the job's own part of `job_recovery`."""
        known = {f"{name}_hours": 3600.0 for name in ("duration", "deadline", "overhead")} | {"gap_seconds": 1.0}
        if wrong := sorted(({"gap_seconds"} | config.keys()) ^ known.keys()):
            raise ValueError(f"job_recovery takes {', '.join(known)}: look at {', '.join(wrong)}")
        given = {key.split("_")[0] + "_s": float(value) * known[key] for key, value in config.items()}
        self.run = SpotRun(**given)
        self._asked = self._began = self._watching = None

    async def launch(self):
        """Start the job, or wait until the policy starts it."""
        self._began = self._clock()
        return await self._next(recovery=False)

    async def recover(self):
        """Go on after the VM was lost, or let go as the policy wants another one."""
        if self._watching is not None:
            self._watching.cancel()
        await asyncio.to_thread(self._cleanup_cluster)
        asked, self._asked = self._asked, None
        if asked == SpotRun.ON_DEMAND:
            return await self._started(asked, recovery=True)
        if self._began is None:  # the controller was restarted, and what it knew of the job is gone
            self._began = self._clock()
        else:
            await self._next_tick()
        return await self._next(recovery=True)

    async def _next(self, recovery):
        """Ask once a tick until something is to run, and start it."""
        while True:
            spot = await self._started(SpotRun.SPOT, recovery)
            chosen = self.run.tick(spot is not None)
            if spot is not None and chosen == SpotRun.SPOT:
                return spot
            if spot is not None:
                await asyncio.to_thread(self._cleanup_cluster)
            if chosen == SpotRun.ON_DEMAND:
                return await self._started(chosen, recovery)
            await self._next_tick()

    async def _started(self, kind, recovery):
        """When the job was submitted to a VM of that kind; None where there is no spot."""
        is_spot = kind == SpotRun.SPOT
        task = self.dag.tasks[0]
        task.set_resources(type(task.resources)([one.copy(use_spot=is_spot) for one in task.resources]))
        submitted = await self._launch(
            max_retry=1 if is_spot else None, raise_on_failure=not is_spot, recovery=recovery
        )
        if submitted is not None:
            self._watching = asyncio.create_task(self._watch(kind))
        return submitted

    async def _watch(self, kind):
        """Ask once a tick while a VM runs, and let it go where the policy wants something else."""
        while not self.run.is_done:
            await self._next_tick()
            chosen = self.run.tick(kind == SpotRun.SPOT)
            if chosen != kind == SpotRun.SPOT:
                self._asked, self._watching = chosen, None
                await asyncio.to_thread(self._cleanup_cluster)  # which SkyPilot takes for a preemption
                return

    async def _next_tick(self):
        gap = self.run.job.gap_s
        await asyncio.sleep(gap - (self._clock() - self._began) % gap)

    @staticmethod
    def _clock():
        return asyncio.get_running_loop().time()


class PolicyPlugin(sky.server.plugins.BasePlugin):
    """Makes the strategy known to the processes of SkyPilot that load it."""

    def install(self, extension_context):
        """Nothing is left to do: the strategy was registered when this module was imported."""
