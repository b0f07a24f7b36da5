import os
import signal
import threading

import numpy as np
import pytest
import tiny_checkpoints
from numbers_model import arguments_of, counted, open_numbers, qt_modules

from gazelab.attention import worker as worker_module
from gazelab.attention.base import AttentionModel, open_model
from gazelab.attention.checkpoint_options import ModelOptions
from gazelab.attention.interrupt import stopping_at
from gazelab.attention.worker import ProcessModel, run_with
from gazelab.core.errors import AttentionError, Cancelled
from gazelab.core.picture import Picture


def picture(value=100):
    return Picture.from_rgb(np.full((20, 30, 3), value, np.uint8))


@pytest.fixture(scope="module")
def model():
    made = ProcessModel.open("numbers", ModelOptions(dtype="bfloat16"), opener=open_numbers)
    yield made
    made.close()


def test_it_is_used_like_any_other_model(model):
    used: AttentionModel = model
    assert (used.model_id, used.about, used.layers, used.n_heads) == ("numbers", "It counts.", (0, 1), 2)
    trace = used.trace(picture(250), "How many?", 3)
    assert trace.tokens == ("0", "1", "2")
    assert trace.answer == "012"
    assert float(trace.weights[0, 0, 0, 0, 0]) == 0.25
    assert trace.prompt == "How many?"
    assert model.pid != os.getpid()


def test_each_picture_is_seen_though_it_is_sent_once(model):
    values = [float(model.trace(picture(v), "How many?", 1).weights.flat[0]) for v in (100, 100, 200, 100)]
    np.testing.assert_allclose(values, [0.1, 0.1, 0.2, 0.1], atol=1e-3)


def test_the_process_holds_no_window_and_the_options_reach_it(model):
    assert run_with(model, qt_modules) == []
    assert run_with(model, arguments_of, 2) == ["bfloat16", "bfloat16"]
    here = open_numbers("here", dtype="auto")
    assert run_with(here, arguments_of, 1) == ["auto"]


def test_how_far_a_function_is_comes_out_of_the_process(model):
    for where in (model, open_numbers("here")):
        told = []
        assert run_with(where, counted, 3, progress=lambda *step, told=told: told.append(step)) == 3
        assert told == [(1, 3), (2, 3), (3, 3)]
    assert run_with(model, counted, 2) == 2  # nobody listens


def test_a_stream_that_is_closed_stops_the_model_which_goes_on_answering(model):
    pid = model.pid
    stream = model.stream(picture(), "How many?", 10**9)
    assert [next(stream).text for _ in range(3)] == ["0", "1", "2"]
    stream.close()
    assert model.trace(picture(), "And now?", 2).answer == "01"
    assert model.pid == pid


def test_a_second_question_ends_the_first(model):
    first = model.stream(picture(), "How many?", 10**9)
    next(first)
    assert model.trace(picture(), "And now?", 2).answer == "01"
    assert list(first) == []


def test_an_answer_so_far_is_spelled_while_the_model_goes_on(model):
    steps = []
    for step in model.stream(picture(), "How many?", 4):
        steps.append(step)
        assert model.answer_text(steps) == "0123"[: len(steps)]
    assert model.answer_text(steps[1:]) == "123"  # not of the stream: asked of the process


def test_a_check_that_raises_stops_the_model(model):
    asked = []

    def check():
        asked.append(1)
        if len(asked) > 3:
            raise Cancelled("stopped.")

    with pytest.raises(Cancelled), stopping_at(model, check):
        list(model.stream(picture(), "How many?", 10**9))
    assert model.trace(picture(), "And now?", 1).answer == "0"


def test_a_fault_there_is_the_same_fault_here(model):
    with pytest.raises(AttentionError) as fault:
        model.head(picture(), "refuse this")
    assert (fault.value.where, fault.value.todo) == ("chart.png", "Take another.")
    assert model.trace(picture(), "And now?", 1).answer == "0"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("die now", "numbers: the system ended its process, most likely because memory ran out.*Ask again"),
        ("crash now", r"numbers: its process ended \(exit code 1\)"),
    ],
)
def test_a_process_that_dies_is_one_sentence_and_the_next_question_starts_another(model, question, message):
    before = model.pid
    stream = model.stream(picture(), question, 5)
    assert next(stream).text == "0"
    with pytest.raises(AttentionError, match=message):
        next(stream)
    assert model.pid is None
    assert model.trace(picture(), "And now?", 2).answer == "01"
    assert model.pid not in (None, before)


def test_a_process_that_was_killed_between_questions_is_started_again(model):
    os.kill(model.pid, signal.SIGKILL)
    model._process.join()
    assert model.trace(picture(), "And now?", 2).answer == "01"


def test_a_process_that_does_not_stop_is_ended(model, monkeypatch, caplog):
    monkeypatch.setattr(worker_module, "STOP_S", 0.2)
    stream = model.stream(picture(), "hang", 5)
    next(stream)
    stream.close()
    assert "does not stop" in caplog.text
    monkeypatch.undo()
    assert model.trace(picture(), "And now?", 1).answer == "0"


def test_a_closed_model_leaves_no_process():
    made = ProcessModel.open("numbers", opener=open_numbers)
    process = made._process
    pid = made.pid
    made.close()
    made.close()
    with pytest.raises(ValueError, match="closed"):
        process.is_alive()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_model_that_does_not_open_is_its_own_fault_and_leaves_no_process():
    with pytest.raises(AttentionError, match=r"missing: no such folder\. Give another"):
        ProcessModel.open("missing", opener=open_numbers)


def test_opening_can_be_stopped_and_tells_of_a_download():
    def check():
        raise Cancelled("stopped.")

    with pytest.raises(Cancelled):
        ProcessModel.open("slow", opener=open_numbers, check=check)
    told = []
    made = ProcessModel.open("fetched", opener=open_numbers, progress=lambda *a: told.append(a))
    made.close()
    assert told == [("downloading fetched", 0, 10), ("downloading fetched", 10, 10)]


# A real checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_checkpoints.qwen_folder(tmp_path_factory.mktemp("checkpoint"))


def test_a_checkpoint_in_a_process_gives_what_it_gives_here(folder):
    chart = Picture.from_rgb(np.random.default_rng(1).integers(0, 255, (120, 260, 3), np.uint8))
    there = ProcessModel.open(str(folder))
    try:
        one = there.trace(chart, "What is the value of April?", 3)
    finally:
        there.close()
    other = open_model(str(folder)).trace(chart, "What is the value of April?", 3)
    np.testing.assert_array_equal(one.weights, other.weights)
    np.testing.assert_array_equal(one.text_weights, other.text_weights)
    assert one.answer == other.answer
    assert one.made_with == other.made_with
    assert one.revision == other.revision


def test_a_checkpoint_here_stops_within_a_pass(folder):
    model = open_model(str(folder))
    chart = Picture.from_rgb(np.zeros((120, 260, 3), np.uint8))
    asked = []

    def check():
        asked.append(threading.current_thread())
        raise Cancelled("stopped.")

    with pytest.raises(Cancelled), stopping_at(model, check):
        list(model.stream(chart, "What?", 5))
    assert len(asked) == 1  # before the first attention layer of the first pass
    assert model.trace(chart, "What?", 1).tokens
