"""Workers, schedulers and clients that are really killed: the job finishes all the same, or a rerun resumes."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.tree import DecisionTreeClassifier

from montechain import AutoChainClassifier, ChainClassifier, OrderSearch, save
from montechain.evaluation import evaluate
from tests.evaluation.cheap import Guess, small_dataset

X, Y = make_multilabel_classification(n_samples=120, n_features=8, n_classes=3, random_state=0)


@contextmanager
def a_worker_killed(client):
    """Kill a worker that is at work."""
    pids, killed = client.run(os.getpid), []

    def kill():
        while not killed:
            time.sleep(0.01)
            for address, tasks in client.processing().items():
                if tasks and not killed:
                    killed.append(address)
                    os.kill(pids[address], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield
        assert killed
    finally:
        killed.append("nothing more")
        killer.join()
    client.wait_for_workers(2)


JOBS = {
    "automatic": lambda: np.hstack(AutoChainClassifier(random_state=0, n_jobs=2).fit(X, Y).predict_proba(X)),
    "search": lambda: (
        ChainClassifier(DecisionTreeClassifier(random_state=0), order=OrderSearch(n_iterations=10), random_state=0)
        .fit(X, Y)
        .predict_proba(X)[0]
    ),
    "evaluate": lambda: (
        evaluate(small_dataset(), ["CC", "IC"], folds=3)
        .query("not measure.str.endswith('_seconds')")["value"]
        .to_numpy(float)
    ),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_job_on_a_cluster_outlives_a_worker_and_gives_the_same(client, name):
    expected = JOBS[name]()
    with joblib.parallel_config(backend="dask"), a_worker_killed(client):
        found = JOBS[name]()
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_learning_by_passes_outlives_a_worker(client):
    expected = ChainClassifier(random_state=0).fit(X, Y).predict_proba(X)[0]
    with a_worker_killed(client):
        found = ChainClassifier(random_state=0).fit(*(da.from_array(own, chunks=(40, -1)) for own in (X, Y)))
    np.testing.assert_allclose(found.predict_proba(X)[0], expected, atol=1e-6)


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as own:
        print(own.scheduler_address, flush=True)
        sys.stdin.read()
"""
EVALUATE = """
import sys, joblib
from distributed import Client
from tests.test_cluster_faults import evaluate_slowly
with Client(sys.argv[1]), joblib.parallel_config(backend="dask"):
    evaluate_slowly("results")
"""
PREDICT = [sys.executable, "-m", "montechain", "predict", "m.mchain", "parts", "-o", "predicted"]
N_PARTS = 40


class Slow(Guess):
    """Takes its time."""

    def fit(self, X, y):
        time.sleep(0.3)
        return super().fit(X, y)


def evaluate_slowly(store):
    return evaluate(small_dataset(), {"slow": Slow()}, folds=12, encoder="passthrough", store=store)


@pytest.mark.parametrize("victim", ["scheduler", "clients"])
def test_results_outlive_the_scheduler_and_the_client_and_a_rerun_resumes(tmp_path, victim):
    save(ChainClassifier(random_state=0).fit(X, Y), tmp_path / "m.mchain")
    (tmp_path / "parts").mkdir()
    for k in range(N_PARTS):
        pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]).to_parquet(tmp_path / "parts" / f"{k:02}.parquet")
    (tmp_path / "cluster.py").write_text(CLUSTER)

    def start(*command):
        pipe, path = subprocess.PIPE, os.pathsep.join(filter(None, sys.path))
        options = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": path}, "text": True}
        return subprocess.Popen(list(map(str, command)), stdin=pipe, stdout=pipe, stderr=pipe, **options)

    cluster = start(sys.executable, "cluster.py")
    try:
        address = cluster.stdout.readline().strip()
        clients = [start(*PREDICT, "--scheduler", address), start(sys.executable, "-c", EVALUATE, address)]
        files, deadline = ["predicted/*.parquet", "results/*.json"], time.monotonic() + 120
        while not all(any(tmp_path.glob(pattern)) for pattern in files):
            assert time.monotonic() < deadline
            time.sleep(0.002)
        for process in [cluster] if victim == "scheduler" else clients:
            process.kill()
        said = [process.communicate(timeout=60)[1] for process in clients]
    finally:
        cluster.kill()
        cluster.communicate()
    if victim == "scheduler":
        assert f"the cluster at {address} was lost. What has been written is complete" in said[0]
        assert [process.returncode for process in clients] == [5, 1]
    before = [{file: file.stat().st_mtime_ns for file in tmp_path.glob(pattern)} for pattern in files]
    assert (len(before[0]) < N_PARTS, len(before[1]) < 12) == (True, True)
    both = [start(*PREDICT) for _ in range(2)]  # two processes may write one folder
    whole, resumed = evaluate_slowly(None), evaluate_slowly(tmp_path / "results")
    pd.testing.assert_frame_equal(resumed.query("measure == 'exact_match'"), whole.query("measure == 'exact_match'"))
    assert [process.communicate(timeout=60) and process.returncode for process in both] == [0, 0]
    assert all(file.stat().st_mtime_ns == then for own in before for file, then in own.items())
    written = sorted(tmp_path.glob(files[0]))
    assert [file.name for file in written] == [f"{k:02}.parquet" for k in range(N_PARTS)]
    for file in written[1:]:
        pd.testing.assert_frame_equal(pd.read_parquet(file), pd.read_parquet(written[0]))
