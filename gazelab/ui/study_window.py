"""Inside the model: how a vision-language model works, shown on the answer that it has just given."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
from PyQt6.QtWidgets import QDialog, QTabWidget, QVBoxLayout, QWidget

from gazelab.attention.base import AttentionModel
from gazelab.attention.study.records import PositionPicture, TextStudy, TokenCloud
from gazelab.attention.worker import run_with
from gazelab.core.attention import AttentionTrace
from gazelab.core.errors import GazelabError
from gazelab.core.picture import Picture
from gazelab.ui.parts import label, sentence
from gazelab.ui.study_next import NextTokenView
from gazelab.ui.study_positions import PositionsView
from gazelab.ui.study_vectors import VectorsView
from gazelab.ui.study_words import WordsView
from gazelab.ui.token_strip import readable
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace

Work = Callable[[AttentionModel, Job], object]


class StudyWindow(QDialog):
    """Four views on one answer; each is computed when it is first looked at.

    Parameters
    ----------
    workspace : Workspace
    parent : QWidget, optional
    """

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Inside the model"))
        self.setModal(False)
        self.resize(960, 720)
        self._work = workspace
        self._model = ""
        self._picture: Picture | None = None
        self._trace: AttentionTrace | None = None
        self._done: set[int] = set()
        self._job: Job | None = None
        self._about = label("", "lead", wrap=True)
        self._state = label("", "muted", wrap=True)
        self.next_token, self.words = NextTokenView(), WordsView()
        self.vectors, self.positions = VectorsView(), PositionsView()
        self.words.scores_wanted.connect(self._fetch_scores)
        self.tabs = QTabWidget()
        self.tabs.addTab(self.next_token, self.tr("Next token"))
        self.tabs.addTab(self.words, self.tr("Words"))
        self.tabs.addTab(self.vectors, self.tr("Vectors"))
        self.tabs.addTab(self.positions, self.tr("Positions"))
        self.tabs.currentChanged.connect(lambda _index: self._fetch())
        outer = QVBoxLayout(self)
        outer.addWidget(self._about)
        outer.addWidget(self.tabs, 1)
        outer.addWidget(self._state)
        self.set_answer("", None, None)

    def set_answer(self, model: str, picture: Picture | None, trace: AttentionTrace | None) -> None:
        """Look into another answer.

        Parameters
        ----------
        model : str
            For `open_model`.
        picture : Picture or None
        trace : AttentionTrace or None
            Finished; None while there is none.
        """
        self._model, self._picture, self._trace, self._done = model, picture, trace, set()
        self.next_token.set_trace(trace)
        self.words.set_study(None)
        self.vectors.set_cloud(None, None, None)
        self.positions.set_picture(None)
        if trace is None:
            self._about.setText(self.tr("Ask the model a question first; then look inside."))
            return
        answer = " ".join(readable(text) for text in trace.tokens)
        text = self.tr("{model} was asked “{question}” and wrote: {answer}")
        self._about.setText(text.format(model=_short(trace.model_id), question=trace.prompt, answer=answer))
        if self.isVisible():
            self._fetch()

    def open_on(self, model: str, picture: Picture, trace: AttentionTrace) -> None:
        """Show the window for an answer."""
        self.show()
        self.raise_()
        self.set_answer(model, picture, trace)

    def _fetch(self) -> None:
        """Compute what the tab in front shows, once."""
        index, picture, trace = self.tabs.currentIndex(), self._picture, self._trace
        if picture is None or trace is None or index in self._done:
            return
        shown = self.tabs.currentWidget()
        if shown is self.words:
            self._run(index, _inside("text_study", picture, trace), self._show_words)
        elif shown is self.vectors:
            self._run(index, _inside("token_cloud", picture, trace), self._show_cloud)
        elif shown is self.positions:
            self._run(index, _inside("position_picture"), self._show_positions)

    def _fetch_scores(self, layer: int, head: int) -> None:
        picture, trace = self._picture, self._trace
        if picture is not None and trace is not None:
            work = _inside("text_scores", picture, trace, layer, head)
            self._run(None, work, lambda scores: self.words.set_scores(layer, head, np.asarray(scores)))

    def _run(self, index: int | None, work: Work, done: Callable[[object], None]) -> None:
        trace = self._trace
        self._state.setText(self.tr("Looking inside …"))

        def arrived(value: object) -> None:
            if trace is self._trace:
                self._state.setText("")
                self._done.update(() if index is None else (index,))
                done(value)

        self._job = self._work.models.run(self._model, work, arrived, self._failed)

    def _failed(self, fault: GazelabError) -> None:
        self._state.setText(sentence(fault))

    def _show_words(self, study: object) -> None:
        if isinstance(study, TextStudy):
            self.words.set_study(study)

    def _show_cloud(self, cloud: object) -> None:
        if isinstance(cloud, TokenCloud) and self._trace is not None:
            self.vectors.set_cloud(cloud, self._picture, self._trace.grid)

    def _show_positions(self, picture: object) -> None:
        if isinstance(picture, PositionPicture):
            self.positions.set_picture(picture)


def _short(model_id: str) -> str:
    """Name a checkpoint by its folder's name; a name on the hub is short already."""
    return Path(model_id).name if Path(model_id).is_absolute() else model_id


def _inside(look: str, *arguments: object) -> Work:
    """Call a look where the model is; torch is loaded in the model's thread, not in the window's."""

    def work(model: AttentionModel, _job: Job) -> object:
        function: Callable[..., object] = getattr(import_module("gazelab.attention.study.looks"), look)
        return run_with(model, function, *arguments)

    return work
