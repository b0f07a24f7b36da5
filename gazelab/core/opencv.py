"""OpenCV, imported in one place only.

`import cv2` points Qt at the plug-ins inside the OpenCV wheel, and PyQt6 then dies at start; and on Windows
the default capture backend needs minutes to open a camera unless told before the import not to try hardware
transforms. Its own chatter about a camera or a file that cannot be opened is left out: ours says it.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENCV_VIDEOIO_MSMF_ENABLE_HW_TRANSFORMS", "0")
os.environ.setdefault("OPENCV_LOG_LEVEL", "ERROR")
os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
_before = {name: os.environ.get(name) for name in ("QT_QPA_PLATFORM_PLUGIN_PATH", "QT_QPA_FONTDIR")}

import cv2  # noqa: E402

for _name, _value in _before.items():
    if _value is None:
        os.environ.pop(_name, None)
    else:
        os.environ[_name] = _value

__all__ = ["cv2"]
