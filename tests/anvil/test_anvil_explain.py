"""The line of a violation or warning, and where its caret is, whatever the line holds; test_cli_check has the whole."""

import pytest

from vulcan.anvil.diagnostics import excerpt


@pytest.mark.parametrize(
    ("source", "line", "column", "text", "caret"),
    [
        ("\tx = [1]", 1, 6, "    x = [1]", 8),
        ("é = 漢字 + [1]", 1, 10, "é = 漢字 + [1]", 11),
        ("e\u0301 = [1]", 1, 6, "e\u0301 = [1]", 4),
        ("a\x1b[31m = [1]", 1, 9, "a?[31m = [1]", 8),
        ("\udcff = 1", 1, 1, "? = 1", 0),
        ("one\r\ntwo\rthree\nfour", 3, 2, "three", 1),
        ("one\fstill one\ntwo", 2, 1, "two", 0),
        ("x = 1", 1, 99, "x = 1", 5),
        ("x = 1", 7, 3, "", 0),
        ("", 1, 1, "", 0),
    ],
)
def test_the_caret_is_under_the_column(source, line, column, text, caret):
    assert excerpt(source, line, column) == (text, caret)


@pytest.mark.parametrize("column", [1, 2, 59, 60, 61, 64, 65, 500_000, 1_000_000, 1_000_001])
def test_a_long_line_is_cut_around_the_place(column):
    line = "".join("abcdefghij"[i % 10] for i in range(1_000_000))
    text, caret = excerpt(line, 1, column)
    assert len(text) <= 106
    assert (text + " ")[caret] == (line + " ")[column - 1]
    assert text.startswith("...") == (column > 64)
    assert text.endswith("...") == (column < 999_000)
