"""The colours of traffic and queues: generated from colours.json, which pictures and page share."""

from typing import Any

COLOURS: Any = {
  "traffic": [
    {"name": "l4s", "light": "#0067a8", "dark": "#5db8f0"},
    {"name": "classic", "light": "#b84a00", "dark": "#f09a3e"},
    {"name": "unresponsive", "light": "#3b2a30", "dark": "#8a8683"}
  ],
  "queues": [
    {
      "name": "dualpi2", "light": "#2a1b6e", "dark": "#8f4cf2", "width": 1.6, "mark": "diamond",
      "kinds": ["dualpi2", "dualq_2015", "dualq_curvy_red", "curvy_red"],
      "dashes": [[], [14, 3, 6, 3], [6, 3], [14, 3, 3, 3], [14, 3], [3, 3], [6, 3, 3, 3]]
    },
    {
      "name": "pie", "light": "#e626b4", "dark": "#d6336c", "width": 1, "mark": "triangle",
      "kinds": ["pie", "fq_pie", "pi2"],
      "dashes": [[12, 4], [12, 4, 6, 4], [9, 7], [18, 4], [18, 4, 6, 4], [12, 4, 12, 4, 6, 4], [9, 4, 9, 10]]
    },
    {
      "name": "codel", "light": "#0c9a3a", "dark": "#a9f7bd", "width": 1, "mark": "square",
      "kinds": ["codel", "fq_codel", "cobalt", "cake"],
      "dashes": [[2, 2], [2, 2, 2, 5], [2, 2, 2, 2, 2, 5], [2, 4], [2, 4, 2, 8], [2, 2, 2, 2, 2, 2, 2, 5], [2, 7]]
    },
    {
      "name": "red", "light": "#664400", "dark": "#eba21f", "width": 1, "mark": "cross",
      "kinds": ["red", "step", "gsp", "csaqm", "vdq_csaqm", "pvpie", "drop_min_value"],
      "dashes": [[8, 3, 2, 3], [14, 3, 2, 3], [8, 3, 2, 3, 2, 3], [5, 3, 2, 3], [14, 3, 2, 3, 2, 3], [8, 3, 8, 3, 2, 3],
        [8, 3, 2, 3, 2, 3, 2, 3], [14, 3, 14, 3, 2, 3]]
    },
    {
      "name": "drop-tail", "light": "#6a6a6a", "dark": "#b4b4b4", "width": 1, "mark": "circle",
      "kinds": ["fifo"],
      "dashes": [[], [14, 3], [6, 3], [14, 3, 6, 3], [3, 3], [14, 3, 3, 3], [6, 3, 3, 3]]
    }
  ]
}
