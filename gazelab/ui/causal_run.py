"""Runs the causal check on the map that is shown, and shows what it came to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from PyQt6.QtCore import QObject

from gazelab.attention.base import EMBEDDED, AttentionModel
from gazelab.attention.causal import CausalCheck, CheckPlan, causal_check
from gazelab.attention.causal.blanking import blanked, filled
from gazelab.attention.worker import ProcessModel, run_with
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.ui.causal_panel import CausalPanel
from gazelab.ui.errand import Errand, Progress
from gazelab.ui.look import Pick
from gazelab.ui.looking import Asked, Looking
from gazelab.ui.workers import Job


class CausalRun(QObject):
    """One check a map; those of the answer that is shown are kept.

    Parameters
    ----------
    errand : Errand
    looking : Looking
        Whose map is checked, and on whose chart what was blanked is shown.
    panel : CausalPanel
    failed : callable
        Told of a fault.
    """

    def __init__(
        self,
        errand: Errand,
        looking: Looking,
        panel: CausalPanel,
        failed: Callable[[GazelabError], None],
    ) -> None:
        super().__init__(looking)
        self._errand, self._looking, self._panel = errand, looking, panel
        self._failed = failed
        self._of: Asked | None = None
        self._done: dict[Pick, tuple[CausalCheck, AttentionMap]] = {}
        panel.run_asked.connect(self.run)
        panel.stop_asked.connect(errand.stop)
        panel.picture_asked.connect(self._show_picture)
        looking.changed.connect(self._look_changed)

    def run(self) -> None:
        """Check the map that is shown."""
        pick, made, plan = self._looking.pick, self._looking.shown, self._panel.plan()
        if made is None:
            return

        def work(model: AttentionModel, job: Job, asked: Asked, trace: AttentionTrace) -> CausalCheck:
            return checked_with(model, job, asked, made, plan, len(trace.tokens))

        def done(result: CausalCheck) -> None:
            self._done[pick] = result, made
            self._look_changed()

        if self._errand.start(
            work, done, self._failed, lambda: self._panel.set_running(False), self._panel.set_progress
        ):
            self._panel.set_running(True)

    def _look_changed(self) -> None:
        """Show the check of the map that is shown now, if there is one."""
        if self._looking.asked is not self._of:
            self._of, self._done = self._looking.asked, {}
            self._panel.set_curves(self._of is not None and self._of.model == EMBEDDED)
        found = self._done.get(self._looking.pick)
        self._panel.set_may_run(self._looking.complete and self._looking.shown is not None)
        self._panel.set_result(None if found is None else found[0])

    def _show_picture(self, on: bool) -> None:
        found, asked = self._done.get(self._looking.pick), self._looking.asked
        if not on or found is None or asked is None:
            self._looking.pair.model.set_instead(None)
            return
        result, made = found
        mask = np.zeros(made.values.shape, bool)
        for patch in result.patches:
            mask[patch] = True
        instead = filled(asked.picture, made.grid, result.plan.fill)
        self._looking.pair.model.set_instead(blanked(asked.picture, made.grid, mask, instead))


def checked_with(
    model: AttentionModel, job: Job, asked: Asked, made: AttentionMap, plan: CheckPlan, max_tokens: int
) -> CausalCheck:
    """Check where the model is."""
    if isinstance(model, ProcessModel):
        check = partial(causal_check, max_tokens=max_tokens)  # nothing of this package: it needs no Qt
        told = partial(_tell, job)
        return run_with(model, check, asked.picture, asked.question, made, plan, progress=told)
    return causal_check(
        model,
        asked.picture,
        asked.question,
        made,
        plan,
        max_tokens=max_tokens,
        progress=partial(_tell, job),
        check=job.check,
    )


def _tell(job: Job, done: int, total: int) -> None:
    job.report(Progress(done, total))
