"""Writes src/quell/types.py from the JSON Schema of summary.json: `quell schema summary | python tools/summary_types.py > src/quell/types.py`.

An object with keys becomes a TypedDict, named after its key, or after what it is part of where that name is taken; objects with the same
keys share one. A key that only some runs have is NotRequired.
"""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from typing import Any

_PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_HEAD = '''"""The keys of `summary.json`, with their units: generated from `quell schema summary` by tools/summary_types.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    # Only checkers of types need it, and they bring it along.
    from typing_extensions import NotRequired


'''


class Types:
    """Collects the classes."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.definitions: dict[str, Any] = schema.get("$defs", {})
        self.names: dict[str, str] = {}
        self.taken: set[str] = set()
        self.classes: list[str] = []
        self.aliases: dict[str, str] = {}

    def type_of(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        if "$ref" in schema:
            name = schema["$ref"].removeprefix("#/$defs/")
            return self.definition(name)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(repr(one) for one in schema['enum'])}]"
        if "anyOf" in schema:
            several = [self.type_of(one, (*path, *kinds(one))) for one in schema["anyOf"]]
            return f"Union[{', '.join(dict.fromkeys(several))}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            several = [self.type_of({**schema, "type": one}, path) for one in kind]
            return f"Union[{', '.join(several)}]"
        if kind == "array":
            return f"list[{self.type_of(schema['items'], path)}]"
        if kind == "object":
            if "properties" not in schema:
                return f"dict[str, {self.type_of(schema['additionalProperties'], path)}]"
            return self.table(schema, path)
        return _PLAIN[str(kind)]

    def definition(self, name: str) -> str:
        schema = self.definitions[name]
        if "anyOf" in schema and name not in self.aliases:
            self.aliases[name] = ""
            several = self.type_of(schema, (name,))
            alias = self.name((name,))
            self.aliases[name] = alias
            self.classes.append(f"{alias} = {several}\n")
        return self.aliases.get(name) or self.type_of(schema, (name,))

    def table(self, schema: dict[str, Any], path: tuple[str, ...]) -> str:
        properties: dict[str, Any] = schema["properties"]
        required = set(schema.get("required", ()))
        # What the keys are called and hold makes it the same class, not what is said about them.
        shape = json.dumps([stripped(properties), sorted(required)], sort_keys=True)
        if shape in self.names:
            return self.names[shape]
        name = self.name(path)
        self.names[shape] = name
        lines = [f"class {name}(TypedDict):", f'    """{title(path)}"""', ""]
        for key, value in properties.items():
            if not key.isidentifier() or keyword.iskeyword(key):
                raise ValueError(f"{key!r} is no name in Python")
            kind = self.type_of(value, (*path, key))
            lines.append(f"    {key}: {kind if key in required else f'NotRequired[{kind}]'}")
            if "description" in value:
                lines.append(docstring(value["description"]))
        self.classes.append("\n".join(lines) + "\n")
        return name

    def name(self, path: tuple[str, ...]) -> str:
        """As few of the last words of the path as make it unique."""
        found = ""
        for count in range(1, len(path) + 1):
            words = [word for part in path[-count:] for word in part.replace("-", "_").split("_") if word]
            found = "".join(word[0].upper() + word[1:] for word in words)
            if found not in self.taken:
                break
        else:
            number = 2
            while f"{found}{number}" in self.taken:
                number += 1
            found = f"{found}{number}"
        self.taken.add(found)
        return found


def kinds(schema: dict[str, Any]) -> tuple[str, ...]:
    """The application that a figure is about, as part of a path."""
    found = schema.get("properties", {}).get("kind", {}).get("enum", [])
    extra = [key for key in schema.get("properties", {}) if key.startswith("pages_")]
    if len(found) > 3:
        return ("any_app",)
    return ("_or_".join(found) + ("_pages" if extra else ""),) if found else ()


def stripped(schema: Any) -> Any:
    """Without descriptions."""
    if isinstance(schema, dict):
        return {key: stripped(value) for key, value in schema.items() if not (key == "description" and isinstance(value, str))}
    return [stripped(one) for one in schema] if isinstance(schema, list) else schema


def title(path: tuple[str, ...]) -> str:
    return f"`{'.'.join(part for part in path)}`."


def docstring(text: str) -> str:
    text = text.replace("\\", "\\\\").rstrip(".") + "."
    one = f'    """{text}"""'
    if len(one) <= 140:
        return one
    return textwrap.indent('"""' + "\n".join(textwrap.wrap(text, 132)) + '\n"""', "    ")


def main() -> None:
    schema = json.load(sys.stdin)
    types = Types(schema)
    types.table(schema, ("summary",))
    sys.stdout.write(_HEAD + "\n\n".join(["", *types.classes]).lstrip("\n"))


if __name__ == "__main__":
    main()
