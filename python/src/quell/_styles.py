"""What a line looks like: by the queue that its label names, else by the traffic of its group, as in the pictures of `quell plot`.

Blue is L4S and orange Classic traffic; queues have other colours, by their names. Second lines of a colour differ in their dashes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quell._colours import COLOURS

_INK = "#111111"
# Dashes of traffic, whose classes begin at different ones: three steps further each time meets all eight.
_DASHES: Sequence[Sequence[float]] = ([], [7, 2.5], [2, 2], [8, 2.5, 2, 2.5], [12, 3], [4, 2], [8, 2, 2, 2, 2, 2], [1, 2])
_KINDS = {kind: (family, home) for family in COLOURS["queues"] for home, kind in enumerate(family["kinds"])}


def styles(labels: Sequence[str], groups: Sequence[Mapping[str, Any]] = ()) -> Iterator[dict[str, Any]]:
    """The style of each line, for matplotlib: `groups` are those of the summary, whose names are labels."""
    queues = [_queue(label) for label in labels]
    classes = {"l4s": 0, "classic": 1} | {str(group["name"]): _traffic(group) for group in groups}
    seen: Counter[object] = Counter()
    for label, queue in zip(labels, queues):
        colour, width, dashes, home, step = _INK, 1.0, _DASHES, 0, 1
        if queue:
            family, home = _KINDS[queue]
            colour, width, dashes, step = family["light"], family["width"], family["dashes"], len(family["kinds"])
        elif not any(queues) and (name := label.rpartition(" ")[2]) in classes:
            home = classes[name]
            colour, step = COLOURS["traffic"][home]["light"], len(COLOURS["traffic"])
        dash = dashes[(home + step * seen[queue or colour]) % len(dashes)]
        seen[queue or colour] += 1
        # Points on paper; matplotlib counts in widths of the line.
        wide = 1.5 * width
        yield {"color": colour, "linewidth": wide, "linestyle": (0, [one / wide for one in dash]) if dash else "-"}


def _queue(label: str) -> str | None:
    words = (word.partition(":")[0] for word in label.split())
    return next((word for word in words if word in _KINDS), None)


def _traffic(group: Mapping[str, Any]) -> int:
    """The place of the class of traffic: L4S, Classic, that which does not slow down."""
    control, app = group.get("congestion_control"), group.get("app") or {}
    if control is None and app.get("kind") in ("cbr", "on-off", "voice", "game"):
        return 2
    is_l4s = control in ("prague", "dctcp") or str(group["name"]).startswith("l4s")
    return 0 if is_l4s else 1
