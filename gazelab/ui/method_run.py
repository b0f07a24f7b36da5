"""Makes the map that is picked with the model, for methods that a trace alone does not do for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial

from PyQt6.QtCore import QObject

from gazelab.attention.base import AttentionModel
from gazelab.attention.methods import make_map
from gazelab.attention.worker import ProcessModel, run_with
from gazelab.core.attention import AttentionMap, AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.core.picture import Picture
from gazelab.pipeline.map_choice import MapChoice
from gazelab.ui.errand import Errand, Progress
from gazelab.ui.looking import Asked, Looking
from gazelab.ui.method_choice import MethodChoice
from gazelab.ui.workers import Job


class MethodRun(QObject):
    """Runs a method when it is asked for, and shows its map.

    Parameters
    ----------
    errand : Errand
    looking : Looking
        Is given the map.
    choice : MethodChoice
        Asks for it, and shows how far it is.
    failed : callable
        Told of a fault.
    """

    def __init__(
        self,
        errand: Errand,
        looking: Looking,
        choice: MethodChoice,
        failed: Callable[[GazelabError], None],
    ) -> None:
        super().__init__(looking)
        self._errand, self._looking, self._choice, self._failed = errand, looking, choice, failed
        choice.run_asked.connect(self.run)
        choice.stop_asked.connect(errand.stop)

    def run(self) -> None:
        """Make the map that is picked."""
        pick = self._looking.pick
        choice = pick.choice()

        def work(model: AttentionModel, job: Job, asked: Asked, trace: AttentionTrace) -> AttentionMap:
            return made_with(model, job, choice, asked.picture, asked.question, trace)

        if self._errand.start(
            work,
            lambda made: self._looking.add_made(pick, made),
            self._failed,
            lambda: self._choice.set_running(False),
            self._choice.set_progress,
        ):
            self._choice.set_running(True)


def made_with(
    model: AttentionModel,
    job: Job,
    choice: MapChoice,
    picture: Picture,
    question: str,
    trace: AttentionTrace,
) -> AttentionMap:
    """Make a map where the model is."""

    def told(done: int, total: int) -> None:
        job.report(Progress(done, total))

    if isinstance(model, ProcessModel):
        # Nothing of this package: its process needs no Qt.
        known = {f.name: getattr(choice, f.name) for f in fields(choice)}
        return run_with(model, partial(make_map, trace=trace, **known), picture, question, progress=told)
    return choice.of_model(
        model,
        picture,
        question,
        trace,
        progress=told,
        check=job.check,
    )
