"""A report as one HTML file: report.md rendered, its figures inside, nothing fetched from anywhere.

What is text in markdown is text here: markup in it is refused by the markdown parser, links lead to
https alone, and a policy in the page allows neither scripts nor requests.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from backends.results.escaping import one_line
from backends.results.translations import Lang

if TYPE_CHECKING:
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2329; --paper: #fdfdfc; --quiet: #5c6770;
  --line: #d7dce0; --shade: #f1f3f4; --warn: #8a4b00; --link: #0b5cad; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e7ea; --paper: #14181b; --quiet: #9aa5ad;
  --line: #353d43; --shade: #1e2428; --warn: #f0b35e; --link: #7db8f0; }
  img { filter: invert(.91) hue-rotate(180deg); } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; margin: 1.8em 0 .6em; }
h1 { font-size: 1.6rem; margin-top: 0; }
h2 { font-size: 1.25rem; border-bottom: 1px solid var(--line); padding-bottom: .25em; }
h3 { font-size: 1.05rem; }
a { color: var(--link); }
.table, pre { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9em; }
th, td { text-align: left; padding: .3em .6em; border-bottom: 1px solid var(--line);
  overflow-wrap: normal; }
th { vertical-align: bottom; background: var(--shade); }
.right { text-align: right; white-space: nowrap; }
.center { text-align: center; }
th.right { white-space: normal; }
pre, code { font: .87em/1.45 ui-monospace, monospace; background: var(--shade); }
pre { padding: .7em; border-radius: 4px; }
code { padding: .1em .3em; border-radius: 3px; }
pre code { padding: 0; }
blockquote { margin: 1em 0; padding: .1em 1em; border-left: 4px solid var(--warn); }
blockquote strong { color: var(--warn); }
img { max-width: 100%; height: auto; }
.path { border-bottom: 1px dotted var(--quiet); }
footer { margin-top: 2.5em; padding-top: .8em; border-top: 1px solid var(--line);
  color: var(--quiet); font-size: .87em; }
@media print { body { max-width: none; padding: 0; font-size: 10pt; color: #000;
    background: #fff; }
  :root { --ink: #000; --paper: #fff; --line: #999; --shade: #f3f3f3; --warn: #000; }
  img { filter: none; } .table, pre { overflow: visible; } pre { white-space: pre-wrap; }
  h2, h3 { break-after: avoid; } tr, img, blockquote { break-inside: avoid; } }
"""


def html_report(
    title: str,
    markdown: str,
    figures: Mapping[str, str],
    *,
    footer: Sequence[str] = (),
    lang: Lang = "en",
) -> str:
    """The page. ``figures``: SVG by the path under which the markdown shows it. ``footer``: lines.

    The same words give the same bytes.
    """
    from markdown_it import MarkdownIt  # noqa: PLC0415 (30 ms, for this alone)

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    for name, rule in (
        ("image", _image),
        ("link_open", _link_open),
        ("link_close", _link_close),
        ("table_open", _table_open),
        ("table_close", _table_close),
        ("th_open", _cell_open),
        ("td_open", _cell_open),
    ):
        parser.add_render_rule(name, rule)
    body = parser.render(markdown, {"figures": figures})
    ends = "".join(f"<p>{escape(one_line(line))}</p>\n" for line in footer)
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; img-src data:; style-src 'sha256-{style}'; form-action 'none'"
    return f"""<!DOCTYPE html>
<html lang="{"zh" if lang == "zh" else "en"}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(one_line(title))}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
{body}</main>
{f"<footer>{ends}</footer>" if ends else ""}
</body>
</html>
"""


# Rules of markdown-it: called as methods of its renderer with all tokens and the number of one.

_Tokens = Sequence["Token"]


def _image(
    _self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, env: dict[str, Any]
) -> str:
    path = str(tokens[at].attrGet("src") or "").removeprefix("./")
    alt = escape(tokens[at].content)
    if path not in env["figures"]:
        return alt
    data = base64.b64encode(env["figures"][path].encode()).decode()
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}">'


def _link_open(
    _self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: object
) -> str:
    target = str(tokens[at].attrGet("href") or "")
    if _leads_out(target):
        return f'<a href="{escape(target)}" rel="noopener noreferrer">'
    return f'<span class="path" title="{escape(target.removeprefix("./"))}">'


def _link_close(
    _self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: object
) -> str:
    opening = next(token for token in reversed(tokens[:at]) if token.type == "link_open")
    return "</a>" if _leads_out(str(opening.attrGet("href") or "")) else "</span>"


def _leads_out(target: str) -> bool:
    return target.startswith("https://")


def _table_open(*_: object) -> str:
    return '<div class="table"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _cell_open(
    _self: RendererHTML, tokens: _Tokens, at: int, _options: OptionsDict, _env: object
) -> str:
    align = str(tokens[at].attrGet("style") or "").removeprefix("text-align:")
    return f'<{tokens[at].tag} class="{align}">' if align else f"<{tokens[at].tag}>"
