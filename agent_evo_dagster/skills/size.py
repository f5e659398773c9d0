"""The size of a compiled skill against what agents are guided to: lines, and tokens by estimate."""

from dataclasses import dataclass

from agent_evo_dagster.patches.tokens import estimated_tokens

GUIDE_TOKENS = 5_000
GUIDE_LINES = 500


@dataclass(frozen=True)
class Size:
    """Lines, and estimated tokens."""

    lines: int
    tokens: int

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is above guidance, each with what to do."""
        found = []
        for what, held, guide in (("tokens", self.tokens, GUIDE_TOKENS), ("lines", self.lines, GUIDE_LINES)):
            if held > guide:
                about = "about " if what == "tokens" else ""
                found.append(
                    f"{about}{held:,} {what}, above the guidance of {guide:,}; move detail into files beside "
                    f"SKILL.md that it names, or squash and shorten"
                )
        return tuple(found)


def size_of(text: str) -> Size:
    """The size of a text."""
    return Size(text.count("\n") + (not text.endswith("\n") and bool(text)), estimated_tokens(text))
