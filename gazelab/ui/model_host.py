"""Opens models once and runs work with them, one at a time: small ones here, large ones in their own process.

A second model is opened beside the first only where there is room for both; else the first is closed, and the
user told.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PyQt6.QtCore import QObject, pyqtSignal

from gazelab.attention.base import EMBEDDED, AttentionModel, open_model
from gazelab.attention.checkpoint_files import stored_bytes
from gazelab.attention.checkpoint_folder import find_folder
from gazelab.attention.checkpoint_memory import check_memory, free_memory_bytes, needed_bytes
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.interrupt import stopping_at
from gazelab.attention.worker import ProcessModel
from gazelab.core.errors import GazelabError
from gazelab.ui.workers import Job, Worker

log = logging.getLogger(__name__)

PROCESS_ABOVE_BYTES = 200_000_000
"""From this size of its weights on, a model gets a process of its own. Smaller ones are not worth the memory
that the process takes for torch and transformers."""
T = TypeVar("T")


class ModelHost(QObject):
    """Holds the models that were opened; `close` ends the thread and the processes.

    Parameters
    ----------
    process_above_bytes : int
        Size of the weights above which a model runs in a process of its own; 0: all but the embedded one.
    options : ModelOptions
        How models are opened where `run` is not told.

    Signals
    -------
    told : str
        A model was closed to make room for another.
    """

    told = pyqtSignal(str)

    def __init__(
        self,
        process_above_bytes: int = PROCESS_ABOVE_BYTES,
        options: ModelOptions = ModelOptions(),  # noqa: B008  (frozen)
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._worker = Worker("model")
        self._process_above, self._options = process_above_bytes, options
        self._open: dict[tuple[str, ModelOptions], AttentionModel] = {}  # the one used last comes last

    @property
    def busy(self) -> bool:
        """Whether work runs or waits."""
        return self._worker.busy

    def is_open(self, name: str) -> bool:
        """Tell whether a model needs no opening: a large one takes a minute."""
        return any(opened == name for opened, _ in list(self._open))

    def run(
        self,
        name: str,
        work: Callable[[AttentionModel, Job], T],
        done: Callable[[T], None],
        failed: Callable[[GazelabError], None],
        report: Callable[[object], None] | None = None,
        options: ModelOptions | None = None,
    ) -> Job:
        """Run work with a model, opened at its first use; earlier work is stopped within a token.

        Parameters
        ----------
        name : str
            For `open_model`.
        work : callable
            Runs in the thread, with the model and its job. The model may be a `ProcessModel`, which has no
            torch module here: use `gazelab.attention.worker.run_with` for work that needs one.
        done, failed, report : callable
            As in `Worker.submit`.
        options : ModelOptions, optional
            How it is opened; the host's own by default.
        """
        chosen = self._options if options is None or name == EMBEDDED else options
        self._worker.cancel_all()

        def with_model(job: Job) -> T:
            model = self._opened(name, chosen, job)
            job.check()
            with stopping_at(model, job.check):
                return work(model, job)

        return self._worker.submit("running the model", with_model, done, failed, report)

    def close(self) -> bool:
        """Stop the work, the thread and the processes; False if the thread is stuck in a library."""
        stopped = self._worker.stop()
        for model in self._open.values():
            if isinstance(model, ProcessModel):
                model.close()
        if stopped:
            self._open.clear()
        return stopped

    def _opened(self, name: str, options: ModelOptions, job: Job) -> AttentionModel:
        """Give a model, opened now if it is not yet; runs in the thread."""
        key = name, options
        if key not in self._open:
            self._open[key] = self._open_now(name, options, job)
        self._open[key] = self._open.pop(key)
        return self._open[key]

    def _open_now(self, name: str, options: ModelOptions, job: Job) -> AttentionModel:
        folder = _folder(name, options)
        if folder is None:
            # The embedded one takes no options.
            return open_model(name) if name == EMBEDDED else open_model(name, **options.as_arguments())
        self._make_room(name, needed_bytes(folder, options.dtype, options.quant), options.device)
        if stored_bytes(folder) > self._process_above:
            return ProcessModel.open(name, options, check=job.check)
        return open_model(name, **options.as_arguments())

    def _make_room(self, name: str, needed: int, device: str) -> None:
        """Close models until another fits, the one longest unused first.

        Raises
        ------
        AttentionError
            It does not fit alone.
        """
        others = [key for key in self._open if key[0] != EMBEDDED]
        # What a graphics card has free is known only with torch in this process: one model at a time there.
        free = free_memory_bytes() if device == "cpu" else None
        for key in others:
            if free is not None and needed <= free:
                break
            self._close_one(key)
            text = self.tr("{one} was closed: there is no room for it beside {other}.")
            self.told.emit(text.format(one=_short(key[0]), other=_short(name)))
            free = free_memory_bytes() if device == "cpu" else None
        check_memory(name, needed, free, device)

    def _close_one(self, key: tuple[str, ModelOptions]) -> None:
        model = self._open.pop(key)
        log.info("closing %s to make room", key[0])
        if isinstance(model, ProcessModel):
            model.close()
        del model
        gc.collect()  # its layers refer to each other


def _folder(name: str, options: ModelOptions) -> Path | None:
    """Find what will be opened; None where it has no folder, or where opening it will say what is wrong."""
    if name == EMBEDDED:
        return None
    try:
        folder = find_folder(name, options)
        stored_bytes(folder)
    except GazelabError:
        return None
    return folder


def _short(name: str) -> str:
    return Path(name).name or name
