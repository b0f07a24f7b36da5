from gazelab.cli import main


def test_nothing_to_do_is_said(capsys):
    assert main(["train-chartreader"]) == 1
    assert "there is nothing to do" in capsys.readouterr().err


def test_weights_that_are_missing_are_said_before_anything_is_measured(tmp_path, capsys):
    missing = tmp_path / "none.safetensors"
    assert main(["train-chartreader", "--evaluate", "--weights", str(missing)]) == 1
    assert "none" in capsys.readouterr().err


def test_a_start_from_what_is_no_weight_file_is_said(tmp_path, capsys):
    wrong = tmp_path / "wrong.safetensors"
    wrong.write_text("x", encoding="utf-8")
    assert main(["train-chartreader", "--out", str(tmp_path / "run"), "--from", str(wrong)]) == 1
    assert "cannot be started from" in capsys.readouterr().err


def test_the_card_is_printed_and_written(tmp_path, capsys, monkeypatch):
    from gazelab.pipeline import chartreader_card

    card = chartreader_card.Card({"model": "gazelab/chartreader"}, ())
    monkeypatch.setattr(chartreader_card, "make_card", lambda reader, **options: card)
    page = tmp_path / "card.md"
    assert main(["train-chartreader", "--evaluate", "--card", str(page)]) == 0
    assert "What it can't do" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8").startswith("# Card of the embedded chart reader")
    assert main(["train-chartreader", "--evaluate", "--card", str(tmp_path)]) == 1
    assert "the page cannot be written" in capsys.readouterr().err
