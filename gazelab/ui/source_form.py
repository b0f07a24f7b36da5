"""Where gaze comes from: kind of source, device, start and stop."""

from __future__ import annotations

from PyQt6.QtWidgets import QComboBox, QFileDialog, QLineEdit, QProgressBar, QWidget

from gazelab.core.errors import GazelabError
from gazelab.ui.live_sources import KINDS, PointerWatch, SourceKind, cameras, factory
from gazelab.ui.parts import Card, button, label, row, sentence, set_role
from gazelab.ui.workers import Job
from gazelab.ui.workspace import Workspace


class SourceForm(Card):
    """Choose and run one source."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.body.addWidget(label(self.tr("Source of gaze"), "heading"))
        self._work = workspace
        self._job: Job | None = None
        self._pointer = PointerWatch(self)
        self._kind = QComboBox()
        self._kind.setAccessibleName(self.tr("Kind of source"))
        names = self._names()
        for kind in KINDS:
            self._kind.addItem(names[kind][0], kind)
        self._kind.activated.connect(lambda _index: self._kind_chosen())
        self._camera = QComboBox()
        self._camera.setAccessibleName(self.tr("Camera"))
        self._look = button(self.tr("Look again"), self.find_cameras, self.tr("Look for cameras"))
        self._file = QLineEdit()
        self._file.setPlaceholderText(self.tr("A video of a face"))
        self._file.setAccessibleName(self.tr("Video file"))
        self._browse = button(self.tr("Browse…"), self._choose_file)
        self._note = label("", "muted", wrap=True)
        self._start = button(self.tr("Start"), self.start)
        self._stop = button(self.tr("Stop"), self._stop_now)
        self._busy = QProgressBar()
        self._busy.setRange(0, 0)
        self._busy.setTextVisible(False)
        self.body.addWidget(self._kind)
        self.body.addLayout(row(self._camera, self._look))
        self.body.addLayout(row(self._file, self._browse))
        self.body.addWidget(self._note)
        self.body.addWidget(self._busy)
        self.body.addLayout(row(self._start, self._stop, 1))
        workspace.changed.connect(self._refresh)
        wanted = workspace.settings.source.name
        if wanted in KINDS:
            self._kind.setCurrentIndex(KINDS.index(SourceKind(wanted)))
        self._kind_chosen()

    @property
    def kind(self) -> SourceKind:
        """The kind chosen."""
        return SourceKind(self._kind.currentData())

    @property
    def opening(self) -> bool:
        """Whether a source is being opened."""
        return self._job is not None and not self._job.finished and not self._job.cancelled

    def choose(self, kind: SourceKind, device: str = "") -> None:
        """Choose a kind and a file or camera."""
        self._kind.setCurrentIndex(self._kind.findData(kind))
        if kind is SourceKind.WEBCAM and device:
            self._camera.addItem(device, device)
            self._camera.setCurrentIndex(self._camera.count() - 1)
        else:
            self._file.setText(device)
        self._kind_chosen()

    def start(self) -> None:
        """Open the source in the background."""
        screen = self._work.screen
        if screen is None:
            return
        try:
            ask = self._work.settings.source.ask
            make = factory(self.kind, self._device(), screen, self._work.clock, self._pointer, ask)
            self._job = self._work.open_source(make, self._failed)
            self._pointer.follow(self._work.monitor if self.kind is SourceKind.POINTER else None)
        except GazelabError as fault:
            self._failed(fault)
            return
        self._say(self._names()[self.kind][1], "muted")
        self._refresh()

    def find_cameras(self) -> None:
        """List the cameras by name, in the background."""

        def done(found: list[tuple[str, str]]) -> None:
            self._camera.clear()
            for device, name in found:
                self._camera.addItem(name, device)
            wanted = self._work.settings.source.camera
            if wanted:
                self._camera.setCurrentIndex(
                    max(0, self._camera.findData(wanted), self._camera.findText(wanted))
                )
            if not found and self.kind is SourceKind.WEBCAM:
                self._say(self.tr("No camera was found. Plug one in and look again."), "warn")

        work = self.tr("looking for cameras")
        self._work.io.submit(work, lambda _job: cameras(), done, self._failed, owner=self)

    def _device(self) -> str:
        if self.kind is SourceKind.WEBCAM:
            return str(self._camera.currentData() or "")
        return self._file.text().strip()

    def _stop_now(self) -> None:
        try:
            self._work.check_idle()
        except GazelabError as fault:
            self._failed(fault)
            return
        if self._job is not None:
            self._job.cancel()
        self._pointer.follow(None)
        self._work.close_source()
        self._refresh()

    def _failed(self, fault: GazelabError) -> None:
        self._say(sentence(fault), "bad")
        if not self.isVisible():  # started from the command line, with another page on
            self._work.told.emit(sentence(fault), "bad")
        self._refresh()

    def _kind_chosen(self) -> None:
        kind = self.kind
        shown_for: tuple[tuple[QWidget, SourceKind], ...] = (
            (self._camera, SourceKind.WEBCAM),
            (self._look, SourceKind.WEBCAM),
            (self._file, SourceKind.VIDEO),
            (self._browse, SourceKind.VIDEO),
        )
        for widget, wanted in shown_for:
            widget.setVisible(kind is wanted)
        if kind is SourceKind.WEBCAM and not self._camera.count():
            self.find_cameras()
        self._say(self._names()[kind][1], "muted")
        self._refresh()

    def _refresh(self) -> None:
        opening = self.opening
        running = self._work.acquisition is not None
        source = self._work.source
        if source is not None and source.info.name == SourceKind.POINTER:
            self._pointer.follow(self._work.monitor)
        self._busy.setVisible(opening and not running)
        self._stop.setEnabled(running or opening)
        self._start.setText(self.tr("Start again") if running else self.tr("Start"))

    def _say(self, text: str, role: str) -> None:
        self._note.setText(text)
        set_role(self._note, role)

    def _choose_file(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, self.tr("A video of a face"))
        if path:
            self._file.setText(path)

    def _names(self) -> dict[SourceKind, tuple[str, str]]:
        return {
            SourceKind.WEBCAM: (
                self.tr("Webcam"),
                self.tr("The picture stays in this computer's memory; only eye features are recorded."),
            ),
            SourceKind.VIDEO: (self.tr("Video file"), self.tr("Played by its own time stamps.")),
            SourceKind.POINTER: (
                self.tr("Mouse pointer in place of gaze"),
                self.tr("For trying things out and for building studies; no camera, no calibration."),
            ),
            SourceKind.SYNTHETIC: (
                self.tr("Synthetic participant"),
                self.tr("Drawn eyes in a real picture go through the real face tracker. It is no person."),
            ),
        }
