"""Jobs: the time limit stops only the jobs that exceed it, and a killed run resumes."""

import json
import signal
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from sklearn.model_selection import ShuffleSplit

from command import Started
from montechain.evaluation import evaluate
from tests.evaluation.cheap import Failing, Guess, Sleeping, small_dataset

ONE_FOLD = ShuffleSplit(1, test_size=1 / 3, random_state=0)


def run(methods, **options):
    results = evaluate(small_dataset(), methods, **{"folds": ONE_FOLD, "encoder": "passthrough"} | options)
    return results[results["measure"] == "exact_match"].reset_index(drop=True)


def test_what_exceeds_the_time_limit_is_ended_and_the_others_finish(tmp_path):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    methods = {"a": Sleeping(), "b": Sleeping(goes_on=True), "failing": Failing(), "last": Guess()}
    results = run(methods, time_limit=500, store=tmp_path).set_index("method")
    late = "exceeded the time limit of 500 s"
    assert results["reason"].tolist() == [late, late, "ArithmeticError: nothing adds up", ""]
    assert results["status"].tolist() == ["DNF"] * 3 + ["ok"]
    assert results["value"].notna().tolist() == [False] * 3 + [True]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)] == handlers
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    with ThreadPoolExecutor() as pool, pytest.raises(ValueError, match="only in the main thread"):
        pool.submit(run, {"a": Guess()}, time_limit=500).result()


def test_processes_find_what_one_process_finds_and_keep_the_time_limit(tmp_path):
    methods = {"late": Sleeping(), "failing": Failing(), **{str(k): Guess(strength=k) for k in range(3)}}
    alone = run(methods, time_limit=500)
    pd.testing.assert_frame_equal(run(methods, time_limit=500, n_jobs=2, store=tmp_path), alone)
    assert len(list(tmp_path.glob("*.json"))) == 5


@pytest.mark.slow
def test_a_run_that_is_killed_again_and_again_loses_no_finished_fold(tmp_path):
    store, log = tmp_path / "results", tmp_path / "log"
    program = f"""
from pathlib import Path
from montechain.evaluation import evaluate
from tests.evaluation.cheap import Logged, small_dataset
Logged.path, Logged.seconds = Path({str(log)!r}), 0.02
methods = {{str(k): Logged(strength=k) for k in range(2)}}
evaluate(small_dataset(100), methods, folds=10, encoder="passthrough", store={str(store)!r})
"""

    def n_stored() -> int:
        return len(list(store.glob("*.json")))

    for n_wanted in (3, 8, 13):
        process = Started(tmp_path, program=program)
        process.wait_until(lambda n_wanted=n_wanted: n_stored() >= n_wanted)
        process.kill()
        assert n_wanted <= n_stored() < 20
        assert all(json.loads(file.read_text())["status"] == "ok" for file in store.glob("*.json"))  # none is damaged
    assert Started(tmp_path, program=program).wait() == 0
    assert n_stored() == 20
    # Nothing that had finished was computed again: each kill costs at most the fold that was under way.
    assert 20 <= len(log.read_text().splitlines()) <= 23
    whole = evaluate(small_dataset(100), {str(k): Guess(strength=k) for k in range(2)}, folds=10, encoder="passthrough")
    expected = whole[whole["measure"] == "hamming_score"].set_index(["method", "fold"])["value"]
    for file in store.glob("*.json"):
        found = json.loads(file.read_text())
        place = found["identity"]["method"], found["identity"]["fold"]
        assert found["values"]["values"]["hamming_score"] == expected[place]


def test_damaged_results_are_computed_again(tmp_path):
    expected = run({"a": Guess()}, store=tmp_path)
    (file,) = tmp_path.glob("*.json")
    for content in ("", '{"status": "ok"', "[]", json.dumps({"status": "odd"})):
        file.write_text(content)
        pd.testing.assert_frame_equal(run({"a": Guess()}, store=tmp_path), expected)
        assert json.loads(file.read_text())["status"] == "ok"
