#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns vread.schema.json into C and into the pages people read.

    generate.py SCHEMA OUTDIR     writes OUTDIR/vread-nodes.h and vread-nodes.c
    generate.py SCHEMA --paths    prints vread-paths.md
    generate.py SCHEMA --man      prints vread-xenstore.7

vread-nodes.h holds a macro for each node name, usable in kernel and user
space; vread-nodes.c the same nodes as the table the validator (check.c) walks.
"""

import json
import re
import sys
from pathlib import Path

TYPES = {
    "uint": "VREAD_TYPE_UINT",
    "state": "VREAD_TYPE_STATE",
    "enum": "VREAD_TYPE_ENUM",
    "path": "VREAD_TYPE_PATH",
    "names": "VREAD_TYPE_NAMES",
    "versions": "VREAD_TYPE_VERSIONS",
    "name": "VREAD_TYPE_NAME",
    "words": "VREAD_TYPE_WORDS",
    "text": "VREAD_TYPE_TEXT",
}
DIRECTORIES = {
    "backend": "VREAD_IN_BACKEND",
    "frontend": "VREAD_IN_FRONTEND",
    "datanode": "VREAD_IN_DATANODE",
}
WRITERS = {
    "toolstack": "VREAD_WRITER_TOOLSTACK",
    "backend": "VREAD_WRITER_BACKEND",
    "frontend": "VREAD_WRITER_FRONTEND",
}
ENDS = {"backend": "VREAD_END_BACKEND", "frontend": "VREAD_END_FRONTEND"}
DOMIDS = {"backend": "$BACKEND_DOMID", "frontend": "$DOMID"}
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


def directory_format(path):
    return re.sub(r"\$[A-Z_]+", "%u", path)


def permissions(directory):
    """The permissions of a directory, as xenstore-chmod takes them."""
    reader = f" r{DOMIDS[directory['reader']]}" if "reader" in directory else ""
    return f"n{DOMIDS[directory['owner']]}{reader}"


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
    lines += ["", "/* Printf formats of domain ids and the device's number. */"]
    for kind, directory in schema["directories"].items():
        path = c_string(directory_format(directory["path"]))
        lines.append(f"#define VREAD_{kind.upper()}_DIRECTORY {path}")
    lines += ["", "#endif", ""]
    return "\n".join(lines)


def table(schema):
    lines = [
        HEADER,
        '#include "check.h"',
        "",
        "const struct vread_directory_spec vread_directory_specs[VREAD_DIRECTORIES] = {",
        *(
            f"\t[{DIRECTORIES[kind]}] = "
            f"{{{ENDS[d['owner']]}, {ENDS[d.get('reader', d['owner'])]}}},"
            for kind, d in schema["directories"].items()
        ),
        "};",
        "",
        "const struct vread_node_spec vread_node_specs[] = {",
    ]
    for e in schema["nodes"]:
        values = "{" + ", ".join(c_string(v) for v in e.get("values", [])) + "}"
        fields = {
            "directory": DIRECTORIES[e["dir"]],
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
        "name": "NAME",
        "words": 'WORD [" " WORD]...',
        "text": "TEXT",
    }[entry["type"]]


def when_there(entry):
    if entry["required"] == "always":
        text = "Always there."
    elif entry["required"] == "never":
        text = f"Optional; default: {entry['default']}."
    else:
        text = f"There from {entry['required']} until Closing."
    if "at-most" in entry:
        text += f" At most the backend's {entry['at-most']}."
    return text


def paths_page(schema):
    out = [
        "# XenStore paths of vRead",
        "",
        "Printed from vread.schema.json by `generate.py --paths`; edit that file. The notation is",
        "that of Xen's xenstore-paths: each path, its value, then who writes it.",
        "[vreadif.h](vreadif.h) describes how the nodes work together, and the states.",
        "",
        "Writers: t toolstack, b backend, f frontend. A guest can write its whole frontend",
        "directory. So the backend takes policy only from the backend directory, which belongs to",
        "the backend's domain and which the guest may only read. All nodes of a directory have its",
        "permissions, written as for xenstore-chmod(1): n owns, r reads, others have no access.",
        "",
        "The datanode directory is there only if the guest is a datanode that is served because of",
        "these nodes ([provisioning.md](../docs/provisioning.md)). No guest may read it.",
    ]
    for kind, directory in schema["directories"].items():
        out += ["", f"## {kind} directory", "", f"`{directory['path']}`"]
        out += ["", f"Permissions: `{permissions(directory)}`"]
        for e in schema["nodes"]:
            if e["dir"] != kind:
                continue
            out += ["", f"### {e['node']} = {value_notation(e)} [{e['writer'][0]}]", "", e["doc"]]
            out.append(when_there(e))
    return "\n".join(out) + "\n"


MAN_BEGIN = """\
.\\" SPDX-License-Identifier: MIT
.\\" Printed from vread.schema.json by `generate.py --man`; edit that file.
.Dd November 28, 2026
.Dt VREAD-XENSTORE 7
.Os
.Sh NAME
.Nm vread-xenstore
.Nd xenstore nodes of vRead's devices
.Sh DESCRIPTION
A device of a guest has two directories in xenstore.
The toolstack makes both
.Pq Cm attach No in Xr xl-vread 8 .
The backend
.Pq Xr vreadd 8
and the frontend
.Pq Xr vread 4
write their own state and what they offer each other.
A guest can write its whole frontend directory.
So the backend takes policy, such as the blocks that the guest may read, only from the backend
directory.
The backend directory belongs to the backend's domain, and the guest may only read it.
.Pp
If the guest is a datanode, the backend directory may have a directory of its own,
.Pa datanode ,
that says which of the guest's disks
.Xr vreadd 8
serves, and how.
No guest may read that directory.
.Pa docs/provisioning.md
is the contract of these nodes.
.Pp
.Ql xl-vread xenstore check
compares a running system with this page.
.Pp
All nodes of a directory have its permissions, written as
.Xr xenstore-chmod 1
takes them: n owns, r reads.
Other domains have no access.
Each node below is followed by its value and by who writes it.
"""
MAN_QUOTAS = """\
.Sh QUOTAS
.Xr xenstored 8
counts a node for the domain that owns it.
So the nodes of the frontend directory count for the guest.
A guest may have 1000 nodes, unless xenstored is configured otherwise
.Po Fl -entry-nb ;
oxenstored:
.Ql quota-maxentity
.Pc .
A device takes {usual} nodes with 4 queues and rings of 2 pages, which is the most that
.Xr vread 4
uses without parameters, and {most} nodes at most.
The guest's kernel holds one watch for a device, and one transaction while it connects.
If the quota is used up, the guest's log says so and the device stays closed.
.Pp
The backend directory has at most {backend} nodes, those of a datanode among them.
They count for the backend's domain; dom0 has no quotas.
.Xr vreadd 8
holds a watch for each device and a few others, and one transaction at a time.
The toolstack writes its part of a device in one transaction, so either all of it is there or
nothing.
"""
MAN_END = """\
.Sh SEE ALSO
.Xr xenstore 1 ,
.Xr vread 4 ,
.Xr vreadd 8 ,
.Xr xl-vread 8
"""


def man_text(text):
    return text.replace("\\", "\\e").replace("<", "\\(la").replace(">", "\\(ra")


def man_sentences(text):
    """The sentences of text, each on its own line, as mdoc needs them."""
    lines = text.replace(". ", ".\n").splitlines()
    return [f"\\&{line}" if line[0] in ".'" else line for line in lines]


def count_nodes(schema, kind, queues=0, ring_pages=0):
    """The number of nodes of a device's directory, including nodes that are directories."""
    names = [e["node"] for e in schema["nodes"] if e["dir"] == kind]
    ring = sum("<m>" in name for name in names)
    queue = sum("<n>" in name for name in names) - ring
    return 1 + len(names) - ring - queue + queues * (1 + queue + ring * ring_pages)


def quotas(schema):
    (queues,) = [e["max"] for e in schema["nodes"] if e["node"] == "num-queues"]
    (order,) = [e["max"] for e in schema["nodes"] if e["node"] == "ring-page-order"]
    return MAN_QUOTAS.format(
        usual=count_nodes(schema, "frontend", 4, 2),
        most=count_nodes(schema, "frontend", queues, 1 << order),
        backend=count_nodes(schema, "backend") + count_nodes(schema, "datanode"),
    )


def man_page(schema):
    out = []
    for kind, directory in schema["directories"].items():
        out += [f".Ss {kind.capitalize()} directory", f".Pa {directory['path']}", ".Pp"]
        out += [f"Permissions: {permissions(directory)}", ".Bl -tag -width Ds"]
        for e in schema["nodes"]:
            if e["dir"] != kind:
                continue
            value = man_text(value_notation(e)).replace('"', "\\(dq")
            out.append(f".It Pa {man_text(e['node'])} No = {value}, {e['writer']}")
            out += man_sentences(man_text(f"{e['doc']} {when_there(e)}"))
        out.append(".El")
    return MAN_BEGIN + "\n".join(out) + "\n" + quotas(schema) + MAN_END


def main(argv):
    if len(argv) != 3:
        raise SystemExit(__doc__)
    schema = json.loads(Path(argv[1]).read_text())
    if argv[2] == "--paths":
        sys.stdout.write(paths_page(schema))
        return
    if argv[2] == "--man":
        sys.stdout.write(man_page(schema))
        return
    outdir = Path(argv[2])
    (outdir / "vread-nodes.h").write_text(header(schema))
    (outdir / "vread-nodes.c").write_text(table(schema))


if __name__ == "__main__":
    main(sys.argv)
