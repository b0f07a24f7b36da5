"""What the operator sees while a participant reads: live gaze and, on a second screen only, a model."""

from __future__ import annotations

from PyQt6.QtCore import QCoreApplication, Qt
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from gazelab.core.errors import GazelabError
from gazelab.core.gaze import SourceState
from gazelab.pipeline.drift import DriftOutcome
from gazelab.pipeline.study import RecordingStudy, StudyState
from gazelab.sources.camera_gaze import CameraGaze
from gazelab.ui.asking import Asking
from gazelab.ui.drift_text import role_of, short_text
from gazelab.ui.model_choice import ModelChoice
from gazelab.ui.monitors import monitors
from gazelab.ui.pair_view import PairView
from gazelab.ui.parts import label, set_role
from gazelab.ui.workspace import Workspace

NOTICE_PX = 50
"""Kept free for two lines, which it takes in a narrow window: what comes and goes must move no chart."""


class OperatorView(QWidget):
    """Live gaze beside the model's attention; the participant must not see it."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._work = workspace
        self._study: RecordingStudy | None = None
        self._shown = -1
        self._with_model = QCheckBox(self.tr("Show a model's attention here"))
        self._with_model.setToolTip(
            self.tr(
                "Needs a second screen: a participant who sees it is guided by it, and the data are void."
            )
        )
        self.model_choice = ModelChoice(workspace.settings.model.name)
        self._status = label("", "muted")
        self.drift = label("", "muted", wrap=True)
        self.drift.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._drift_at = -1
        self.head_notice = label("", "notice", wrap=True)
        # Its room is kept while it is hidden: a chart that moves would move away from the gaze on it.
        kept = self.head_notice.sizePolicy()
        kept.setRetainSizeWhenHidden(True)
        kept.setVerticalPolicy(QSizePolicy.Policy.Maximum)
        self.head_notice.setSizePolicy(kept)
        self.head_notice.setMinimumHeight(NOTICE_PX)
        self.head_notice.hide()
        self.pair = PairView(self.tr("Participant: live gaze"))
        self.pair.person.set_message(self.tr("The chart appears here while the participant reads."))
        self.asking = Asking(workspace, self.pair, lambda _fault: None)
        line = QHBoxLayout()
        line.addWidget(self._with_model)
        line.addWidget(self.model_choice)
        line.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        told = QHBoxLayout()
        told.addWidget(self._status)
        told.addWidget(self.drift, 1)
        outer.addLayout(told)
        outer.addLayout(line)
        outer.addWidget(self.head_notice)
        outer.addWidget(self.pair, 1)
        self._allow(len(monitors()) > 1)

    def start(self, study: RecordingStudy, *, second_screen: bool) -> None:
        """Follow a study."""
        self._study = study
        self._shown = self._drift_at = -1
        self.drift.setText("")
        self._allow(second_screen)

    def step(self, study: RecordingStudy) -> None:
        """Show the chart that is now on, once."""
        if study.state is not StudyState.SHOWING or study.index == self._shown:
            return
        chart = study.current
        if chart is None:
            return
        self._shown = study.index
        if study.index > self._drift_at:
            self.drift.setText("")
        try:
            picture = chart.picture()
        except GazelabError as fault:
            self.pair.set_model_note(str(fault))
            return
        self.pair.set_picture(picture)
        if self._with_model.isChecked() and self._with_model.isEnabled():
            self.asking.ask(self.model_choice.name, picture, chart.question)

    def tell_drift(self, outcome: DriftOutcome, index: int) -> None:
        """Say what the check before the chart of this place came to, until the chart after that one."""
        self._drift_at = index
        self.drift.setText(short_text(outcome))
        set_role(self.drift, role_of(outcome))

    def end(self) -> None:
        """Follow no study any more."""
        self._study = None
        self.asking.stop()

    def refresh(self) -> None:
        """Draw the newest gaze; tell how the source is doing and where the head should go."""
        self._tell_of_head()
        acquisition = self._work.acquisition
        if acquisition is None:
            self._status.setText(self.tr("No source is running."))
            set_role(self._status, "warn")
            return
        view = acquisition.snapshot()
        self.pair.person.set_view(view)
        good = view.state is SourceState.OK
        text = self.tr("Source {state}").format(state=view.state.value)
        if len(view.samples) > 1:
            more = self.tr("{rate:.0f} Hz, {loss:.0%} lost")
            text += ", " + more.format(rate=view.rate_hz, loss=view.data_loss)
        if acquisition.error is not None:
            text = str(acquisition.error)
        self._status.setText(text)
        set_role(self._status, "good" if good else "bad")

    def _tell_of_head(self) -> None:
        """Say while the head is where the calibration knows nothing; nothing of it on the stimulus screen."""
        source = self._work.source
        hint = source.head_hint if isinstance(source, CameraGaze) else ""
        if hint:
            text = self.tr(
                "Head outside the calibrated box; its samples are flagged. Ask the participant: “{hint}”"
            )
            self.head_notice.setText(text.format(hint=QCoreApplication.translate("HeadBox", hint)))
        self.head_notice.setVisible(bool(hint))

    def _allow(self, second_screen: bool) -> None:
        self._with_model.setEnabled(second_screen)
        self.model_choice.setEnabled(second_screen)
        if not second_screen:
            self._with_model.setChecked(False)
            self.pair.model.set_message(
                self.tr("A model's attention is shown here with a second screen only.")
            )
