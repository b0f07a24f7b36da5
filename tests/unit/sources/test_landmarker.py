from __future__ import annotations

import mediapipe
import numpy as np
import pytest

from gazelab.sources.face import load_model
from gazelab.sources.landmarker import Landmarker, make_landmarker, make_task


def image(rgb: np.ndarray) -> mediapipe.Image:
    return mediapipe.Image(image_format=mediapipe.ImageFormat.SRGB, data=np.ascontiguousarray(rgb))


def same(ours, theirs) -> None:
    assert len(ours.landmarks) == len(theirs.face_landmarks)
    for points, face in zip(ours.landmarks, theirs.face_landmarks, strict=True):
        np.testing.assert_array_equal(points, np.array([(p.x, p.y, p.z) for p in face], np.float32))
    for scores, face in zip(ours.scores, theirs.face_blendshapes, strict=True):
        assert scores == {s.category_name: s.score for s in face}
    for pose, matrix in zip(ours.poses, theirs.facial_transformation_matrixes, strict=True):
        np.testing.assert_array_equal(pose, matrix)


def test_the_numbers_are_those_of_the_tasks_own_call_frame_by_frame(face_rgb):
    """Two tasks see one stream: the face, shifted, two faces, none, the face again."""
    moved = np.roll(face_rgb, 6, axis=1)
    two = np.concatenate([face_rgb, face_rgb[:, ::-1]], axis=0)
    blank = np.zeros_like(face_rgb)
    own, task = make_landmarker(load_model(), "VIDEO", 0.5), make_task(load_model(), "VIDEO", 0.5)
    found = []
    for k, rgb in enumerate((face_rgb, moved, moved, blank, face_rgb, two, two)):
        ours, theirs = own.detect_for_video(image(rgb), 33 * k), task.detect_for_video(image(rgb), 33 * k)
        same(ours, theirs)
        found.append(len(ours.landmarks))
    own.close()
    task.close()
    assert found[:5] == [1, 1, 1, 0, 1]
    assert found[-1] == 2


def test_a_still_has_478_points_52_scores_and_a_pose_that_stay_when_the_landmarker_is_closed(face_rgb):
    task = make_task(load_model(), "IMAGE", 0.5)
    own = Landmarker(task)
    faces, theirs = own.detect(image(face_rgb)), task.detect(image(face_rgb))
    own.close()
    assert faces.landmarks[0].shape == (478, 3)
    assert len(faces.scores[0]) == 52
    assert faces.poses[0].shape == (4, 4)
    same(faces, theirs)


def test_a_stamp_that_does_not_grow_raises_as_the_task_does(face_rgb):
    own = make_landmarker(load_model(), "VIDEO", 0.5)
    own.detect_for_video(image(face_rgb), 5)
    with pytest.raises((RuntimeError, ValueError)):
        own.detect_for_video(image(face_rgb), 5)
    own.close()
