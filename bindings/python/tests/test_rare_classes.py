"""Weights of classes, the positive class, thresholds, selection and ensembles."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from conftest import small_graph
from sklearn.base import clone
from sklearn.metrics import precision_recall_fscore_support

import supergat
from supergat import Graph, SuperGATClassifier

OPTIONS: dict[str, Any] = {"model": "gcn", "max_epochs": 30}


@pytest.fixture(scope="module")
def fraud() -> Graph:
    """A tenth of the nodes are frauds, and features tell little about them."""
    random = np.random.default_rng(1)
    nodes = 400
    is_fraud = np.arange(nodes) % 10 == 0
    features = (is_fraud[:, None] + random.normal(0, 1, (nodes, 2))).astype(np.float32)
    links = random.integers(0, nodes, (2, 3 * nodes))
    labels = np.where(is_fraud, "fraud", "genuine")
    return Graph.from_edge_index(links, features, labels=labels, name="payments")


@pytest.fixture(scope="module")
def target(fraud: Graph) -> np.ndarray:
    return fraud.labels == "fraud"


def frauds(model: supergat.Model, graph: Graph) -> int:
    return int((model.predict(graph) == "fraud").sum())


def test_weights_raise_the_number_of_rare_nodes(fraud: Graph) -> None:
    def found(weight: Any) -> int:
        return frauds(supergat.train(fraud, **OPTIONS, class_weight=weight, select="macro-f1").model, fraud)

    plain, balanced, heavy = found(None), found("balanced"), found({"fraud": 100.0})
    assert plain < balanced < heavy
    # Nine genuine nodes for each fraud: balanced weights are 10/18 and 5.
    split = fraud.positions(fraud.split["train"])
    rare = int((fraud.labels[split] == "fraud").sum())
    weights = {"fraud": len(split) / (2 * rare), "genuine": len(split) / (2 * (len(split) - rare))}
    explicit = supergat.train(fraud, **OPTIONS, class_weight=weights)
    same = supergat.train(fraud, **OPTIONS, class_weight="balanced")
    assert np.array_equal(explicit.probabilities, same.probabilities)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ({"theft": 2.0}, ValueError, "`class_weight`: expected one of the classes fraud, genuine, found `theft`"),
        ("heavy", ValueError, "class_weight: expected None, 'balanced' or a dictionary of classes and weights, found 'heavy'"),
        ([1.0, 2.0], ValueError, "class_weight: expected None, 'balanced' or a dictionary"),
        ({"fraud": "much"}, TypeError, "class_weight: expected a number for every class"),
        ({"fraud": -1.0}, ValueError, "must be a number that is not negative"),
    ],
)
def test_wrong_weights(fraud: Graph, weight: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as found:
        supergat.train(fraud, **OPTIONS, class_weight=weight)
    assert message in str(found.value)


def test_warnings_name_arguments(fraud: Graph, caplog: pytest.LogCaptureFixture) -> None:
    training = supergat.train(fraud, **OPTIONS, threshold=1.0)
    assert any('select="balanced-accuracy"' in warning for warning in training.warnings)
    assert training.warnings[0] in caplog.text
    training = supergat.train(fraud, **OPTIONS, threshold="recall=0.9", positive="fraud")
    assert any("for recall=0.9 rests on" in warning for warning in training.warnings)


def test_the_positive_class_can_be_chosen(fraud: Graph) -> None:
    # Classes are sorted, so the second one is genuine.
    second = supergat.train(fraud, **OPTIONS, threshold="recall=0.9")
    first = supergat.train(fraud, **OPTIONS, threshold="recall=0.9", positive="fraud")
    assert (second.model.card["positive"], first.model.card["positive"]) == ("genuine", "fraud")
    assert first.settings["positive"] == "fraud" and "positive" not in second.settings
    validation = fraud.positions(fraud.split["validation"])
    for training, name in ((first, "fraud"), (second, "genuine")):
        right = training.model.predict(fraud)[validation] == name
        assert right[fraud.labels[validation] == name].mean() >= 0.9
    named = supergat.train(fraud, **OPTIONS, threshold="recall=0.9", positive="genuine")
    assert named.model.to_bytes() == second.model.to_bytes()
    precision = [training.metrics()["average_precision"][0] for training in (first, second)]
    assert precision[0] < precision[1], "frauds are rare"
    again = pickle.loads(pickle.dumps(first.model))
    assert again.predict(fraud).tolist() == first.model.predict(fraud).tolist()


@pytest.mark.parametrize("split", ["validation", "test"])
def test_metrics_of_classes_equal_scikit_learn(fraud: Graph, split: str) -> None:
    training = supergat.train(fraud, **OPTIONS, seeds=2, class_weight="balanced")
    nodes = fraud.positions(fraud.split[split])
    predicted = training.model.predict(fraud)[nodes]
    expected = precision_recall_fscore_support(fraud.labels[nodes], predicted, labels=["fraud", "genuine"], zero_division=np.nan)
    found = training.class_metrics(split)
    evaluated = training.model.evaluate(fraud)[split]
    assert evaluated is not None and list(found) == ["fraud", "genuine"] == list(evaluated["metrics"]["classes"])
    for k, name in enumerate(found):
        for metric, values in zip(("precision", "recall", "f1", "nodes"), expected, strict=True):
            assert found[name][metric].shape == (2,)
            assert found[name][metric][training.best] == pytest.approx(values[k], abs=1e-9)
            assert evaluated["metrics"]["classes"][name][metric] == pytest.approx(values[k], abs=1e-9)
        assert found[name]["predictions"][training.best] == (predicted == name).sum()
    # Means over classes, as before, and no dictionaries among the arrays.
    assert training.metrics(split)["macro_f1"] == pytest.approx(np.mean([found[name]["f1"] for name in found], axis=0))
    assert all(values.shape == (2,) and values.dtype == np.float64 for values in training.metrics(split).values())


def test_undefined_metrics_of_classes_are_nan(fraud: Graph) -> None:
    training = supergat.train(fraud, **OPTIONS, positive="fraud", threshold=1.0)
    found = training.class_metrics()["fraud"]
    assert np.isnan(found["precision"]).all() and found["recall"].tolist() == found["f1"].tolist() == [0.0]
    assert training.runs[0].metrics["test"]["classes"]["fraud"]["precision"] is None
    assert training.class_metrics()["genuine"]["recall"].tolist() == [1.0]
    with pytest.raises(ValueError, match="split: expected validation or test, found 'train'"):
        training.class_metrics("train")


def test_first_nodes_are_sorted_by_probability_then_position(fraud: Graph) -> None:
    training = supergat.train(fraud, **OPTIONS, positive="fraud", ensemble=True)
    test = np.sort(fraud.positions(fraud.split["test"]))
    probability = training.probabilities[test, training.model.classes.index("fraud")]
    order = np.argsort(-probability, kind="stable")
    found = training.metrics()
    assert found["precision_at_10"].tolist() == pytest.approx([(fraud.labels[test][order[:10]] == "fraud").mean()])
    assert len(test) < 1000 and "precision_at_1000" not in found
    assert training.ensemble_metrics is not None
    assert training.ensemble_metrics["test"]["precision_at_10"] == pytest.approx(found["precision_at_10"][0])
    assert list(training.ensemble_metrics["test"]["classes"]) == ["fraud", "genuine"]


@pytest.mark.parametrize(("positive", "error"), [("theft", ValueError), (1, TypeError)])
def test_wrong_positive_classes(fraud: Graph, positive: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="theft|positive: expected the name of a class, found 1"):
        supergat.train(fraud, **OPTIONS, positive=positive)


def test_three_classes_have_no_positive_one(graph: Graph) -> None:
    with pytest.raises(ValueError, match="the data has 3 classes, so leave it out"):
        supergat.train(graph, **OPTIONS, positive="1")


def test_estimator_equals_train(fraud: Graph, target: np.ndarray) -> None:
    options: dict[str, Any] = {"threshold": "f1", "select": "average-precision", "calibrate": "temperature", **OPTIONS}
    classifier = SuperGATClassifier(fraud, class_weight={False: 0.5, True: 4}, positive=True, **options)
    classifier.fit(fraud.ids, target)
    expected = supergat.train(classifier.training_.graph, class_weight={"False": 0.5, "True": 4.0}, positive="True", **options)
    assert np.array_equal(classifier.predict_proba(fraud.ids), expected.probabilities)
    assert classifier.predict(fraud.ids).dtype == bool
    assert classifier.predict(fraud.ids).tolist() == (expected.model.predict(fraud) == "True").tolist()
    assert classifier.model_.card["threshold"] is not None and classifier.model_.card["temperature"] is not None
    other = clone(classifier).set_params(positive=np.False_).fit(fraud.ids, target)
    assert other.model_.card["positive"] == "False"


@pytest.mark.parametrize("values", [{"class_weight": {"fraud": 2}}, {"positive": "fraud"}])
def test_estimator_refuses_unknown_classes(fraud: Graph, target: np.ndarray, values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"expected a class of y \(False, True\), found 'fraud'"):
        SuperGATClassifier(fraud, **OPTIONS, **values).fit(fraud.ids, target)


def test_ensembles_predict_the_mean(fraud: Graph, target: np.ndarray) -> None:
    classifier = SuperGATClassifier(fraud, n_seeds=3, ensemble=True, threshold="f1", **OPTIONS).fit(fraud.ids, target)
    seeds = [supergat.train(classifier.training_.graph, seeds=[seed], **OPTIONS).probabilities for seed in range(3)]
    mean = classifier.predict_proba(fraud.ids)
    assert np.allclose(mean, np.mean(seeds, axis=0), atol=1e-6)
    threshold = classifier.training_.ensemble_metrics["threshold"]["value"]
    assert classifier.predict(fraud.ids).tolist() == (mean[:, 1] >= threshold).tolist()
    again = pickle.loads(pickle.dumps(classifier))
    assert np.array_equal(again.predict_proba(fraud.ids), mean)
    assert again.predict(fraud.ids).tolist() == classifier.predict(fraud.ids).tolist()
    # The model has all networks, also for other graphs.
    other = Graph.from_edge_index(fraud.edge_index[:, ::2], fraud.features)
    assert np.array_equal(classifier.predict_proba(other.ids, graph=other), classifier.model_.predict_proba(other))
    assert np.array_equal(classifier.model_.predict_proba(fraud), mean)


def test_ensembles_without_a_graph_predict_the_mean() -> None:
    graph = small_graph(classes=2)
    X, y = graph.features, graph.labels.astype(int)
    options: dict[str, Any] = {"model": "mlp", "max_epochs": 10}
    # The seed also draws the validation nodes, unless they are given.
    given: dict[str, Any] = {"validation_nodes": np.arange(0, len(y), 4)}
    classifier = SuperGATClassifier(n_seeds=2, ensemble=True, **options).fit(X, y, **given)
    seeds = [SuperGATClassifier(random_state=seed, **options).fit(X, y, **given).predict_proba(X) for seed in range(2)]
    assert np.allclose(classifier.predict_proba(X), np.mean(seeds, axis=0), atol=1e-6)


def test_tuning_uses_weights_and_the_metric(fraud: Graph) -> None:
    options: dict[str, Any] = {"trials": 2, "seeds": 1}
    plain = supergat.tune(fraud, "gcn", **options, select="macro-f1")
    heavy = supergat.tune(fraud, "gcn", **options, select="macro-f1", class_weight={"fraud": 100})
    assert [trial["validation"] for trial in plain["trials"]] != [trial["validation"] for trial in heavy["trials"]]
    found = supergat.tune(fraud, "gcn", **options, select="average-precision", positive="fraud")
    assert (found.settings["select"], found.settings["positive"]) == ("average-precision", "fraud")
    training = supergat.train(fraud, **(found.settings | {"max_epochs": 2}))
    assert (training.metric, training.model.card["positive"]) == ("average-precision", "fraud")
    with pytest.raises(ValueError, match="expected one of the classes fraud, genuine, found `theft`"):
        supergat.tune(fraud, "gcn", **options, class_weight={"theft": 2})
