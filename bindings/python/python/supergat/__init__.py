"""Self-supervised graph attention networks: classify the nodes of a graph whose links are noisy.

>>> import supergat
>>> graph = supergat.load("random-partition:classes=3,nodes=200,degree=8,homophily=0.9")
>>> training = supergat.train(graph, model="gat-go", seeds=2, max_epochs=30)
>>> len(training.runs), training.probabilities.shape
(2, (600, 3))
"""

from ._supergat import __version__, model_names
from .estimator import SuperGATClassifier, classify
from .graph import Graph, load
from .studies import Comparison, Recommendation, Tuned, compare, datasets, recommend, reproduce, tune
from .training import Model, Training, devices, train

__all__ = [
    "Comparison",
    "Graph",
    "Model",
    "Recommendation",
    "SuperGATClassifier",
    "Training",
    "Tuned",
    "__version__",
    "classify",
    "compare",
    "datasets",
    "devices",
    "load",
    "model_names",
    "recommend",
    "reproduce",
    "train",
    "tune",
]
