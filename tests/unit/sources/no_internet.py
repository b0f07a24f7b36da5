"""Run by test_face.py in its own process: any internet socket, from any thread or library, kills it."""

from __future__ import annotations

import ctypes
import platform
import socket
import struct
import sys

SOCKET_CALL = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06


def forbid_internet_sockets() -> bool:
    """Ask the kernel to kill this process at socket(AF_INET or AF_INET6, …); False where it can't."""
    if platform.machine() not in SOCKET_CALL:
        return False
    arch, call = SOCKET_CALL[platform.machine()]
    program = [
        (LOAD, 0, 0, 4),  # architecture
        (JUMP_EQUAL, 0, 5, arch),
        (LOAD, 0, 0, 0),  # number of the call
        (JUMP_EQUAL, 0, 3, call),
        (LOAD, 0, 0, 16),  # first argument: address family
        (JUMP_EQUAL, 2, 0, int(socket.AF_INET)),
        (JUMP_EQUAL, 1, 0, int(socket.AF_INET6)),
        (RETURN, 0, 0, ALLOW),
        (RETURN, 0, 0, KILL_PROCESS),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *step) for step in program))
    head = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    no_new_privileges = prctl(38, ctypes.c_ulong(1), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))
    return no_new_privileges == 0 and prctl(22, ctypes.c_ulong(2), head) == 0


def main() -> int:
    if not forbid_internet_sockets():
        sys.stdout.write("this kernel takes no socket filter")
        return 77
    if sys.argv[1] == "socket":
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        return 0
    from gazelab.core.gaze import Frame
    from gazelab.core.picture import load_picture
    from gazelab.sources.face import MODEL_PATH, FaceReader

    rgb = load_picture(MODEL_PATH.with_name("face.png")).rgb
    with FaceReader() as reader:
        found = sum(
            bool(reader.read(Frame.from_rgb(rgb, i * 33_000_000, i)).features["valid"]) for i in range(30)
        )
    sys.stdout.write(f"frames with a face: {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
