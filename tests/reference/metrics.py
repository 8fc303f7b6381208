"""Metrics by the book: loops over rows and cells. None stands for an unknown cell."""


def known_rows(Y_true, Y_pred, weight):
    """Return (pairs of the known cells as (label, true, predicted), weight) of each row that has any."""
    rows = []
    for true, predicted, w in zip(Y_true, Y_pred, weight, strict=True):
        cells = [(label, t, p) for label, (t, p) in enumerate(zip(true, predicted, strict=True)) if t is not None]
        if cells:
            rows.append((cells, w))
    return rows


def exact_match(Y_true, Y_pred, weight):
    rows = known_rows(Y_true, Y_pred, weight)
    return sum(w * all(t == p for _, t, p in cells) for cells, w in rows) / sum(w for _, w in rows)


def hamming_score(Y_true, Y_pred, weight):
    rows = known_rows(Y_true, Y_pred, weight)
    return sum(w * sum(t == p for _, t, p in cells) for cells, w in rows) / sum(w * len(cells) for cells, w in rows)


def counts(cells, negative):
    """Return how many relevant labels are shared, true and predicted."""
    true = {(label, t) for label, t, _ in cells if t != negative[label]}
    predicted = {(label, p) for label, _, p in cells if p != negative[label]}
    return len(true & predicted), len(true), len(predicted)


def f1(shared, true, predicted):
    return 2 * shared / (true + predicted) if true + predicted else 1.0


def jaccard(shared, true, predicted):
    return shared / (true + predicted - shared) if true + predicted else 1.0


def set_score(measure, average, Y_true, Y_pred, weight, negative):
    rows = known_rows(Y_true, Y_pred, weight)
    if average == "instance":
        return sum(w * measure(*counts(cells, negative)) for cells, w in rows) / sum(w for _, w in rows)
    groups = {None: [0.0, 0.0, 0.0]} if average == "micro" else {}
    for cells, w in rows:
        for cell in cells:
            group = groups.setdefault(None if average == "micro" else cell[0], [0.0, 0.0, 0.0])
            for i, count in enumerate(counts([cell], negative)):
                group[i] += w * count
    return sum(measure(*group) for group in groups.values()) / len(groups)


def set_calibration_error(proba, correct, n_bins):
    total = 0.0
    for b in range(n_bins):
        rows = [i for i, p in enumerate(proba) if b <= p * n_bins < b + 1 or (b == n_bins - 1 and p * n_bins >= n_bins)]
        if rows:
            confidence = sum(proba[i] for i in rows) / len(rows)
            accuracy = sum(bool(correct[i]) for i in rows) / len(rows)
            total += len(rows) / len(proba) * abs(confidence - accuracy)
    return total
