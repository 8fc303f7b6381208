"""Our own threads, and how they limit those of BLAS."""

import _thread
import gc
import signal
import threading
import time

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from montechain._threads import count_threads, one_blas_thread, run_in_threads


def blas_threads() -> list[int]:
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def two_blas_threads():
    """Give BLAS two threads, even on a machine with one core, and check that it has them afterwards."""
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        yield
        assert blas_threads() == before


def _can_be_limited() -> bool:
    with threadpool_limits(limits=2, user_api="blas"):
        return 2 in blas_threads()


needs_blas = pytest.mark.skipif(not _can_be_limited(), reason="this BLAS has no threads that could be limited")


@pytest.mark.parametrize("n_jobs", [1, 2, 3, None])
def test_results_are_in_the_order_of_the_tasks(n_jobs):
    def slow_first(task: int) -> int:
        time.sleep(0.02 if task == 0 else 0.0)
        return task**2

    assert run_in_threads(slow_first, range(7), n_jobs) == [0, 1, 4, 9, 16, 25, 36]
    assert run_in_threads(slow_first, [], n_jobs) == []


def test_as_many_threads_work_at_a_time_as_requested_here_or_from_joblib():
    assert set(run_in_threads(lambda _: threading.get_ident(), range(5), 1)) == {threading.get_ident()}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        assert count_threads(None) == 2
        for n_jobs, n_threads in ((3, 3), (None, 2)):
            meeting = threading.Barrier(n_threads, timeout=10.0)
            found = run_in_threads(lambda _, m=meeting: (m.wait(), threading.get_ident())[1], range(n_threads), n_jobs)
            assert len(set(found)) == n_threads


def test_threads_do_not_start_threads():
    inner = run_in_threads(
        lambda _: (count_threads(4), run_in_threads(lambda _: threading.get_ident(), range(3), 4)), range(2), 2
    )
    assert [n for n, _ in inner] == [1, 1]
    assert all(len(set(idents)) == 1 for _, idents in inner)
    assert count_threads(4) == 4


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_the_first_task_that_fails_is_the_error(n_jobs):
    done = []

    def fail(task: int) -> None:
        if task == 2:
            time.sleep(0.02)  # the later failure comes first
        if task in (2, 3):
            raise ValueError(f"task {task}")
        if task > 3:
            time.sleep(0.001)
        done.append(task)

    with pytest.raises(ValueError, match="task 2"):
        run_in_threads(fail, range(1000), n_jobs)
    assert len(done) < 100


def test_an_interrupt_ends_all_threads():
    # Python loses an interrupt that arrives while the garbage collector calls back.
    gc.collect()
    gc.disable()
    # Ctrl-C may be ignored where tests run in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    started = threading.active_count()
    begun = []

    def interrupted(task: int) -> None:
        begun.append(task)
        if task == 1:
            _thread.interrupt_main()
        time.sleep(0.005)

    try:
        with pytest.raises(KeyboardInterrupt):
            run_in_threads(interrupted, range(1000), 2)
    finally:
        signal.signal(signal.SIGINT, before)
        gc.enable()
    assert len(begun) < 100
    # A thread that is just starting is not waited for, but finds nothing to do.
    end = time.monotonic() + 10.0
    while threading.active_count() > started and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() == started


def test_settings_of_numpy_reach_the_threads():
    with np.errstate(divide="raise"):
        assert run_in_threads(lambda _: np.geterr()["divide"], range(4), 2) == ["raise"] * 4


@needs_blas
def test_blas_has_one_thread_in_threads_and_is_left_alone_in_a_loop():
    assert all(set(counts) == {1} for counts in run_in_threads(lambda _: blas_threads(), range(4), 2))
    assert all(set(counts) == {2} for counts in run_in_threads(lambda _: blas_threads(), range(4), 1))


@needs_blas
def test_the_limit_may_be_nested_and_an_error_takes_it_away():
    with one_blas_thread():
        with pytest.raises(RuntimeError), one_blas_thread():
            raise RuntimeError
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


@needs_blas
def test_the_last_thread_to_leave_takes_the_limit_away():
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            assert leave.wait(10.0)

    other = threading.Thread(target=hold)
    with one_blas_thread():
        other.start()
        assert entered.wait(10.0)
    assert set(blas_threads()) == {1}
    leave.set()
    other.join()
    assert set(blas_threads()) == {2}
    # Others can limit it afterwards.
    with threadpool_limits(limits=1, user_api="blas"):
        assert set(blas_threads()) == {1}
