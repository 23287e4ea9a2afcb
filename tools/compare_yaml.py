#!/usr/bin/env python3
"""Compares what `yaml_to_json` read (its lines on standard input) with PyYAML, file by file.

Kubernetes' tools and PyYAML agree on structure and differ on some plain scalars; those are compared by what Kubernetes'
tools take them for. Prints what differs and one line of totals; exit code 1 if anything differs, 2 without PyYAML.
"""

import json
import sys

try:
    import yaml
except ImportError:
    print("not cross-checked: python3 has no module yaml (PyYAML)")
    sys.exit(2)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Keys as written, times and unknown tags as text."""

    def construct_mapping(self, node, deep=False):
        self.flatten_mapping(node)
        pairs = ((self.key(key), self.construct_object(value, deep=True)) for key, value in node.value)
        return dict(pairs)

    @staticmethod
    def key(node):
        if not isinstance(node, yaml.ScalarNode):
            raise yaml.constructor.ConstructorError(None, None, "a list or an object cannot be a key", node.start_mark)
        return node.value


def construct_map(loader, node):
    return loader.construct_mapping(node, deep=True)


def as_text(loader, node):
    return node.value


def number_or_text(construct):
    """A number of base 60 (`12:30`) is text for Kubernetes' tools."""
    return lambda loader, node: node.value if ":" in node.value else construct(loader, node)


Loader.add_constructor("tag:yaml.org,2002:map", construct_map)
Loader.add_constructor("tag:yaml.org,2002:timestamp", as_text)
Loader.add_constructor("tag:yaml.org,2002:value", as_text)
Loader.add_constructor("tag:yaml.org,2002:int", number_or_text(Loader.construct_yaml_int))
Loader.add_constructor("tag:yaml.org,2002:float", number_or_text(Loader.construct_yaml_float))
Loader.add_constructor(None, as_text)


def objects(document):
    """The objects of a document, as the reader hands them over: the items of lists one by one."""
    if isinstance(document, list):
        yield from document
        return
    streamed = False
    if isinstance(document, dict) and isinstance(document.get("items"), list):
        keys = list(document)
        before = "kind" in keys[: keys.index("items")]
        streamed = not before or str(document["kind"]).endswith("List")
    if streamed:
        yield from document["items"]
        if str(document.get("kind", "List")).endswith("List"):
            return
        document = {**document, "items": []}
    if document is not None:
        yield document


def same(ours, theirs):
    if isinstance(theirs, dict):
        return isinstance(ours, dict) and ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(theirs, list):
        return isinstance(ours, list) and len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, str) and not isinstance(ours, str):
        # Plain scalars of YAML 1.1 and 1.2 that PyYAML leaves as text.
        if isinstance(ours, bool):
            return theirs in ("y", "Y", "n", "N") and ours == (theirs in ("y", "Y"))
        return is_number(ours, theirs)
    if isinstance(theirs, float) and ours is None:
        return theirs != theirs or theirs in (float("inf"), float("-inf"))
    if isinstance(theirs, bytes):
        return isinstance(ours, str)
    return type(ours) is type(theirs) and ours == theirs or (
        not isinstance(theirs, bool) and isinstance(theirs, (int, float)) and ours == theirs
    )


def is_number(ours, text):
    for read in (float, lambda text: int(text, 0)):
        try:
            if read(text.replace("_", "")) == ours:
                return True
        except ValueError:
            pass
    return False


def main():
    totals = {"same": 0, "different": 0, "unreadable for both": 0, "read only here": 0, "read only by PyYAML": 0}
    for line in sys.stdin:
        ours = json.loads(line)
        name = ours["file"]
        try:
            with open(name, encoding="utf-8-sig") as file:
                theirs = [one for document in yaml.load_all(file, Loader) for one in objects(document)]
            error = None
        except (yaml.YAMLError, UnicodeError, ValueError, RecursionError) as problem:
            theirs, error = [], str(problem).splitlines()[0]
        problems = [problem for problem in ours["problems"] if problem["code"] != "IN005"]
        if problems and error:
            outcome, detail = "unreadable for both", ""
        elif problems:
            first = problems[0]
            outcome, detail = "read only by PyYAML", f"line {first['line']}: {first['message']}"
        elif error:
            outcome, detail = "read only here", error
        elif same(ours["documents"], theirs):
            outcome, detail = "same", ""
        else:
            outcome, detail = "different", difference(ours["documents"], theirs)
        totals[outcome] += 1
        if outcome not in ("same", "unreadable for both"):
            print(f"    {outcome}: {name}: {detail}")
    print("  cross-check with PyYAML: " + ", ".join(f"{count} {name}" for name, count in totals.items() if count))
    return 1 if totals["different"] or totals["read only by PyYAML"] else 0


def difference(ours, theirs, path="$"):
    """The first place that differs."""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs))
    elif isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        pairs = ((key, (ours[key], theirs[key])) for key in ours)
    else:
        return f"{path}: {json.dumps(ours)[:80]} here, {json.dumps(theirs, default=str)[:80]} there"
    for key, (mine, other) in pairs:
        if not same(mine, other):
            return difference(mine, other, f"{path}[{key!r}]")
    return path


sys.exit(main())
