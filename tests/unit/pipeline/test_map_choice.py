import numpy as np
import pytest

from gazelab.attention.maps import attention_map
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture
from gazelab.pipeline.map_choice import MapChoice
from tests.unit.pipeline.test_compare import FixedModel

WHITE = Picture.from_rgb(np.full((30, 40, 3), 255, np.uint8))


@pytest.fixture
def model():
    return FixedModel(1, 2)


def test_the_map_of_a_trace_has_the_choice_in_it(model):
    trace = model.trace(WHITE, "?")
    made = MapChoice(layers=(0,), sinks="drop", view="picture").of(trace)
    assert made.values[1, 2] == 1
    assert (made.how["layers"], made.how["sinks"], made.how["view"]) == ([0], "drop", "picture")


def test_a_method_that_needs_the_model_says_so(model):
    choice = MapChoice(method="relative")
    assert choice.needs_model
    with pytest.raises(AttentionError, match="the model must run"):
        choice.of(model.trace(WHITE, "?"))


def test_with_the_model_at_hand_every_choice_is_made(model):
    trace = model.trace(WHITE, "?")
    for choice in (MapChoice(), MapChoice(method="max")):
        assert not choice.needs_model
        made = choice.of_model(model, WHITE, "?", trace)
        np.testing.assert_array_equal(made.values, attention_map(trace, choice.method).values)
    relative = MapChoice(method="relative").of_model(model, WHITE, "?", trace)
    assert np.ptp(relative.values) == pytest.approx(0)  # it looks there whatever is asked


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        (MapChoice(method="rollup"), "no way to make a map"),
        (MapChoice(method="rollout"), "Attention rollout cannot be had: it is defined for decoder-only"),
        (MapChoice(method="relevance"), "relevance cannot be had: .*cannot be run again"),
        (MapChoice(layers=(9,)), "no layer 9"),
        (MapChoice(heads=(-2,)), "no head -2"),
    ],
)
def test_what_a_model_cannot_do_is_refused_before_it_runs(model, choice, named):
    with pytest.raises(AttentionError, match=named):
        choice.check(model)
    assert model.n_runs == 0


def test_raw_of_several_heads_is_refused_before_the_model_runs(model):
    model.n_heads = 2
    with pytest.raises(AttentionError, match=r"takes one layer.*Choose one head"):
        MapChoice(method="raw").check(model)
    MapChoice(method="raw", heads=(-1,)).check(model)


def test_a_view_that_is_not_there_is_named(model):
    with pytest.raises(AttentionError, match=r'no view "tiles".*all, picture'):
        MapChoice(view="tiles").of(model.trace(WHITE, "?"))


def test_where_nothing_was_chosen_the_head_that_the_card_names_is_taken():
    named = {"looking_head": "1,3"}
    assert (MapChoice().at_first(named).layers, MapChoice().at_first(named).heads) == ((1,), (3,))
    for chosen in (MapChoice(layers=(0,)), MapChoice(heads=(0,)), MapChoice("max"), MapChoice("relevance")):
        assert chosen.at_first(named) is chosen
    assert MapChoice().at_first({}).layers is None
