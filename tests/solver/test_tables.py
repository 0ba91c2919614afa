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


def test_the_estimate_is_what_is_taken():
    assert tree_size(TREE.rules, num_buckets=BUCKETS).table_bytes == _tables().values.nbytes


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
