"""Pages are taken apart as a reader would, and what differs between a page and a screen is noticed."""

import pytest

from page_support import Code, Command, Unknown, in_prose, take_apart
from shown_support import differences

PAGE = """
```text
$ one --a \\
      --b            # comment
shown
  more

$ two
```

   ```sh
   three \\
     --c
   # a comment
   four | five
   ```

```python
>>> 1 + 1
2
```

```python
six()
```

```text
no command
```

Say `hushrank plan pca
--epsilon 1` or `plan`, and `import hushrank as hr`.
"""


def test_blocks_are_taken_apart():
    assert take_apart("page", PAGE) == [
        Command("page", 3, "one --a --b            # comment", "shown\n  more"),
        Command("page", 8, "two"),
        Command("page", 12, "three --c"),
        Command("page", 15, "four | five"),
        Code("page", 24, "six()\n"),
    ]
    assert list(in_prose("page", PAGE)) == [Command("page", 31, "hushrank plan pca --epsilon 1")]


@pytest.mark.parametrize(
    ("block", "complaint"),
    [
        ("```text\nhushrank plan\n```", "'hushrank plan' is a command without a prompt"),
        ("```\nmake test\n$ make lint\n```", "'make test' is a command without a prompt"),
        ("```zsh\nhushrank plan\n```", "a block of the kind 'zsh'"),
        ("```{code-block} sh\nhushrank plan\n```", "a block of the kind '{code-block}'"),
        ("\n~~~text\n$ hushrank plan\n~~~", "a fence of ~~~"),
    ],
)
def test_commands_that_nobody_would_run_are_noticed(block, complaint):
    assert Unknown("page", 4, complaint) in take_apart("page", f"text\n\n{block}\n")


TABLE = """title
┏━━━━━┳━━━━━━━━━━┳━━━━━━━━━━━━┓
┃ no. ┃ variance ┃            ┃
┡━━━━━╇━━━━━━━━━━╇━━━━━━━━━━━━┩
│   1 │   155.95 │            │
│   2 │   -1e+02 │ pixel3     │
└─────┴──────────┴────────────┘
guarantee: epsilon=1
"""


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("a b 3", "a  b\n 3"),
        ("a ... d", "a b c d"),
        ("... b ...", "a b c"),
        ("a ...", "a"),
        ("... c\n...\ne ... g", "a b c d e f g"),
        ("at 2026-03-01, head " + "0" * 64, "at 2027-04-02, head " + "f" * 64),
    ],
)
def test_what_agrees(shown, printed):
    assert differences(shown, printed) == ""


@pytest.mark.parametrize(
    ("shown", "printed", "complaint"),
    [
        ("a b 3", "a b 4", "'3' is shown, '4' is printed"),
        ("a b", "b a", "'a b' is shown, 'b a' is printed"),
        ("a b", "a b c", "after 'a b', '' is shown, 'c' is printed"),
        ("a b c", "a b", "after 'a b', 'c' is shown, '' is printed"),
        ("a ... d", "a b c", "the end is not 'd'"),
        ("a b ... b c", "a b c", "the end is not 'b c'"),
        ("... c b ...", "a b c", "'c b' is not in 'a b c'"),
        ("... b ... a ...", "a b c", "'a' is not in 'c'"),
        ("a ... z", "b z", "'a' is shown, 'b' is printed"),
        ("a ... z", "a", "the end is not 'z'"),
        ("10 of 5", "10 of 50", "'5' is shown, '50' is printed"),
    ],
)
def test_what_does_not_agree(shown, printed, complaint):
    assert complaint in differences(shown, printed)


@pytest.mark.parametrize(
    ("old", "new"),
    [("155.95", "3,200"), ("-1e+02", "0.5"), ("pixel3  ", "pixel12 "), ("pixel3", "-     "),
     ("│            │\n│   2", "│ weak       │\n│   2"), ("155.95 │            ", "  7    │ noise      ")],
)  # fmt: skip
def test_noise_changes_numbers_and_marks(old, new):
    assert old in TABLE and differences(TABLE, TABLE.replace(old, new), noisy=True) == ""
    assert differences(TABLE, TABLE.replace(old, new)) != ""


@pytest.mark.parametrize(
    ("old", "new"),
    [("variance", "deviation"), ("pixel3", "image3"), ("epsilon=1", "epsilon=2"), ("title", "name"),
     ("│   1 │   155.95 │            │\n", ""), ("│            │\n│   2", "│            │            │\n│   2")],
)  # fmt: skip
def test_noise_changes_nothing_else(old, new):
    assert old in TABLE and differences(TABLE, TABLE.replace(old, new), noisy=True) != ""
