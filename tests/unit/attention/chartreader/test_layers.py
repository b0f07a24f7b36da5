import math
from typing import Any

import torch
from torch.nn import functional

from gazelab.attention.chartreader.attention_layers import (
    MultiHeadAttention,
    ScaledDotProductAttention,
    ShiftConvolution,
)
from gazelab.attention.chartreader.decoder import causal_mask
from gazelab.attention.chartreader.encoder import WINDOW, ConvolutionStem, Line, LineReader, gather
from gazelab.attention.chartreader.network import ChartReaderNetwork, NetworkConfig


def network(tiny: dict[str, Any], tokens: int = 24) -> ChartReaderNetwork:
    torch.manual_seed(0)
    return ChartReaderNetwork(NetworkConfig(tokens=tokens, **tiny)).eval()


def test_scaled_dot_product_equals_torch_and_rows_sum_to_one() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, 5, 8) for _ in range(3))
    output, weights = ScaledDotProductAttention()(query, key, value, causal_mask(5))
    expected = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    assert torch.allclose(output, expected, atol=1e-6)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 5), atol=1e-6)
    assert float(weights.triu(1).abs().max()) == 0.0


def test_a_tied_head_looks_up_the_source_most_like_the_target() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(32, 4, tied_heads=2)
    source = functional.normalize(torch.randn(1, 6, 32), dim=-1) * math.sqrt(32) * 3
    _, weights = attention(source, source)
    mine = weights[0].diagonal(dim1=-2, dim2=-1).mean(-1).tolist()  # share of its own place, by head
    assert min(mine[:2]) > max(mine[2:])


def test_shift_convolution_starts_as_identity_and_never_looks_ahead() -> None:
    shift = ShiftConvolution(4)
    x = torch.randn(1, 6, 4)
    assert torch.equal(shift(x), x)
    torch.nn.init.normal_(shift.weight)
    changed = x.clone()
    changed[:, 4] += 1
    assert torch.equal(shift(x)[:, :4], shift(changed)[:, :4])
    assert not torch.equal(shift(x)[:, 4:], shift(changed)[:, 4:])


def test_stem_gives_one_vector_a_cell_row_major() -> None:
    torch.manual_seed(0)
    stem = ConvolutionStem(16, (4, 4, 8)).eval()
    blank = torch.zeros(1, 3, 48, 64)
    marked = blank.clone()
    marked[:, :, 2:8, 56:62] = 3.0  # inside row 0, column 3 of 3 x 4 cells
    changed = (stem(blank) - stem(marked)).detach().abs().sum(-1)[0].reshape(3, 4)
    assert float(changed[0, 3]) > 0
    assert float(changed[2].max()) == float(changed[:, :2].max()) == 0.0


def test_the_line_reader_sees_along_the_line_and_not_across_it() -> None:
    torch.manual_seed(0)
    reader = LineReader(4, 8, 16).eval()
    blank = torch.zeros(1, 4, 16, 64)
    marked = blank.clone()
    marked[:, :, 8, 30] = 3.0
    line, cells = reader(blank)
    changed = (line.columns - reader(marked)[0].columns).detach().abs().sum(1)[0]
    assert changed.shape == (8, 64)
    rows, columns = changed.sum(1).nonzero().flatten(), changed.sum(0).nonzero().flatten()
    assert rows.min() >= 3
    assert rows.max() <= 5
    assert columns.min() < 20
    assert columns.max() > 40
    assert cells.shape == (1, 16, 4, 16)


def test_a_cell_gathers_the_letters_whose_gates_are_open() -> None:
    letters = torch.zeros(1, 1, 2, 64)
    letters[0, 0, :, :] = torch.arange(64.0)
    gates = torch.full((1, WINDOW, 1, 16), -50.0)
    gates[0, 10:14, 0, 5] = 50.0  # a cell's own columns
    gates[0, 0, 0, 6] = 50.0  # the farthest on the left
    gathered = gather(Line(letters, letters, gates))
    assert gathered[0, 0, 0, 5] == 20 + 21 + 22 + 23
    assert gathered[0, 0, 0, 6] == 24 - 10
    assert gathered.sum() == 86 + 14


def test_a_network_with_a_line_reader_gives_the_same_cells(tiny: dict[str, Any]) -> None:
    net = network(tiny)
    line, _ = net.encoder.stem.stages(torch.zeros(1, 3, 48, 64))
    assert line is not None
    assert line.columns.shape == (1, 8, 6, 16)
    assert line.letters.shape == (1, 32, 6, 16)
    assert line.gates.shape == (1, WINDOW, 3, 4)
    assert net.encode(torch.zeros(1, 3, 48, 64)).shape == (1, 12, 32)


def test_a_token_does_not_change_what_is_predicted_before_it(tiny: dict[str, Any]) -> None:
    net = network(tiny)
    memory = net.encode(torch.randn(1, 3, 48, 64))
    ids = torch.tensor([[1, 5, 6, 7, 8]])
    other = ids.clone()
    other[0, 3] = 9
    before, after = net.decode(ids, memory)[0], net.decode(other, memory)[0]
    assert torch.allclose(before[:, :3], after[:, :3], atol=1e-6)
    assert not torch.allclose(before[:, 3], after[:, 3], atol=1e-6)


def test_texts_that_share_an_encoder_pass_are_answered_as_if_alone(tiny: dict[str, Any]) -> None:
    net = network(tiny)
    pictures = torch.randn(2, 3, 48, 64)
    ids = torch.randint(5, 24, (6, 7))
    together, weights = net.decode(ids, net.encode(pictures))
    for i in range(6):
        alone, lone_weights = net.decode(ids[i : i + 1], net.encode(pictures[i // 3 : i // 3 + 1]))
        assert torch.allclose(together[i], alone[0], atol=1e-5)
        mine = weights[-1][i // 3].unflatten(1, (3, 7))[:, i % 3]
        assert torch.allclose(mine, lone_weights[-1][0], atol=1e-5)
