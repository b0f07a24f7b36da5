"""Explore: one's own live gaze and a model's live attention on one chart. Never data for a study."""

from __future__ import annotations

from dataclasses import replace

from PyQt6.QtCore import QTimer
from PyQt6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QLineEdit, QSizePolicy, QWidget

from gazelab.core.errors import GazelabError
from gazelab.core.gaze import GazeView
from gazelab.core.geometry import Placement
from gazelab.core.picture import Picture
from gazelab.ui.asking import Asking
from gazelab.ui.chart_choice import ChartChoice
from gazelab.ui.look_panel import LookPanel
from gazelab.ui.look_tools import LookTools
from gazelab.ui.model_choice import ModelChoice
from gazelab.ui.pair_view import PairView
from gazelab.ui.parts import Page, button, label, sentence
from gazelab.ui.side_tabs import SideTabs, scrolled
from gazelab.ui.smoothing import LiveSmoother
from gazelab.ui.workspace import Workspace

FRAME_MS = 33


class ExplorePage(Page):
    """Look and ask."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_head(
            self.tr("Explore"),
            self.tr("Your live gaze beside the model's attention weights, token by token."),
        )
        self._work = workspace
        self._picture: Picture | None = None
        self._unread = True
        self.charts = ChartChoice(workspace)
        self.charts.loaded.connect(self._list_charts)
        self._items = QComboBox()
        self._items.setAccessibleName(self.tr("Chart"))
        self._items.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._items.currentIndexChanged.connect(self._show_chart)
        self.question = QLineEdit()
        self.question.setPlaceholderText(self.tr("A question about the chart"))
        self.question.setAccessibleName(self.tr("Question"))
        self.question.returnPressed.connect(self.ask)
        self.model_choice = ModelChoice(workspace.settings.model.name)
        self._ask = button(self.tr("Ask"), self.ask, self.tr("Enter, or Ctrl+Enter"), primary=True)
        self.pair = PairView(self.tr("You: live gaze"))
        self.panel = LookPanel()
        self.side = SideTabs()
        self.side.addTab(scrolled(self.panel, stretch=0), self.tr("Attention"))
        self.asking = Asking(workspace, self.pair, self._failed, self.panel)
        self.tools = LookTools(workspace, self.asking.looking, self.panel, self.side, self._failed)
        self._smoother: LiveSmoother | None = None
        self._smooth = QCheckBox(self.tr("Smooth"))
        self._smooth.setChecked(workspace.settings.view.smooth)
        self._smooth.setToolTip(self.tr("Draw the gaze calmer; 33 ms later at 30 Hz. Off: as measured."))
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self.show_gaze)
        self._lay_out()

    def enter(self) -> None:
        """Show gaze while the page is on."""
        if not self.charts.items:
            self.charts.load(self.charts.where)
        self._unread = True
        self._begin_fixations()
        self._timer.start()

    def leave(self) -> None:
        """Stop drawing and asking; an answer that is there stays."""
        self._timer.stop()
        self.tools.errand.stop()
        self.asking.halt()

    def next_step(self) -> None:
        """Do what Ctrl+Enter does."""
        self.ask()

    def ask(self) -> None:
        """Ask the model the question about the chart."""
        question = self.question.text().strip()
        if self._picture is None or not question:
            return
        self.asking.ask(self.model_choice.name, self._picture, question)

    def show_gaze(self) -> None:
        """Draw the newest gaze; the timer calls it."""
        acquisition, monitor = self._work.acquisition, self._work.monitor
        if acquisition is None or monitor is None:
            self.pair.set_person_note(self.tr("No source: choose one on Setup."))
            return
        placement = self.pair.person.screen_placement(monitor)
        self._let_read(placement)
        view = replace(acquisition.snapshot(), placement=placement)
        self.pair.person.set_view(self._smoothed(view))
        if self._work.needs_calibration and self._work.profile is None:
            self.pair.set_person_note(self.tr("Not calibrated: no gaze to show."))
        elif len(view.samples) > 1:
            text = self.tr("{rate:.0f} Hz, {loss:.0%} lost")
            self.pair.set_person_note(text.format(rate=view.rate_hz, loss=view.data_loss))

    def _list_charts(self) -> None:
        self._items.clear()
        for number, item in enumerate(self.charts.items, 1):
            self._items.addItem(self.tr("{number}: {question}").format(number=number, question=item.question))

    def _show_chart(self, index: int) -> None:
        if not 0 <= index < len(self.charts.items):
            return
        item = self.charts.items[index]
        self.asking.stop()
        try:
            self._picture = item.picture()
        except GazelabError as fault:
            self._picture = None
            self.pair.person.set_message(str(fault))
            self.pair.model.set_message(str(fault))
        self.pair.set_picture(self._picture)
        self.question.setText(item.question)
        self._unread = True
        self._begin_fixations()

    def _smoothed(self, view: GazeView) -> GazeView:
        screen = self._work.screen
        if not self._smooth.isChecked() or screen is None or not screen.has_degrees:
            return view
        if self._smoother is None or self._smoother.screen != screen:
            self._smoother = LiveSmoother(screen)
        return self._smoother.smooth(view)

    def _let_read(self, placement: Placement | None) -> None:
        """Tell a synthetic participant once that there is a new chart, unless it reads for a recording."""
        work, index = self._work, self._items.currentIndex()
        idle = self._unread and work.writer is None
        if idle and placement is not None and work.screen is not None and index >= 0:
            self._unread = False
            work.driver.read(work.source, self.charts.items[index], placement, work.screen, work.clock())

    def _begin_fixations(self) -> None:
        """Start the path anew, unless a recording is using the detector."""
        acquisition = self._work.acquisition
        if acquisition is not None and self._work.writer is None:
            acquisition.begin_trial(None, self._work.clock())

    def _failed(self, fault: GazelabError) -> None:
        self._work.told.emit(sentence(fault), "bad")

    def _lay_out(self) -> None:
        notice = self.tr(
            "Not for datasets: seeing a model's attention guides your own gaze. Nothing is saved."
        )
        self.body.addWidget(label(notice, "notice", wrap=True))
        first = QHBoxLayout()
        first.setSpacing(8)
        first.addWidget(self.charts, 2)
        first.addWidget(self._items, 3)
        self.body.addLayout(first)
        second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self.question, 1)
        second.addWidget(self._smooth)
        second.addWidget(self.model_choice)
        second.addWidget(self.side.toggle())
        second.addWidget(self._ask)
        self.body.addLayout(second)
        sides = QHBoxLayout()
        sides.setSpacing(14)
        sides.addWidget(self.pair, 1)
        sides.addWidget(self.side)
        self.body.addLayout(sides, 1)
