"""What gazelab needs of the machine: a Python, a processor, a few system libraries.

The launcher reads this before anything is installed, and `gazelab doctor` afterwards. So: standard library
only, and readable by older Pythons, which end in a sentence and not in a traceback.
"""

import ctypes
import os
import platform
import re
import sys

# What must load on Linux, and Debian's package that holds it.
LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
}
X11_LIBRARIES = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}


def unsupported(version: "tuple[int, ...]", system: str, machine: str, bits: int, release: str) -> str:
    """Say why gazelab cannot run on a machine.

    Parameters
    ----------
    version : tuple of int
        Python's.
    system, machine : str
        As `platform.system()` and `platform.machine()` give them.
    bits : int
        Of Python's pointers.
    release : str
        The version of glibc on Linux (empty: another C library), of macOS on a Mac.

    Returns
    -------
    str
        A sentence with what to do; empty if nothing is in the way.
    """
    major, minor = (int(number) for number in [*re.findall(r"\d+", release), "0", "0"][:2])
    if not (3, 11) <= tuple(version[:2]) <= (3, 14):
        here = "this is {}.{}".format(*version[:2])
        return (
            f"gazelab needs Python 3.11 to 3.14 and {here}: install one of those and start gazelab with it."
        )
    if bits != 64:
        return "This is a 32-bit Python: install a 64-bit one and start gazelab with it."
    if system == "Darwin" and machine != "arm64":
        return (
            "The face tracker has no build for an Intel Mac (nor for an Intel Python on a newer one):"
            " use an Apple silicon Mac with its own Python, Windows or Linux."
        )
    if system == "Darwin" and major < 14:
        return f"torch has no build for macOS {release}: update to macOS 14 or later."
    if system != "Darwin" and machine.lower() not in ("x86_64", "amd64"):
        return f"The face tracker has no build for {system} on {machine}: use an x86-64 machine."
    if system == "Linux" and (major, minor) < (2, 34):
        return "gazelab needs glibc 2.34 or later: use Debian 12, Ubuntu 22.04, Fedora 35 or anything newer."
    return ""


def unsupported_here() -> str:
    """Say why gazelab cannot run on this machine; empty if nothing is in the way."""
    system = platform.system()
    release = platform.mac_ver()[0] if system == "Darwin" else platform.libc_ver()[1]
    bits = 64 if sys.maxsize > 2**32 else 32
    return unsupported(sys.version_info[:2], system, platform.machine(), bits, release)


def missing_libraries(window: bool) -> "dict[str, str]":
    """Find what this Linux lacks.

    Parameters
    ----------
    window : bool
        Whether a window will be opened; what X11 needs is asked for only then, and only under X11.

    Returns
    -------
    dict
        Library: Debian's package that holds it. Empty on other systems.
    """
    if platform.system() != "Linux":
        return {}
    x11 = window and os.environ.get("DISPLAY") and not os.environ.get("WAYLAND_DISPLAY")
    table = dict(LIBRARIES, **(X11_LIBRARIES if x11 else {}))
    return {name: package for name, package in table.items() if not _loads(name)}


def install_line(needs: "dict[str, str]", os_release: str) -> str:
    """Give the command that installs what is missing.

    Parameters
    ----------
    needs : dict
        As `missing_libraries` gives it.
    os_release : str
        The text of the file /etc/os-release.

    Returns
    -------
    str
        Empty where the kind of Linux is not known.
    """
    names = re.findall(r'^ID(?:_LIKE)?="?([^"\n]*)', os_release, re.MULTILINE)
    kinds = set(" ".join(names).split())
    if kinds & {"debian", "ubuntu"}:
        return " ".join(["apt-get install -y --no-install-recommends", *sorted(needs.values())])
    if kinds & {"fedora", "rhel"}:
        return " ".join(["dnf install", *(f"'{name}()(64bit)'" for name in sorted(needs))])
    return ""


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
