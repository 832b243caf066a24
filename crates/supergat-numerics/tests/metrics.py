"""Prints the expected values of the tests in src/metrics, computed by scikit-learn and SciPy.

    pip install scikit-learn
    python3 crates/supergat-numerics/tests/metrics.py
"""

import warnings

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax
from sklearn import metrics

warnings.simplefilter("ignore")


def show(name, value):
    print(f"{name:<45}{value!r}" if not isinstance(value, (float, np.floating)) else f"{name:<45}{float(value)!r}")


def calibration_error(confidence, right, bins=15):
    error = 0.0
    for b in range(bins):
        inside = (confidence > b / bins if b else confidence >= 0) & (confidence <= (b + 1) / bins)
        if inside.any():
            error += inside.sum() * abs(right[inside].mean() - confidence[inside].mean())
    return error / len(confidence)


def single():
    y = np.array([0, 0, 1, 2, 1, 0, 0, 2, 1, 0, 2, 1])
    p = np.array([
        [60, 10, 10, 10, 10], [30, 40, 20, 5, 5], [20, 50, 20, 5, 5], [10, 20, 60, 5, 5],
        [50, 30, 10, 5, 5], [60, 20, 10, 5, 5], [20, 20, 50, 5, 5], [10, 10, 10, 60, 10],
        [20, 50, 20, 10, 0], [90, 5, 5, 0, 0], [25, 40, 25, 5, 5], [20, 20, 45, 10, 5],
    ]) / 100.0
    predicted = p.argmax(axis=1)
    f1 = dict(zero_division=np.nan, labels=range(5))
    show("single accuracy", metrics.accuracy_score(y, predicted))
    show("single balanced accuracy", metrics.balanced_accuracy_score(y, predicted))
    for average in ["macro", "micro", "weighted"]:
        show(f"single {average}-F1", metrics.f1_score(y, predicted, average=average, **f1))
    show("single macro-F1, default labels", metrics.f1_score(y, predicted, average="macro"))
    for name, score in [("precision", metrics.precision_score), ("recall", metrics.recall_score), ("F1", metrics.f1_score)]:
        show(f"single {name} per class", [float(v) for v in score(y, predicted, average=None, **f1)])
    present = [0, 1, 2]
    show("single AUROC", np.mean([metrics.roc_auc_score(y == c, p[:, c]) for c in present]))
    show("single AP", np.mean([metrics.average_precision_score(y == c, p[:, c]) for c in present]))
    show("single log loss", metrics.log_loss(y, p, labels=range(5)))
    show("single Brier", metrics.brier_score_loss(y, p, labels=range(5)))
    show("single ECE", calibration_error(p.max(axis=1), predicted == y))


def multi():
    y = np.array([1, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 0]).reshape(-1, 4)
    p = np.array([90, 20, 40, 10, 60, 30, 30, 5, 20, 10, 70, 20, 80, 60, 40, 10, 55, 35, 65, 0, 45, 30, 60, 15])
    p = p.reshape(-1, 4) / 100.0
    predicted = (p > 0.5).astype(int)
    for average in ["macro", "micro", "weighted"]:
        show(f"multi {average}-F1", metrics.f1_score(y, predicted, average=average, zero_division=np.nan))
    present = [0, 1, 2]
    show("multi AUROC", np.mean([metrics.roc_auc_score(y[:, c], p[:, c]) for c in present]))
    show("multi AP", np.mean([metrics.average_precision_score(y[:, c], p[:, c]) for c in present]))
    show("multi log loss", np.mean([metrics.log_loss(y[:, c], p[:, c], labels=[0, 1]) for c in range(4)]))
    show("multi Brier", metrics.mean_squared_error(y.ravel(), p.ravel()))
    show("multi ECE", calibration_error(p.ravel(), y.ravel() == 1))


def classes():
    """Precision, recall, F1, nodes and predictions of every class: never predicted, without nodes, and neither."""
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 0, 1, 2, 3])
    predicted = np.array([0, 0, 1, 1, 0, 2, 2, 2, 0, 4, 0, 2, 2, 1])
    found = metrics.precision_recall_fscore_support(y, predicted, labels=range(6), zero_division=np.nan)
    rows = zip(*(values.tolist() for values in found), np.bincount(predicted, minlength=6).tolist())
    for label, row in enumerate(rows):
        show(f"class {label}", row)


def two():
    y, p = np.array([1, 0, 1, 1, 0]), np.array([0.9, 0.8, 0.8, 0.2, 0.1])
    show("two AUROC", metrics.roc_auc_score(y, p))
    show("two AP", metrics.average_precision_score(y, p))
    show("two macro-F1", metrics.f1_score(y, p > 0.5, average="macro"))
    y, p = np.array([0, 1, 1, 0]), np.array([0.0, 0.7, 0.0, 0.6])
    show("two log loss", metrics.log_loss(y, np.c_[1 - p, p]))
    show("two Brier", metrics.brier_score_loss(y, p))
    y, predicted = [0, 0, 0, 1], [0, 0, 0, 0]
    show("constant macro-F1", metrics.f1_score(y, predicted, average="macro"))


def ranking():
    y = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 0])
    s = np.array([0.9, 0.8, 0.8, 0.7, 0.7, 0.7, 0.4, 0.4, 0.3, 0.1, 0.1, 0.05])
    show("ranking AUROC", metrics.roc_auc_score(y, s))
    show("ranking AP", metrics.average_precision_score(y, s))
    fpr, tpr, _ = metrics.roc_curve(y, s, drop_intermediate=False)
    show("ROC curve", np.c_[fpr, tpr].tolist())
    precision, recall, thresholds = metrics.precision_recall_curve(y, s)
    show("precision-recall curve", np.c_[thresholds, precision[:-1], recall[:-1]][::-1].tolist())
    order = np.argsort(-s, kind="stable")
    show("precision at k", [metrics.precision_score(y[order[:k]], np.ones(k), zero_division=np.nan) for k in range(1, 13)])


def temperature():
    z = np.array([k * k % 37 for k in range(60)]) / 6.0 - 3.0
    rows, y = z.reshape(-1, 3), np.array([k * k % 3 for k in range(20)])

    def fitted(loss):
        found = minimize_scalar(lambda t: loss(np.exp(t)), bracket=(-0.5, 0.5), tol=1e-12)
        return np.exp(found.x)

    show("temperature", fitted(lambda t: -log_softmax(rows / t, axis=1)[np.arange(20), y].sum()))
    flags = z + 1.7 * np.sin(5 * z) > 0
    show("temperature of labels", fitted(lambda t: -np.log(np.where(flags, expit(z / t), expit(-z / t))).sum()))


for part in [single, multi, classes, two, ranking, temperature]:
    part()
