"""Folders of arrays: what is read is what was written, or a ValueError, and nothing foreign is lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from nashfold.abstraction.arrays import load_arrays, save_arrays

ARRAYS = {
    "buckets": np.arange(60, dtype=np.uint16).reshape(5, 12),
    "strategy": np.linspace(0, 1, 7, dtype=np.float32),
    "empty": np.empty((0, 3), np.int64),
}


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "thing"
    save_arrays(path, "thing", {"name": "first"}, ARRAYS)
    return path


def contents(path) -> dict[str, bytes]:
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.parametrize("memory_map", [True, False])
def test_what_is_read_is_what_was_written(folder, memory_map):
    header, arrays = load_arrays(folder, "thing", memory_map)
    assert header["name"] == "first"
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)
    assert isinstance(arrays["buckets"], np.memmap) == memory_map


@settings(max_examples=25, deadline=None)
@given(
    arrays_of.arrays(
        st.sampled_from([np.uint8, np.uint16, np.int64, np.float32, np.float64]),
        arrays_of.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5),
    )
)
def test_any_array_survives_bit_for_bit(tmp_path_factory, array):
    path = tmp_path_factory.mktemp("arrays") / "thing"
    for written in (array, array.T, array[::-1]):  # also where memory is not in order
        save_arrays(path, "thing", {}, {"x": written})
        _, arrays = load_arrays(path, "thing")
        assert arrays["x"].dtype == array.dtype
        assert arrays["x"].shape == written.shape
        assert arrays["x"].tobytes() == written.tobytes()


def test_arrays_are_plain_npy_files_behind_a_json_header(folder):
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(np.load(folder / f"{name}.npy", allow_pickle=False), array)
    header = json.loads((folder / "header.json").read_text())
    assert header["nashfold"] == "thing"
    assert set(header["arrays"]) == set(ARRAYS)
    assert sorted(contents(folder)) == ["buckets.npy", "empty.npy", "header.json", "strategy.npy"]


def test_memory_mapped_arrays_cannot_be_written_to(folder):
    _, arrays = load_arrays(folder, "thing")
    with pytest.raises(ValueError, match="read-only"):
        arrays["buckets"][0, 0] = 1


def test_a_folder_of_the_same_kind_is_replaced_whole(folder):
    save_arrays(folder, "thing", {"name": "second"}, {"other": np.zeros(3)})
    header, arrays = load_arrays(folder, "thing")
    assert header["name"] == "second"
    assert list(arrays) == ["other"]
    assert sorted(contents(folder.parent)) == ["thing/header.json", "thing/other.npy"]


def flip_a_byte(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


DAMAGE = {
    "a flipped bit": flip_a_byte,
    "a file cut short": lambda path: path.write_bytes(path.read_bytes()[:-5]),
    "an empty file": lambda path: path.write_bytes(b""),
    "no file": lambda path: path.unlink(),
    "no array": lambda path: path.write_text("not an array"),
    "another shape": lambda path: np.save(path, ARRAYS["buckets"].reshape(12, 5)),
    "another type": lambda path: np.save(path, ARRAYS["buckets"].astype(np.int16)),
    "other values": lambda path: np.save(path, ARRAYS["buckets"] + np.uint16(1)),
    "objects": lambda path: np.save(path, np.array([{}], object), allow_pickle=True),
}


@pytest.mark.parametrize("memory_map", [True, False])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_damage_is_noticed_and_named(folder, damage, memory_map):
    damage(folder / "buckets.npy")
    with pytest.raises(ValueError, match=r"thing .*thing is damaged: buckets\.npy"):
        load_arrays(folder, "thing", memory_map)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"nashfold": "another thing"}', "\xff"])
def test_a_folder_without_a_header_of_the_kind_is_refused(folder, text):
    (folder / "header.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match="holds no thing"):
        load_arrays(folder, "thing")


def test_folders_of_another_kind_or_format_or_none_are_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="holds no strategy"):
        load_arrays(folder, "strategy")
    with pytest.raises(ValueError, match="there is no such folder"):
        load_arrays(tmp_path / "nothing", "thing")
    with pytest.raises(ValueError, match="it is a file"):
        load_arrays(folder / "header.json", "thing")
    for change in ({"format": 2}, {"format": None}):
        header = json.loads((folder / "header.json").read_text()) | change
        (folder / "header.json").write_text(json.dumps(header))
        with pytest.raises(ValueError, match=f"has format {change['format']}, this version reads"):
            load_arrays(folder, "thing")
    (folder / "header.json").write_text('{"nashfold": "thing"}')
    with pytest.raises(ValueError, match="has format None"):
        load_arrays(folder, "thing")


@pytest.mark.parametrize("foreign", ["folder", "empty folder", "file", "other kind"])
def test_what_is_not_ours_is_not_overwritten(tmp_path, foreign):
    path = tmp_path / "place"
    if foreign == "file":
        path.write_text("precious")
    elif foreign == "other kind":
        save_arrays(path, "strategy", {}, {"x": np.ones(2)})
    else:
        path.mkdir()
        if foreign == "folder":
            (path / "header.json").write_text("precious")
    before = contents(tmp_path)
    with pytest.raises(ValueError, match="exists and holds no thing: nothing was overwritten"):
        save_arrays(path, "thing", {}, ARRAYS)
    assert contents(tmp_path) == before
    assert path.is_file() == (foreign == "file")


@pytest.mark.parametrize("fault", [OSError("No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", [1, 2])
def test_an_interrupted_write_leaves_the_old_folder_whole(folder, monkeypatch, fault, call):
    before = contents(folder)
    calls = []
    save = np.save

    def failing_save(file, array, **options):
        calls.append(array)
        if len(calls) == call:
            file.write(b"half an array")
            raise fault
        save(file, array, **options)

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", failing_save)
        with pytest.raises(type(fault)):
            save_arrays(folder, "thing", {"name": "second"}, {"a": np.zeros(5), "b": np.ones(5)})
    assert len(calls) == call
    assert contents(folder) == before
    assert load_arrays(folder, "thing")[0]["name"] == "first"
    save_arrays(folder, "thing", {"name": "third"}, {"a": np.zeros(5)})  # and the next one goes through
    assert load_arrays(folder, "thing")[0]["name"] == "third"
    assert sorted(entry.name for entry in folder.parent.iterdir()) == ["thing"]


def test_a_new_folder_appears_only_when_it_is_complete(tmp_path, monkeypatch):
    save = np.save

    def watching_save(file, array, **options):
        assert not (tmp_path / "deep" / "thing").exists()
        save(file, array, **options)

    monkeypatch.setattr(np, "save", watching_save)
    save_arrays(tmp_path / "deep" / "thing", "thing", {}, ARRAYS)
    assert (tmp_path / "deep" / "thing" / "header.json").exists()


def test_writers_of_the_same_folder_do_not_stop_each_other(tmp_path):
    path = tmp_path / "thing"

    def write(name: str) -> None:
        for _ in range(40):
            save_arrays(path, "thing", {"name": name}, ARRAYS)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, "abcd"))
    header, arrays = load_arrays(path, "thing")
    assert header["name"] in "abcd"
    np.testing.assert_array_equal(arrays["buckets"], ARRAYS["buckets"])
    assert [entry.name for entry in tmp_path.iterdir()] == ["thing"]
