"""What happens to an exception that nobody caught: save, log, show, live on.

PyQt6 ends the process when an exception leaves a slot, unless a hook is set.
"""

from __future__ import annotations

import logging
import sys
import threading
import traceback
from collections.abc import Callable
from types import TracebackType

from PyQt6.QtCore import QObject, QTimer, pyqtSignal
from PyQt6.QtWidgets import QMessageBox, QWidget

log = logging.getLogger(__name__)


class FaultReporter(QObject):
    """Takes over `sys.excepthook` and `threading.excepthook`.

    Parameters
    ----------
    parent : QWidget
        The dialog's parent.
    save : callable
        Saves what is being recorded; called once per fault, before the dialog.
    log_path : str
        Named in the dialog.
    """

    _caught = pyqtSignal(str)

    def __init__(self, parent: QWidget, save: Callable[[], None], log_path: str) -> None:
        super().__init__(parent)
        self._window, self._save, self._log_path = parent, save, log_path
        self._dialog: QMessageBox | None = None
        self._before = (sys.excepthook, threading.excepthook)
        self._caught.connect(self._show_soon)

    @property
    def dialog(self) -> QMessageBox | None:
        """The dialog that is open."""
        return self._dialog

    def install(self) -> None:
        """Take over."""
        sys.excepthook = self._on_fault
        threading.excepthook = self._on_thread_fault

    def uninstall(self) -> None:
        """Give back."""
        sys.excepthook, threading.excepthook = self._before

    def _on_fault(self, kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            self._before[0](kind, fault, trace)
            return
        log.critical("unhandled fault", exc_info=(kind, fault, trace))
        self._caught.emit("".join(traceback.format_exception_only(kind, fault)).strip())

    def _on_thread_fault(self, told: threading.ExceptHookArgs) -> None:
        fault = told.exc_value
        if fault is not None:
            self._on_fault(told.exc_type, fault, told.exc_traceback)

    def _show_soon(self, text: str) -> None:
        """Leave the event that failed first: a dialog inside a paint event would make it worse."""
        QTimer.singleShot(0, lambda: self._show(text))

    def _show(self, text: str) -> None:
        try:
            self._save()
        except Exception:
            log.exception("saving after a fault failed too")
        if self._dialog is not None:
            return
        dialog = QMessageBox(self._window)
        dialog.setIcon(QMessageBox.Icon.Critical)
        dialog.setWindowTitle(self.tr("Something went wrong"))
        dialog.setText(self.tr("gazelab made a mistake. What was recorded is saved."))
        more = self.tr("{fault}\n\nThe log file tells more: {path}")
        dialog.setInformativeText(more.format(fault=text, path=self._log_path))
        dialog.finished.connect(self._closed)
        self._dialog = dialog
        dialog.open()

    def _closed(self, _result: int) -> None:
        dialog, self._dialog = self._dialog, None
        if dialog is not None:
            dialog.deleteLater()
