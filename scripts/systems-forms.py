#!/usr/bin/env python3
"""Trains GLCN, NeuralSparse around a GCN, or GCN + GAM in PyTorch, with supergat's settings.

    supergat convert cora cora.supergat.safetensors
    supergat train cora --model glcn --print-config > glcn.toml
    python3 scripts/systems-forms.py cora.supergat.safetensors glcn.toml --system glcn --seeds 5
    python3 scripts/systems-forms.py cora.supergat.safetensors glcn.toml --system glcn --form authors --seeds 5

Models: glcn, neuralsparse and gcn-gam. Formulas: docs/studies/systems.md.

--form supergat: as in supergat.
--form authors:
  glcn          P and a learn from the loss of the graph alone, trace(h^T (I - S) h) - gamma |S|^2, as in the authors'
                implementation.
  neuralsparse  every draw of a neighbour has its own Gumbel noise, as in the paper.
  gam           as in the authors' implementation before its correction: a link of a labelled and an unlabelled node
                occurs in both directions, and its first node is compared by its label in both. So the true labels of
                unlabelled nodes are read, those of test nodes too. Predicted labels of validation nodes replace their
                true ones when accuracy is measured.

--set NAME=VALUE changes settings, such as --set lr=0.005 dropout=0.6.
--select chooses the epoch by validation accuracy or by validation loss.
--split glcn: training nodes 0 to 139, validation nodes 200 to 499 and test nodes 500 to 1499, the numbers in the
authors' implementation of GLCN on Cora. --split shuffled: the same numbers after a permutation of all nodes by the
seed. --split random: 20 training nodes of each class, 500 validation and 1000 test nodes, drawn by the seed.

Prints the test accuracy at the selected epoch, one line per seed, and the highest test accuracy of all epochs, which
is an upper bound and no valid result. Needs Python 3.11, numpy, safetensors and PyTorch.
"""

import argparse
import math
import tomllib
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("converted", help="dataset written by supergat convert")
p.add_argument("config", help="settings written by supergat train --print-config")
p.add_argument("--system", choices=["glcn", "neuralsparse", "gam"], required=True, help="model")
p.add_argument("--form", choices=["supergat", "authors"], default="supergat", help="form [default: supergat]")
p.add_argument("--set", nargs="+", action="extend", default=[], metavar="NAME=VALUE", help="change settings")
p.add_argument("--select", choices=["validation", "loss"], default="validation",
               help="score that selects the epoch [default: validation]")
p.add_argument("--split", choices=["published", "glcn", "shuffled", "random"], default="published",
               help="split [default: published]")
p.add_argument("--seed", type=int, default=0, help="first seed [default: 0]")
p.add_argument("--seeds", type=int, default=1, help="number of seeds [default: 1]")
p.add_argument("--threads", type=int, default=1, help="number of threads [default: 1]")
a = p.parse_args()
torch.set_num_threads(a.threads)
warnings.filterwarnings("ignore", "Sparse")
with open(a.config, "rb") as file:
    s = tomllib.load(file)
s.update(tomllib.loads("\n".join(a.set)))
authors = a.form == "authors"

data = {name.removeprefix("0."): torch.from_numpy(array.astype(np.float32 if array.dtype == np.float32 else np.int64))
        for name, array in load_file(a.converted).items()}
labels = data["labels"]
nodes = len(labels)
published = [data[name] for name in ("train", "validation", "test")]
classes = int(labels[torch.cat(published)].max()) + 1

# Edges source -> target without self-loops.
source = data["incoming.neighbours"]
target = torch.repeat_interleave(torch.arange(nodes), data["incoming.offsets"].diff())
source, target = source[source != target], target[source != target]
degree = torch.bincount(target, minlength=nodes)
every = torch.arange(nodes)


class Features:
    """Features of all nodes: their rows, columns and numbers, in the order of rows and in that of columns."""

    def __init__(self):
        if "features" in data:
            self.row, self.column = data["features"].nonzero().T
            self.values, columns = data["features"][self.row, self.column], data["features"].shape[1]
        else:
            self.row = torch.repeat_interleave(every, data["features.offsets"].diff())
            self.column, self.values = data["features.columns"], data["features.values"]
            columns = int(self.column.max()) + 1
        self.size = (nodes, columns)
        self.by_column = (self.column * nodes + self.row).argsort()
        self.dense = torch.zeros(self.size).index_put((self.row, self.column), self.values)
        self.is_sparse = len(self.values) < 0.05 * nodes * columns

    def product(self, weight, training):
        """Multiplies the features, with dropout in training, by a matrix."""
        share = 1 - s["dropout"] if training else 1.0
        if share == 1 and not self.is_sparse:
            return self.dense @ weight
        return Product.apply(weight, torch.rand(len(self.values)) < share, share)


class Product(torch.autograd.Function):
    """Product of the features that are kept, divided by their share, with a matrix."""

    @staticmethod
    def forward(context, weight, kept, share):
        context.kept, context.share = kept, share
        at = kept.nonzero().ravel()
        return compressed(features.row[at], features.column[at], features.values[at] / share, features.size) @ weight

    @staticmethod
    def backward(context, gradient):
        at = features.by_column[context.kept[features.by_column]]
        values = features.values[at] / context.share
        return compressed(features.column[at], features.row[at], values, features.size[::-1]) @ gradient, None, None


def compressed(row, column, values, size):
    """Returns a sparse matrix of numbers in the order of rows."""
    offsets = torch.zeros(size[0] + 1, dtype=torch.long)
    offsets[1:] = torch.bincount(row, minlength=size[0]).cumsum(0)
    return torch.sparse_csr_tensor(offsets, column, values, size)


features = Features()


def matrix(*size):
    return torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(*size)))


def convolve(edges, weights, z):
    """Returns the sums over incoming edges (source, target) with these weights."""
    return torch.zeros_like(z).index_add(0, edges[1], z[edges[0]] * weights[:, None])


class Glcn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.projection, self.vector = matrix(features.size[1], s["graph_hidden"]), matrix(s["graph_hidden"], 1)
        self.first, self.last = matrix(features.size[1], s["hidden"]), matrix(s["hidden"], classes)
        self.edges = torch.stack([torch.cat([source, every]), torch.cat([target, every])])

    def groups(self):
        graph = {"params": [self.projection, self.vector], "lr": s["graph_lr"], "weight_decay": s["lambda_2"]}
        return [graph, {"params": [self.first], "weight_decay": s["lambda_2"]}, {"params": [self.last]}]

    def forward(self):
        (j, i), training = self.edges, self.training
        h = features.product(self.projection, training)
        score = F.relu((h[i] - h[j]).abs() @ self.vector).squeeze(1)
        score = (score - score.max().detach()).exp()
        weights = score / torch.zeros(nodes).index_add(0, i, score)[i]
        lambda_graph, gamma = s["lambda_graph"], s["gamma_graph"]
        if authors:
            smooth = (h * (h - convolve(self.edges, weights, h))).sum()
            self.penalty = lambda_graph * (smooth - gamma * weights.square().sum())
        else:
            self.penalty = lambda_graph * (weights * ((h[i] - h[j]).square().sum(1) + gamma * weights)).sum()
        used = weights.detach() if authors or not s["graph_from_labels"] else weights
        hidden = F.relu(convolve(self.edges, used, features.product(self.first, training)))
        return convolve(self.edges, used, F.dropout(hidden, s["dropout"], training) @ self.last)

    def decay(self):
        return sum(s["lambda_2"] / 2 * w.square().sum() for w in (self.projection, self.vector, self.first))


class NeuralSparse(torch.nn.Module):
    def __init__(self):
        super().__init__()
        width = s["sampler_hidden"]
        self.of_target, self.of_source = matrix(features.size[1], width), matrix(features.size[1], width)
        self.bias, self.vector = torch.nn.Parameter(torch.zeros(width)), matrix(width, 1)
        self.first, self.last = matrix(features.size[1], s["hidden"]), matrix(s["hidden"], classes)
        self.edges = torch.stack([torch.cat([source, every]), torch.cat([target, every])])
        # Nodes with more than k neighbours. Their edges are the rows of a table, filled up with empty places.
        k = s["sampled_neighbours"]
        of_large = (degree > k)[target].nonzero().ravel()
        order = of_large[target[of_large].argsort(stable=True)]
        large, counts = target[order].unique_consecutive(return_counts=True)
        place = torch.arange(len(order)) - torch.repeat_interleave(counts.cumsum(0) - counts, counts)
        self.cell, self.of_large = (torch.repeat_interleave(torch.arange(len(large)), counts), place), order
        self.table = (len(large), int(counts.max()) if len(counts) else 0)
        factor = (1.0 + degree.clamp(max=k)).rsqrt()
        self.norm = factor[self.edges[0]] * factor[self.edges[1]]
        self.penalty, self.epoch = 0, 0

    def groups(self):
        decayed = [self.of_target, self.of_source, self.bias, self.vector, self.first]
        return [{"params": decayed, "weight_decay": s["lambda_2"]}, {"params": [self.last]}]

    def forward(self):
        k = s["sampled_neighbours"]
        ends = features.product(torch.cat([self.of_target, self.of_source], 1), False)
        as_target, as_source = ends.chunk(2, 1)
        hidden = F.relu(as_target[target] + as_source[source] + self.bias)
        z = (hidden @ self.vector).squeeze(1)[self.of_large]
        logits = torch.full(self.table, -torch.inf).index_put(self.cell, z)
        if self.training:
            tau = max(s["least_temperature"], s["temperature"] * math.exp(-s["temperature_decay"] * self.epoch))
            self.epoch += 1
            gumbel = lambda: -torch.empty(self.table).exponential_().log()
            rest, chosen = logits + gumbel(), 0
            for _ in range(k):
                row = (rest / tau).softmax(1)
                chosen = chosen + row
                if authors:
                    rest = logits + gumbel()
                else:
                    rest = rest + (1 - row).clamp(min=1e-6).log()
        else:
            chosen = torch.zeros(self.table).scatter(1, logits.topk(min(k, self.table[1]), 1).indices, 1.0)
        kept = torch.ones(len(source) + nodes).index_put((self.of_large,), chosen[self.cell])
        weights = kept * self.norm
        hidden = F.relu(convolve(self.edges, weights, features.product(self.first, self.training)))
        return convolve(self.edges, weights, F.dropout(hidden, s["dropout"], self.training) @ self.last)

    def decay(self):
        return 0


class Smooth(torch.autograd.Function):
    """Product with the symmetrically normalised matrix of edges and self-loops, which is its own transpose."""

    @staticmethod
    def forward(context, z):
        return Smooth.matrix @ z

    @staticmethod
    def backward(context, gradient):
        return Smooth.matrix @ gradient


factor = (1.0 + degree).rsqrt()
order = torch.cat([target, every]).argsort(stable=True)
ends = torch.cat([target, every])[order], torch.cat([source, every])[order]
Smooth.matrix = compressed(*ends, factor[ends[0]] * factor[ends[1]], (nodes, nodes))


class Gcn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = matrix(features.size[1], s["hidden"]), matrix(s["hidden"], classes)
        self.bias = torch.nn.ParameterList([torch.zeros(s["hidden"]), torch.zeros(classes)])

    def forward(self):
        z = Smooth.apply(features.product(self.first, self.training)) + self.bias[0]
        hidden = F.dropout(getattr(F, s["activation"])(z), s["dropout"], self.training)
        return Smooth.apply(hidden @ self.last) + self.bias[1]


class Agreement(torch.nn.Module):
    """A model of the probability that two nodes have the same class."""

    def __init__(self):
        super().__init__()
        width = s["agreement_hidden"]
        self.weight, self.vector = matrix(features.size[1], width), matrix(width, 1)
        self.bias, self.constant = torch.nn.Parameter(torch.zeros(width)), torch.nn.Parameter(torch.zeros(1))

    def score(self, first, second):
        """Returns the score of pairs of nodes."""
        first, second = (F.relu(features.dense[of] @ self.weight + self.bias) for of in (first, second))
        return ((first - second).square() @ self.vector).squeeze(1) + self.constant

    def of_pairs(self, first, second):
        """Returns the probabilities of pairs of nodes."""
        with torch.no_grad():
            encoded = F.relu(features.product(self.weight, False) + self.bias)
            return (((encoded[first] - encoded[second]).square() @ self.vector).squeeze(1) + self.constant).sigmoid()

    def fit(self, known):
        labelled = (known >= 0).nonzero().ravel()
        by_class = labelled[known[labelled].argsort(stable=True)]
        counts = torch.bincount(known[labelled], minlength=classes)
        begin = counts.cumsum(0) - counts
        mix = int(torch.randint(1 << 30, (1,)))

        def draw(count, held_out):
            """Draws pairs of labelled nodes, one half of which agrees."""
            found = []
            for agrees in (True, False):
                first = labelled[torch.randint(len(labelled), ((30 if held_out else 5) * count,))]
                c = known[first]
                second = by_class[begin[c] + (torch.rand(len(first)) * counts[c]).long()] if agrees else \
                    labelled[torch.randint(len(labelled), (len(first),))]
                low, high = torch.minimum(first, second), torch.maximum(first, second)
                held = (((low * nodes + high) ^ mix) * 2654435761 >> 13) % 10 == 0
                fits = (first != second) & ((known[second] == c) == agrees) & (held == held_out)
                found.append(torch.stack([first[fits], second[fits]])[:, : count // 2])
            return torch.cat(found, 1), torch.cat([torch.ones(found[0].shape[1]), torch.zeros(found[1].shape[1])])

        adam = torch.optim.Adam(self.parameters(), lr=s["agreement_lr"])
        (i, j), agree = draw(1000, True)
        held_out = i, j
        best, state, since = -1, None, 0
        for step in range(1, s["agreement_steps"] + 1):
            (i, j), y = draw(128, False)
            adam.zero_grad()
            F.binary_cross_entropy_with_logits(self.score(i, j), y).backward()
            adam.step()
            since += 1
            if step % 10 == 0:
                with torch.no_grad():
                    right = ((self.score(*held_out) >= 0) == (agree > 0)).float().mean().item()
                if right > best:
                    best, since, state = right, 0, {name: w.clone() for name, w in self.state_dict().items()}
                elif since >= s["agreement_steps"] // 4:
                    break
        self.load_state_dict(state)


class Selection:
    """The test accuracy of the best epoch; the last one of equals, unless the loss or the authors' form selects."""

    def __init__(self):
        self.best, self.result, self.validation, self.highest, self.since = -math.inf, 0, 0, 0, 0

    def add(self, out, penalty=0, truth=labels):
        loss = F.cross_entropy(out[validation], truth[validation]).item() + penalty
        right = accuracy(out, validation, truth), accuracy(out, test)
        score = right[0] if a.select == "validation" else -loss
        self.highest = max(self.highest, right[1])
        self.since = 0 if score > self.best else self.since + 1
        improved = score > self.best or (score == self.best and a.select == "validation" and not authors)
        if improved:
            self.best, self.validation, self.result = score, *right
        return improved


def accuracy(out, of, truth=labels):
    return 100 * (out[of].argmax(1) == truth[of]).double().mean().item()


def evaluate(model):
    model.eval()
    with torch.no_grad():
        return model()


def train_once():
    """Trains GLCN or NeuralSparse."""
    model, selection = (Glcn if a.system == "glcn" else NeuralSparse)(), Selection()
    adam = torch.optim.Adam(model.groups(), lr=s["lr"])
    schedule = torch.optim.lr_scheduler.StepLR(adam, 100, s.get("lr_decay", 1.0))
    for _ in range(s["max_epochs"]):
        model.train()
        out = model()
        adam.zero_grad()
        (F.cross_entropy(out[train], labels[train]) + model.penalty).backward()
        adam.step()
        schedule.step()
        out = evaluate(model)
        with torch.no_grad():
            selection.add(out, float(model.penalty + model.decay()))
        if s["patience"] and selection.since >= s["patience"]:
            break
    return selection


def links_of(known):
    """Returns the links of a labelled and an unlabelled node with the label of the first, and unlabelled links."""
    from_known, to_known = known[source] >= 0, known[target] >= 0
    mixed = from_known != to_known if authors else from_known & ~to_known
    label = torch.where(known >= 0, known, labels) if authors else known
    neither = ~from_known & ~to_known & (source < target)
    return (source[mixed], target[mixed], label[source[mixed]]), (source[neither], target[neither])


def train_rounds():
    """Trains GCN + GAM."""
    known = torch.full((nodes,), -1)
    known[train] = labels[train]
    shares = torch.bincount(labels[train], minlength=classes) / len(train)
    overall, count, without = Selection(), s["agreement_edges"], 0
    for number in range(s["rounds"]):
        if number:
            agreement = Agreement()
            agreement.fit(known)
            mixed, pairs = links_of(known)
            of_mixed, of_pairs = agreement.of_pairs(*mixed[:2]), agreement.of_pairs(*pairs)
        model, here, improved = Gcn(), Selection(), False
        adam = torch.optim.Adam(model.parameters(), lr=s["lr"], weight_decay=s["lambda_2"])
        labelled = (known >= 0).nonzero().ravel()
        truth = torch.where(known >= 0, known, labels) if authors else labels
        for _ in range(s["max_epochs"]):
            model.train()
            out = model()
            loss = F.cross_entropy(out[labelled], known[labelled])
            if number:
                probability, terms = out.softmax(1), []
                if len(of_mixed) and s["lambda_lu"] > 0:
                    at = torch.randint(len(of_mixed), (count,))
                    left = F.one_hot(mixed[2][at], classes).float()
                    distance = (left - probability[mixed[1][at]]).square().sum(1)
                    terms.append(s["lambda_lu"] * of_mixed[at] * distance)
                if len(of_pairs) and s["lambda_uu"] > 0:
                    at = torch.randint(len(of_pairs), (count,))
                    distance = (probability[pairs[0][at]] - probability[pairs[1][at]]).square().sum(1)
                    terms.append(s["lambda_uu"] * of_pairs[at] * distance)
                if terms:
                    loss = loss + torch.cat(terms).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
            out = evaluate(model)
            if here.add(out, truth=truth):
                certain = out.softmax(1)
            improved = overall.add(out, truth=truth) or improved
            if here.since >= s["round_patience"]:
                break
        print(f"  round {number}: {here.result:.1f} (validation {here.validation:.1f}), "
              f"{len(labelled)} labels, {accuracy(F.one_hot(known.clamp(min=0)), labelled):.1f} right", flush=True)
        without = 0 if improved or number == 0 else without + 1
        if without >= 5:
            break
        if number:
            most, predicted = certain.max(1)
            candidates = ((known < 0) & (most >= s["self_label_certainty"])).nonzero().ravel()
            candidates = candidates[most[candidates].argsort(descending=True, stable=True)]
            if s["keep_class_shares"]:
                parts = [candidates[predicted[candidates] == c][: round(float(shares[c]) * s["self_labels"])]
                         for c in range(classes)]
                candidates = torch.cat(parts)
            candidates = candidates[: s["self_labels"]]
            if not len(candidates):
                break
            known[candidates] = predicted[candidates]
    return overall


def split():
    """Returns the training, validation and test nodes."""
    if a.split == "published":
        return published
    if a.split in ("glcn", "shuffled"):
        order = every if a.split == "glcn" else torch.randperm(nodes)
        return order[:140], order[200:500], order[500:1500]
    order = torch.randperm(nodes)
    of_train = torch.cat([order[labels[order] == c][:20] for c in range(classes)])
    rest = order[~torch.isin(order, of_train)]
    return of_train, rest[:500], rest[500:1500]


results, highest = [], []
for seed in range(a.seed, a.seed + a.seeds):
    torch.manual_seed(seed)
    train, validation, test = split()
    selection = train_rounds() if a.system == "gam" else train_once()
    results.append(selection.result)
    highest.append(selection.highest)
    print(f"seed {seed}: {selection.result:.1f} (validation {selection.validation:.1f}, "
          f"highest of all epochs {selection.highest:.1f})", flush=True)
spread = lambda values: f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
print(f"{a.system} {a.form}: {np.mean(results):.2f}{spread(results)}; "
      f"highest of all epochs: {np.mean(highest):.2f}{spread(highest)}")
