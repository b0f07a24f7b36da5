"""The same prompts and grids where torchvision is installed, with the processors that only work then.

Run in an environment of its own: the rest of the suite is run without it.
"""

import numpy as np
import pytest
import tiny_gemma3
import tiny_idefics3
import tiny_internvl
import tiny_paligemma
from corners import SIZES_PX, grey
from equality import QUESTION
from PIL import Image

pytest.importorskip("torchvision")
pytest.importorskip("num2words")  # of SmolVLM's processor

from transformers import (
    AutoImageProcessor,
    Gemma3Processor,
    Idefics3Processor,
    InternVLProcessor,
    InternVLVideoProcessor,
    PaliGemmaProcessor,
    SmolVLMProcessor,
    SmolVLMVideoProcessor,
)

from gazelab.attention.base import open_model

FOLDERS = {
    "gemma3": tiny_gemma3.gemma3_folder,
    "idefics3": tiny_idefics3.idefics3_folder,
    "internvl": tiny_internvl.internvl_folder,
    "paligemma": tiny_paligemma.paligemma_folder,
    "smolvlm": tiny_idefics3.smolvlm_folder,
}
THEIRS = {
    "gemma3": lambda pictures, tokens: Gemma3Processor(pictures, tokens, image_seq_length=16),
    "idefics3": lambda pictures, tokens: Idefics3Processor(pictures, tokens, image_seq_len=16),
    "internvl": lambda pictures, tokens: InternVLProcessor(
        pictures, tokens, InternVLVideoProcessor(), image_seq_length=16
    ),
    "paligemma": PaliGemmaProcessor,
    "smolvlm": lambda pictures, tokens: SmolVLMProcessor(
        pictures, tokens, SmolVLMVideoProcessor(), image_seq_len=16
    ),
}


@pytest.fixture(scope="module", params=sorted(FOLDERS))
def opened(request, tmp_path_factory):
    """Our model, and the library's processor with the picture processor that the library would choose."""
    folder = FOLDERS[request.param](tmp_path_factory.mktemp(request.param))
    pictures = AutoImageProcessor.from_pretrained(folder)
    assert not type(pictures).__name__.endswith("Pil")
    if request.param == "paligemma":
        pictures.image_seq_length = 64
    return open_model(str(folder)), THEIRS[request.param](
        pictures, open_model(str(folder)).checkpoint.tokenizer
    )


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # the library's own
@pytest.mark.parametrize(("width", "height"), SIZES_PX)
def test_V15_the_librarys_processor_with_torchvision_makes_our_prompt_and_nearly_our_pixels(
    opened, width, height
):
    model, processor = opened
    content = [{"type": "image"}, {"type": "text", "text": f"{QUESTION}\n{model.instruction}"}]
    tokenizer = model.checkpoint.tokenizer
    text = f"<image>answer en {QUESTION}"
    if tokenizer.chat_template:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    begun = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    picture = grey(width, height)
    theirs = processor(
        text=[text],
        images=[Image.fromarray(picture.rgb)],
        return_tensors="pt",
        **({"add_special_tokens": False} if begun else {}),
    )
    ours = model.ask(picture, QUESTION).tensors
    assert ours["input_ids"].tolist() == theirs["input_ids"].tolist()
    assert ours["pixel_values"].shape == theirs["pixel_values"].shape
    apart = np.abs(ours["pixel_values"].numpy() - theirs["pixel_values"].numpy())
    assert apart.mean() < 0.01  # of values from -1 to 1; ours are the PIL variant's, and the trace says so


def test_V15_our_model_takes_the_picture_processor_that_needs_no_torchvision(opened):
    assert opened[0].checkpoint.versions()["processor"].endswith("Pil")
