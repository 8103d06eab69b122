# SPDX-License-Identifier: GPL-2.0-or-later
"""python -m tools.lab: emulated Xen hosts by hand."""

import argparse
import sys
from pathlib import Path

from . import LabError, XenHost, product, terminal
from .images import kernel_image, xen_image
from .roots import dom0_root, domu_root

EPILOG = """examples:
  python -m tools.lab shell --disk datanode.img     # it is /dev/vda in dom0
  python -m tools.lab run 'xl info; xenstore-ls'
  python -m tools.lab run --guest 'cat /proc/cpuinfo'
  echo 'xl list' | python -m tools.lab shell
logs of the last run of a host are in build/lab/run/NAME/"""


def main() -> int:
    arguments = _parse()
    try:
        return arguments.act(arguments)
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.lab",
        description="Emulated Xen hosts made of this machine's Debian packages.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    build = commands.add_parser("build", help="make the root file systems and say where they are")
    build.set_defaults(act=_build)
    shell = commands.add_parser("shell", help="a shell in dom0; reads a script if stdin is a pipe")
    shell.set_defaults(act=_shell)
    _add_host_options(shell)
    run = commands.add_parser("run", help="run one command in dom0, with its exit status")
    run.set_defaults(act=_run)
    _add_host_options(run)
    run.add_argument("--guest", action="store_true", help="run it in a PV guest instead")
    run.add_argument("--timeout", type=float, default=600, help="seconds (default: 600)")
    run.add_argument("command", help="for bash in dom0, or for sh in a guest")
    return parser.parse_args()


def _add_host_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--name", default="lab", help="of the host (default: lab)")
    parser.add_argument("--memory", type=int, default=2048, metavar="MIB", help="of the host")
    parser.add_argument("--dom0-memory", type=int, default=1024, metavar="MIB", help="of dom0")
    parser.add_argument(
        "--disk", type=Path, action="append", default=[], help="raw image; writes are thrown away"
    )
    parser.add_argument(
        "--file",
        type=_file_argument,
        action="append",
        default=[],
        metavar="PATH=SOURCE",
        help="file in dom0, with its libraries",
    )
    parser.add_argument(
        "--variant", default="release", help="build/VARIANT to install, as far as it is built"
    )


def _file_argument(text: str) -> tuple[str, Path]:
    path, equals, source = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not PATH=SOURCE")
    return path, Path(source)


def _build(arguments: argparse.Namespace) -> int:
    for path in (xen_image(), kernel_image(), domu_root(), dom0_root()):
        print(f"{path.stat().st_size >> 10:8} KiB  {path}")
    return 0


def _shell(arguments: argparse.Namespace) -> int:
    with _host(arguments) as host:
        return terminal.shell(host)


def _run(arguments: argparse.Namespace) -> int:
    with _host(arguments) as host:
        machine = host.create_guest("g1") if arguments.guest else host
        command = machine.popen(
            arguments.command,
            arguments.timeout,
            sink=terminal.writer(sys.stdout),
            error_sink=terminal.writer(sys.stderr),
        )
        command.close_stdin()
        return command.wait().rc


def _host(arguments: argparse.Namespace) -> XenHost:
    return XenHost(
        arguments.name,
        memory_mib=arguments.memory,
        dom0_mib=arguments.dom0_memory,
        disks=arguments.disk,
        files=product.built(product.dom0_files(arguments.variant)) | dict(arguments.file),
        guest_files=product.built(product.guest_files(arguments.variant)),
        progress=lambda text: print(f"lab: {text}", file=sys.stderr, flush=True),
    )


if __name__ == "__main__":
    sys.exit(main())
