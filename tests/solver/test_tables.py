import errno

import numpy as np
import pytest
from nashfold.game import preset
from nashfold.solver import betting_tree
from nashfold.solver.tables import Tables
from nashfold.solver.tree_size import tree_size

TREE = betting_tree(preset("short-limit"))
BUCKETS = [36, 5, 7]


def _tables():
    tables = Tables(TREE, BUCKETS)
    tables.values[:] = np.random.default_rng(0).random(len(tables.values), np.float32)
    tables.iterations = 77
    return tables


@pytest.mark.parametrize("storage", ["float32", "int16"])
@pytest.mark.parametrize("averages", [None, [0], [1, 2], []])
def test_the_estimate_is_what_is_taken(storage, averages):
    size = tree_size(TREE.rules, num_buckets=BUCKETS, storage=storage, averages=averages)
    tables = Tables(TREE, BUCKETS, storage, averages)
    assert size.table_bytes == tables.values.nbytes
    assert size.infosets == tree_size(TREE.rules, num_buckets=BUCKETS).infosets


def test_int16_and_fewer_averages_take_less_memory():
    """Bytes an infoset, of two or three actions: about 20 in float32, half and a header of 2 in int16."""
    full = tree_size(TREE.rules, num_buckets=BUCKETS)
    taken = {
        (storage, averages): tree_size(
            TREE.rules, num_buckets=BUCKETS, storage=storage, averages=averages
        ).table_bytes
        / full.infosets
        for storage in ("float32", "int16")
        for averages in (None, ())
    }
    assert 16 < taken["float32", None] < 24
    assert taken["float32", ()] == taken["float32", None] / 2
    assert taken["int16", None] == taken["float32", None] / 2 + 2
    assert taken["int16", ()] == taken["float32", None] / 4 + 2


def test_rows_of_all_buckets_and_rounds_are_disjoint():
    tables = Tables(TREE, BUCKETS)
    for index, buckets in enumerate(BUCKETS):
        starts = tables.row_start(index, np.arange(buckets))
        for start in starts:
            tables.values[start : start + 2 * TREE.num_slots[index]] += 1
    assert (tables.values == 1).all()


def test_the_average_is_normalised_by_node_and_uniform_where_nothing_was_visited():
    tables = _tables()
    tables.values[tables.row_start(1, np.array([3]))[0] :][: 2 * TREE.num_slots[1]] = 0
    average = tables.average_strategy()
    for index, table in enumerate(average):
        assert table.shape == (BUCKETS[index], TREE.num_slots[index])
        assert table.dtype == np.float32
        for node in np.flatnonzero((TREE.round == index) & (TREE.num_actions > 0)):
            slot, count = TREE.action_slot[node], TREE.num_actions[node]
            rows = table[:, slot : slot + count]
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-6)
            if index == 1:
                np.testing.assert_allclose(rows[3], 1 / count)
            start = tables.row_start(index, np.array([2]))[0] + 2 * slot + count
            sums = tables.values[start : start + count]
            np.testing.assert_allclose(rows[2], sums / sums.sum(), rtol=1e-6)


@pytest.mark.parametrize("averages", [None, [0, 2], []])
def test_int16_means_codes_times_a_power_of_two(averages):
    tables = Tables(TREE, BUCKETS, "int16", averages)
    rng = np.random.default_rng(1)
    tables.values[:] = rng.integers(-32767, 32768, len(tables.values))
    for index, buckets in enumerate(BUCKETS):
        keeps = averages is None or index in averages
        regrets = tables.cumulative(index)
        sums = tables.cumulative(index, average=True) if keeps else None
        for node in np.flatnonzero((TREE.round == index) & (TREE.num_actions > 0))[::7]:
            slot, count = TREE.action_slot[node], TREE.num_actions[node]
            for bucket in range(0, buckets, 3):
                place = tables.row_start(index, bucket) + tables.record[node]
                low, high = tables.values[place - 1 : place].view(np.int8).tolist()
                codes = tables.values[place : place + 2 * count].astype(float)
                assert (
                    regrets[bucket, slot : slot + count].tolist() == (codes[:count] * 2.0**low).tolist()
                )
                if keeps:
                    found = sums[bucket, slot : slot + count].tolist()
                    assert found == (codes[count:] * 2.0**high).tolist()


def test_the_current_strategy_matches_positive_regrets():
    tables = Tables(TREE, BUCKETS)
    tables.values[:] = np.random.default_rng(0).normal(size=len(tables.values))
    for index, table in enumerate(tables.current_strategy()):
        regrets = tables.cumulative(index)
        for node in np.flatnonzero((TREE.round == index) & (TREE.num_actions > 0)):
            slots = slice(TREE.action_slot[node], TREE.action_slot[node] + TREE.num_actions[node])
            positive = np.maximum(regrets[:, slots], 0)
            total = positive.sum(axis=1, keepdims=True)
            with np.errstate(invalid="ignore"):
                expected = np.where(total > 0, positive / total, 1 / positive.shape[1])
            np.testing.assert_allclose(table[:, slots], expected, rtol=1e-6)


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_mapped_tables_have_their_room_and_the_same_values(tmp_path, storage):
    buckets = [36, 3000, 5000]
    path = tmp_path / "run" / "tables.npy"
    mapped, plain = Tables(TREE, buckets, storage, path=path), Tables(TREE, buckets, storage)
    assert path.stat().st_size >= mapped.values.nbytes == plain.values.nbytes > 5_000_000
    assert path.stat().st_blocks * 512 >= mapped.values.nbytes  # reserved, so that it cannot run out
    for name, tables in (("mapped", mapped), ("plain", plain)):
        tables.values[1000:2000] = 7
        tables.iterations = 3
        tables.save(tmp_path / name, {})
    assert np.load(path, mmap_mode="r")[1999] == 7
    np.testing.assert_array_equal(mapped.values, plain.values)
    del mapped
    again = Tables(TREE, buckets, storage, path=path)
    assert not again.values.any()  # made anew: a run goes on from its checkpoint
    again.load(tmp_path / "plain", {})
    np.testing.assert_array_equal(again.values, plain.values)
    assert np.load(path, mmap_mode="r")[1999] == 7


def test_a_mapped_file_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"the tables cannot be kept in .*file/tables\.npy: "):
        Tables(TREE, BUCKETS, path=tmp_path / "file" / "tables.npy")


def test_checkpoints_fit_their_storage_alone(tmp_path):
    Tables(TREE, BUCKETS, "int16").save(tmp_path / "000", {})
    with pytest.raises(ValueError, match="does not fit the tables"):
        Tables(TREE, BUCKETS).load(tmp_path / "000", {})
    with pytest.raises(ValueError, match="does not fit the tables"):
        Tables(TREE, BUCKETS, "int16", averages=[0]).load(tmp_path / "000", {})


def test_checkpoints_come_back_whole_or_not_at_all(tmp_path):
    tables, header = _tables(), {"seed": 1, "rules": "short-limit"}
    path = tmp_path / "000"
    tables.save(path, header)
    other = Tables(TREE, BUCKETS)
    assert other.load(path, header)["iterations"] == 77
    assert other.iterations == 77
    np.testing.assert_array_equal(other.values, tables.values)
    with pytest.raises(ValueError, match="of another run: its seed is 1, not 2"):
        other.load(path, {"seed": 2})
    with pytest.raises(ValueError, match="does not fit the tables"):
        Tables(TREE, [36, 5, 8]).load(path, header)
    file = path / "values.npy"
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(data)
    with pytest.raises(ValueError, match=r"is damaged: values.npy is not the array that was written"):
        Tables(TREE, BUCKETS).load(path, header)
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"is damaged: values.npy cannot be read"):
        Tables(TREE, BUCKETS).load(path, header)
    with pytest.raises(ValueError, match="there is no such folder"):
        Tables(TREE, BUCKETS).load(tmp_path / "nowhere", header)


def test_a_full_disk_is_told_before_anything_is_mapped(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.posix_fallocate", full, raising=False)
    with pytest.raises(
        ValueError, match=r"tables\.npy: the disk has no room for tables of .* MiB: free"
    ):
        Tables(TREE, BUCKETS, path=tmp_path / "tables.npy")
    assert not list(tmp_path.iterdir())
