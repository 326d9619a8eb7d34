"""Texts that notebooks show with colours."""

from __future__ import annotations

import html
import re

_STYLES = {
    "comment": "color:#6a737d",
    "keyword": "color:#a626a4",
    "type": "color:#0b7285",
    "number": "color:#986801",
    "good": "color:#2b8a3e",
    "bad": "color:#c92a2a",
}

_COMMON = {
    "number": r"\b\d[\w.]*",
}

_RULES = {
    "kernel": {
        "comment": r"#[^\n]*",
        "keyword": r"\b(?:kernel|domain|tree|for|let|assume|fact|declared|if|and|or|not|atom|operator"
        r"|reduction|trusted)\b",
        "type": r"\b(?:[iu](?:8|16|32|64)|f16|bf16|f32|f64|bool)\b",
        **_COMMON,
    },
    "cuda": {
        "comment": r"//[^\n]*|/\*.*?\*/",
        "keyword": r"\b(?:__\w+__|extern|const|static|for|if|else|while|return|struct|template|asm"
        r"|volatile)\b|\#\w+",
        "type": r"\b(?:void|bool|char|short|int|unsigned|long|float|double|half|__half|__nv_bfloat16"
        r"|u?int(?:8|16|32|64)_t)\b",
        **_COMMON,
    },
    "explanation": {
        "good": r"\bproved\b[^\n]*|^\s*\|?\s*\+ [^\n]*",
        "bad": r"\b(?:refused|error\[)[^\n]*|^\s*\|?\s*- [^\n]*",
    },
    "plain": {},
}


class Text(str):
    """A text, which notebooks show with colours and its line breaks."""

    #: What the text is: "kernel", "cuda", "explanation" or "plain".
    language: str

    def __new__(cls, text: str, language: str = "plain") -> Text:
        made = super().__new__(cls, text)
        made.language = language
        return made

    def _repr_html_(self) -> str:
        return f'<pre style="line-height:1.25">{self._coloured()}</pre>'

    def _coloured(self) -> str:
        rules = _RULES[self.language]
        if not rules:
            return html.escape(self)
        pattern = "|".join(f"(?P<{name}>{rule})" for name, rule in rules.items())
        parts, end = [], 0
        for match in re.finditer(pattern, self, re.MULTILINE | re.DOTALL):
            style = _STYLES[match.lastgroup or ""]
            parts.append(html.escape(self[end : match.start()]))
            parts.append(f'<span style="{style}">{html.escape(match.group())}</span>')
            end = match.end()
        parts.append(html.escape(self[end:]))
        return "".join(parts)
