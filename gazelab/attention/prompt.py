"""The prompt that is put to a Hugging Face model: one picture, one question, no smuggled tokens."""

from __future__ import annotations

from typing import Any

from gazelab.attention.foreign import BROKEN, said
from gazelab.core.errors import AttentionError


def special_tokens(tokenizer: Any) -> tuple[str, ...]:
    """List every text that a tokenizer reads as one special token, longest first."""
    added = {str(t) for t in tokenizer.added_tokens_decoder.values() if t.special}
    return tuple(sorted(added | {str(t) for t in tokenizer.all_special_tokens}, key=len, reverse=True))


def refuse_what_is_no_text(question: str) -> None:
    """Refuse a question that holds bytes of another encoding, which no tokenizer, file or hash can take.

    Raises
    ------
    AttentionError
        Names the first.
    """
    try:
        question.encode()
    except UnicodeEncodeError as fault:
        byte = ord(question[fault.start]) & 0xFF
        raise AttentionError(
            f"the question's character {fault.start + 1} is no text (byte {byte:#x}).",
            todo="Type it again, or save it as UTF-8.",
        ) from fault


def escape_special(text: str, tokenizer: Any) -> str:
    """Break up special tokens that stand in a user's text, with a space after their first character.

    A question that holds the picture's place-holder would otherwise be read as a second picture, and one that
    holds the end-of-turn mark would end the turn.

    Raises
    ------
    AttentionError
        A special token of one character, or one that begins with a space, cannot be broken up.
    """
    specials = special_tokens(tokenizer)
    while True:
        found = next((special for special in specials if special and special in text), None)
        if found is None:
            return text
        broken = f"{found[0]} {found[1:]}"
        if len(found) == 1 or found in broken:
            raise AttentionError(
                f'"{found}" has a meaning of its own for this model.', todo="Leave it out of the question."
            )
        text = text.replace(found, broken)


def prompt_ids(
    tokenizer: Any, question: str, picture_id: int, picture_text: str, placeholder: str | None = None
) -> list[int]:
    """Make the token ids of a prompt with one picture and one question.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerBase
        With the checkpoint's chat template.
    question : str
        Already escaped.
    picture_id : int
        Of the picture's token.
    picture_text : str
        What the place-holder becomes: the picture's tokens, and marks between them.
    placeholder : str, optional
        What the template writes for a picture; the picture's token by default.

    Raises
    ------
    AttentionError
        There is no chat template, or it does not hold exactly one place-holder.
    """
    content = [{"type": "image"}, {"type": "text", "text": question}]
    try:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
    except BROKEN as fault:
        raise AttentionError(
            f"its tokenizer cannot make a prompt ({said(fault)}).",
            where=tokenizer.name_or_path,
            todo="Its chat template is broken: copy or download it again."
            if tokenizer.chat_template
            else "Use an instruction-tuned checkpoint, which has a chat template.",
        ) from fault
    mark = placeholder or str(tokenizer.convert_ids_to_tokens(picture_id))
    if text.count(mark) != 1:
        raise AttentionError(
            f'its chat template makes {text.count(mark)} picture place-holders "{mark}" instead of one.',
            where=tokenizer.name_or_path,
        )
    return token_ids(tokenizer, text.replace(mark, picture_text))


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """Read a whole prompt; a start mark is added only where the template has put none."""
    begun = bool(tokenizer.bos_token) and text.startswith(tokenizer.bos_token)
    return [int(i) for i in tokenizer(text, add_special_tokens=not begun)["input_ids"]]
