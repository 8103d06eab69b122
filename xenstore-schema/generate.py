#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns vread.schema.json into C and into the page people read.

    generate.py SCHEMA OUTDIR     writes OUTDIR/vread-nodes.h and vread-nodes.c
    generate.py SCHEMA --paths    prints vread-paths.md

vread-nodes.h holds a macro for each node name, usable in kernel and user
space; vread-nodes.c the same nodes as the table the validator (check.c) walks.
"""

import json
import sys
from pathlib import Path

TYPES = {
    "uint": "VREAD_TYPE_UINT",
    "state": "VREAD_TYPE_STATE",
    "enum": "VREAD_TYPE_ENUM",
    "path": "VREAD_TYPE_PATH",
    "names": "VREAD_TYPE_NAMES",
    "versions": "VREAD_TYPE_VERSIONS",
}
WRITERS = {
    "toolstack": "VREAD_WRITER_TOOLSTACK",
    "backend": "VREAD_WRITER_BACKEND",
    "frontend": "VREAD_WRITER_FRONTEND",
}
REQUIRED = {
    "never": "VREAD_REQUIRED_NEVER",
    "always": "VREAD_REQUIRED_ALWAYS",
    "InitWait": "VREAD_REQUIRED_INITWAIT",
    "Initialised": "VREAD_REQUIRED_INITIALISED",
}
HEADER = "/* SPDX-License-Identifier: MIT */\n/* Generated from vread.schema.json. */\n"


def c_string(text):
    return "NULL" if text is None else json.dumps(text)


def printf_format(node):
    return node.replace("<n>", "%u").replace("<m>", "%u")


def macro_name(node):
    last = node.split("/")[-1].replace("<n>", "").replace("<m>", "")
    return "VREAD_NODE_" + last.upper().replace("-", "_")


def header(schema):
    seen = {}
    for entry in schema["nodes"]:
        name, text = macro_name(entry["node"]), printf_format(entry["node"])
        if seen.setdefault(name, text) != text:
            raise SystemExit(f"generate.py: {name} would stand for {seen[name]!r} and {text!r}")
    lines = [HEADER, "#ifndef VREAD_NODES_H", "#define VREAD_NODES_H", ""]
    lines += [f'#define VREAD_DEVICE_TYPE "{schema["device"]}"', ""]
    lines.append("/* Node names; those with %u are printf formats of queue and page numbers. */")
    lines += [f"#define {name} {c_string(text)}" for name, text in seen.items()]
    lines += ["", "#endif", ""]
    return "\n".join(lines)


def table(schema):
    lines = [
        HEADER,
        '#include "check.h"',
        "",
        "const struct vread_node_spec vread_node_specs[] = {",
    ]
    for e in schema["nodes"]:
        values = "{" + ", ".join(c_string(v) for v in e.get("values", [])) + "}"
        fields = {
            "in_backend": int(e["dir"] == "backend"),
            "node": c_string(e["node"]),
            "writer": WRITERS[e["writer"]],
            "type": TYPES[e["type"]],
            "min": f"{e.get('min', 0)}U",
            "max": f"{e.get('max', 0)}U",
            "values": values if e.get("values") else "{NULL}",
            "required": REQUIRED[e["required"]],
            "at_most": c_string(e.get("at-most")),
            "equals": c_string(e.get("equals")),
            "one_of": c_string(e.get("one-of")),
            "default_value": c_string(e.get("default")),
        }
        lines.append("\t{" + ", ".join(f".{k} = {v}" for k, v in fields.items()) + "},")
    lines += ["};", f"const unsigned vread_node_specs_count = {len(schema['nodes'])};", ""]
    return "\n".join(lines)


def value_notation(entry):
    if entry["type"] == "uint":
        return f"{entry['min']}..{entry['max']}"
    if entry["type"] == "enum":
        return " | ".join(f'"{v}"' for v in entry["values"])
    return {
        "state": "XENBUS_STATE",
        "path": "PATH",
        "names": 'NAME [" " NAME]... | "*" | ""',
        "versions": 'UINT ["," UINT]...',
    }[entry["type"]]


def paths_page(schema):
    out = [
        "# XenStore paths of vRead",
        "",
        "Printed from vread.schema.json by `generate.py --paths`; edit that file. Notation as in",
        "Xen's xenstore-paths: each path, its value, then who writes it. What the nodes mean to",
        "each other, and the states, is in [vreadif.h](vreadif.h).",
        "",
        "Writers: t toolstack, b backend, f frontend. A guest can write its whole frontend",
        "directory, so the backend takes policy only from the backend directory, which belongs to",
        "dom0 and which the guest may only read.",
    ]
    for kind, path in schema["directories"].items():
        out += ["", f"## {kind} directory", "", f"`{path}`"]
        for e in schema["nodes"]:
            if e["dir"] != kind:
                continue
            out += ["", f"### {e['node']} = {value_notation(e)} [{e['writer'][0]}]", "", e["doc"]]
            notes = []
            if e["required"] == "always":
                notes.append("Always there.")
            elif e["required"] == "never":
                notes.append(f"Optional; default: {e['default']}.")
            else:
                notes.append(f"There from {e['required']} on, until Closing.")
            if "at-most" in e:
                notes.append(f"At most the backend's {e['at-most']}.")
            out.append(" ".join(notes))
    return "\n".join(out) + "\n"


def main(argv):
    if len(argv) != 3:
        raise SystemExit(__doc__)
    schema = json.loads(Path(argv[1]).read_text())
    if argv[2] == "--paths":
        sys.stdout.write(paths_page(schema))
        return
    outdir = Path(argv[2])
    (outdir / "vread-nodes.h").write_text(header(schema))
    (outdir / "vread-nodes.c").write_text(table(schema))


if __name__ == "__main__":
    main(sys.argv)
