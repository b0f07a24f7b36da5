"""What a patch looks at, on tiny random checkpoints of every family whose vision tower is known."""

import numpy as np
import pytest
import tiny_families
import tiny_llava
import torch
from corners import changes, corner_boxes, grey

from gazelab.attention import vision
from gazelab.attention.base import open_model
from gazelab.attention.grids.proof import picture_tokens
from gazelab.attention.implementations import attention_implementations
from gazelab.attention.tapped import TAPPED
from gazelab.attention.vision import vision_looks
from gazelab.attention.vision_patches import KNOWN, patch_tokens_of
from gazelab.core.errors import AttentionError
from gazelab.core.picture import Picture

WIDTH, HEIGHT = 260, 150


@pytest.fixture(scope="module", params=sorted(KNOWN))
def model(request, tmp_path_factory):
    torch.manual_seed(0)
    return open_model(str(tiny_families.FOLDERS[request.param](tmp_path_factory.mktemp(request.param))))


class Recorded:
    """Every call of the vision tower: which module, its queries, and its whole matrix in float64."""

    def __init__(self):
        self.calls = []

    def look(self, module, query, key, mask, scaling=None, position_bias=None, **options):
        scores = query.double() @ key.double().transpose(2, 3) * (scaling or query.shape[-1] ** -0.5)
        if position_bias is not None:
            scores = scores + position_bias
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
        self.calls.append((module, query, scores.softmax(-1)))

    @property
    def modules(self):
        return list(dict.fromkeys(module for module, _, _ in self.calls))

    def queries(self):
        """Of the first layer, (position, value): a position's patch alone decides its own."""
        own = [query for module, query, _ in self.calls if module is self.modules[0]]
        return torch.cat([one.transpose(1, 2).flatten(2).flatten(0, 1) for one in own])

    def matrices(self, layer):
        """(pictures or windows) of (head, position, position)."""
        return [one for module, _, full in self.calls if module is self.modules[layer] for one in full]


def recorded(model, asked):
    tower = Recorded()
    inputs = {name: value for name, value in asked.tensors.items() if name not in vision._TEXT}
    with vision._running(model.checkpoint.model, tower):
        picture_tokens(model.checkpoint.family, model.checkpoint.model, inputs)
    return tower


def tokens_of(model, asked, tower):
    batch, _, length, _ = tower.calls[0][1].shape
    config = model.checkpoint.config
    return patch_tokens_of(config.model_type)(config, asked.tensors, asked.layout, batch, length)


def test_V6_V9_an_edit_moves_the_positions_of_the_tower_that_become_the_tokens_it_changes(model):
    picture = grey(WIDTH, HEIGHT)
    asked = model.ask(picture, "?")
    before = recorded(model, asked)
    tokens = tokens_of(model, asked, before)
    assert len(tokens) == len(before.queries())
    for view in asked.layout.views:
        boxes = corner_boxes(view, WIDTH, HEIGHT)
        changed = changes(model, picture, boxes)  # of the tokens, the tower's attention zeroed
        assert (changed > 0).any()
        for (left, top, right, bottom), change in zip(boxes, changed, strict=True):
            pixels = picture.rgb.copy()
            pixels[top:bottom, left:right] = 255
            after = recorded(model, model.ask(Picture.from_rgb(pixels), "?"))
            moved = (after.queries() - before.queries()).abs().amax(-1).numpy() > 0
            assert set(tokens[moved]) - {-1} == set(np.flatnonzero(change))


def test_what_a_patch_looks_at_is_the_towers_own_softmax_summed_by_token(model):
    asked = model.ask(grey(WIDTH, HEIGHT), "?")
    hf, before = model.checkpoint.model, attention_implementations(model.checkpoint.model)
    view = asked.layout.views[-1]
    cells = [(0, 0), (view.grid.rows - 1, view.grid.cols // 2)]
    looks = vision_looks(model.checkpoint.family, hf, asked, cells, view=len(asked.layout.views) - 1)
    assert attention_implementations(hf) == before
    assert [look.patch for look in looks] == cells
    tower = recorded(model, asked)
    tokens = tokens_of(model, asked, tower)
    for look in looks:
        assert look.view == view.name
        total = look.weights.sum((-1, -2)) + look.elsewhere
        for other in look.other_weights:
            total = total + other.sum((-1, -2))
        np.testing.assert_allclose(total, 1, atol=1e-5)
        for at, layer in enumerate(look.layers):
            expected = by_hand(tower.matrices(layer), tokens, view.token[look.patch], asked.layout.n_tokens)
            np.testing.assert_allclose(look.weights[at], expected[:, view.token], atol=1e-6)
    assert looks[0].weights.std() > 0


def by_hand(matrices, tokens, token, n_tokens):
    """Mean over the token's positions of their rows, columns summed by token: (head, token)."""
    rows, start = [], 0
    for matrix in matrices:
        own = tokens[start : start + matrix.shape[-1]]
        start += len(own)
        for query in np.flatnonzero(own == token):
            row = np.zeros((len(matrix), n_tokens))
            for position, key_token in enumerate(own):
                if key_token >= 0:
                    row[:, key_token] += matrix[:, query, position].numpy()
            rows.append(row)
    return np.mean(rows, 0)


@pytest.fixture(scope="module")
def llava(tmp_path_factory):
    torch.manual_seed(0)
    return open_model(str(tiny_llava.llava_folder(tmp_path_factory.mktemp("llava"))))


def test_V2_both_towers_give_maps_and_the_vision_towers_equal_the_librarys_own(llava):
    asked, hf = llava.ask(grey(WIDTH, HEIGHT), "?"), llava.checkpoint.model
    looks = vision_looks(llava.checkpoint.family, hf, asked)
    assert len(looks) == asked.layout.token.size
    tower = hf.model.vision_tower
    tower.set_attn_implementation("eager")
    with torch.no_grad():
        attentions = tower(asked.tensors["pixel_values"], output_attentions=True).attentions
    tower.set_attn_implementation("sdpa")
    full = torch.stack(attentions)[:, 0].numpy()[: len(looks[0].layers)]  # (layer, head, position, position)
    for i, look in enumerate(looks):  # the class token comes first
        np.testing.assert_allclose(
            look.weights.reshape(*full.shape[:2], -1), full[:, :, 1 + i, 1:], atol=1e-6
        )
        np.testing.assert_allclose(look.elsewhere, full[:, :, 1 + i, 0], atol=1e-6)
    assert llava.trace(grey(WIDTH, HEIGHT), "?", 2).weights.sum() > 0


def test_layers_that_the_language_model_never_gets_are_left_out_and_others_can_be_chosen(llava):
    asked, parts = llava.ask(grey(WIDTH, HEIGHT), "?"), llava.checkpoint
    depth = parts.config.vision_config.num_hidden_layers
    assert parts.config.vision_feature_layer == -2
    (look,) = vision_looks(parts.family, parts.model, asked, [(0, 1)])
    assert look.layers == tuple(range(depth - 1))
    (first,) = vision_looks(parts.family, parts.model, asked, [(0, 1)], layers=[0])
    assert first.layers == (0,)
    np.testing.assert_array_equal(first.weights[0], look.weights[0])
    with pytest.raises(AttentionError, match="no such layers"):
        vision_looks(parts.family, parts.model, asked, [(0, 1)], layers=[depth - 1])


def test_a_patch_outside_the_grid_and_an_unknown_family_are_refused(llava):
    asked, parts = llava.ask(grey(WIDTH, HEIGHT), "?"), llava.checkpoint
    with pytest.raises(AttentionError, match="patch 99, 0 is outside the grid"):
        vision_looks(parts.family, parts.model, asked, [(99, 0)])
    with pytest.raises(AttentionError, match='not known for models of type "florence2"'):
        patch_tokens_of("florence2")


def test_V1_a_vision_tower_that_bypasses_the_interface_is_refused_and_put_back(llava, monkeypatch):
    asked, parts = llava.ask(grey(WIDTH, HEIGHT), "?"), llava.checkpoint
    before = attention_implementations(parts.model)
    modules = [
        module
        for module in parts.model.model.vision_tower.modules()
        if type(module).__name__ == "CLIPAttention"
    ]
    for module in modules:
        monkeypatch.setattr(module, "forward", lambda hidden_states, **kwargs: (hidden_states, None))
    with pytest.raises(AttentionError, match="does not go through the attention interface"):
        vision_looks(parts.family, parts.model, asked, [(0, 0)])
    assert attention_implementations(parts.model) == before
    assert not TAPPED
