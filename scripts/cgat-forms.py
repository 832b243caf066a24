#!/usr/bin/env python3
"""Trains constrained attention (CGAT) in PyTorch, with one of two forms of its scores and supergat's settings.

    supergat convert citeseer citeseer.supergat.safetensors
    supergat train citeseer --model cgat --print-config > cgat.toml
    python3 scripts/cgat-forms.py citeseer.supergat.safetensors cgat.toml --form paper --seeds 5
    python3 scripts/cgat-forms.py citeseer.supergat.safetensors cgat.toml --form authors --seeds 5

--form paper: both scores of a comparison belong to the target of the edge, relu(s_ik + margin - s_ij), as in
supergat.
--form authors: as in the authors' implementation, the unlinked node is scored from the source of the edge, and
LeakyReLU is applied twice to the scores of edges.

For cgat-full-supervised, convert with --split full-supervised. The loss of the class boundary is then the mean
over all pairs of edges of a node, where supergat samples some pairs for every edge.

Prints the test accuracy at the best validation epoch, one line per seed. Needs Python 3.11, numpy, safetensors
and PyTorch.
"""

import argparse
import tomllib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.numpy import load_file

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("converted", help="dataset written by supergat convert")
p.add_argument("config", help="settings written by supergat train --print-config")
p.add_argument("--form", choices=["paper", "authors"], required=True, help="form of the scores")
p.add_argument("--seeds", type=int, default=1, help="number of seeds [default: 1]")
p.add_argument("--threads", type=int, default=1, help="number of threads [default: 1]")
a = p.parse_args()
torch.set_num_threads(a.threads)
with open(a.config, "rb") as file:
    s = tomllib.load(file)
by_classes, authors = "lambda_b" in s, a.form == "authors"

# Edges source -> target, with one self-loop per node.
data = {name.removeprefix("0."): torch.from_numpy(array.astype(np.float32 if array.dtype == np.float32 else np.int64))
        for name, array in load_file(a.converted).items()}
offsets, source = data["incoming.offsets"], data["incoming.neighbours"]
nodes = len(offsets) - 1
target = torch.repeat_interleave(torch.arange(nodes), offsets.diff())
once = source != target
source = torch.cat([source[once], torch.arange(nodes)])
target = torch.cat([target[once], torch.arange(nodes)])
edges = len(source)
anchor = source if authors else target

if "features" in data:
    features = data["features"]
else:
    row = torch.repeat_interleave(torch.arange(nodes), data["features.offsets"].diff())
    features = torch.zeros(nodes, int(data["features.columns"].max()) + 1)
    features[row, data["features.columns"]] = data["features.values"]
labels, train, validation, test = (data[name] for name in ("labels", "train", "validation", "test"))
classes = int(labels[torch.cat([train, validation, test])].max()) + 1
known = torch.full((nodes,), -1)
known[train] = labels[train]

# `alike`: edges to compare with unlinked nodes. `pairs`: pairs of edges of one node, the first within its class, the
# second to another class.
both = (known[source] >= 0) & (known[target] >= 0)
alike = (both & (known[source] == known[target])).nonzero().ravel() if by_classes else torch.arange(edges)
pairs = torch.tensor([])
if by_classes:
    across = {}
    for edge in (both & (known[source] != known[target])).nonzero().ravel().tolist():
        across.setdefault(int(anchor[edge]), []).append(edge)
    pairs = torch.tensor([(edge, other) for edge in alike.tolist() for other in across.get(int(anchor[edge]), [])])

links = torch.sort(source * nodes + target).values


def unlinked(of):
    """Draws, for every node of a list, a node without a link to it, uniformly."""
    drawn = torch.randint(nodes, (len(of),))
    while True:
        key = drawn * nodes + of
        linked = links[torch.searchsorted(links, key).clamp(max=edges - 1)] == key
        if not linked.any():
            return drawn
        drawn[linked] = torch.randint(nodes, (int(linked.sum()),))


def largest(scores):
    """Returns, for every edge, the largest score among the edges of its target."""
    best = torch.full((nodes, scores.shape[1]), -torch.inf)
    return best.scatter_reduce(0, target[:, None].expand_as(scores), scores, "amax")[target]


def softmax(scores, chosen):
    weights = (scores - largest(scores.detach())).exp() * chosen
    return weights / torch.zeros(nodes, scores.shape[1]).index_add(0, target, weights)[target]


def top(scores, k):
    """Returns a mask that is 1 at the k largest scores of each target and head."""
    left, chosen = scores.detach().clone(), torch.zeros_like(scores)
    for _ in range(k):
        best = (left == largest(left)) & (left > -torch.inf)
        chosen[best], left[best] = 1, -torch.inf
    return chosen


class Layer(torch.nn.Module):
    def __init__(self, inputs, heads, width, joined):
        super().__init__()
        self.heads, self.width, self.joined = heads, width, joined
        self.weight = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(inputs, heads * width)))
        self.attention = torch.nn.Parameter(torch.nn.init.xavier_uniform_(torch.empty(heads, 2 * width)))
        self.bias = torch.nn.Parameter(torch.zeros(heads * width if joined else width))

    def forward(self, x):
        z = (x @ self.weight).view(nodes, self.heads, self.width)
        as_target = (z * self.attention[:, : self.width]).sum(-1)
        as_source = (z * self.attention[:, self.width :]).sum(-1)
        leaky = lambda score: F.leaky_relu(score, s["negative_slope"])
        scores = leaky(as_target[target] + as_source[source])
        if authors:
            scores = leaky(scores)
        chosen = torch.ones_like(scores)
        if self.training:
            chosen = top(scores, s["top_k"])
            self.loss = 0
            for _ in range(s["negatives_per_edge"]):
                other = leaky(as_target[anchor] + as_source[unlinked(anchor)])
                term = F.relu(other + s["margin_g"] - scores)[alike].mean()
                self.loss = self.loss + s["lambda_g"] * term / s["negatives_per_edge"]
            if len(pairs):
                self.loss = self.loss + s["lambda_b"] * F.relu(scores[pairs[:, 1]] + s["margin_b"] - scores[pairs[:, 0]]).mean()
        coefficients = softmax(scores, chosen)
        out = torch.zeros(nodes, self.heads, self.width).index_add(0, target, z[source] * coefficients[:, :, None])
        return (out.flatten(1) if self.joined else out.mean(1)) + self.bias


def accuracy(out, of):
    return 100 * (out[of].argmax(1) == labels[of]).double().mean().item()


results = []
for seed in range(a.seeds):
    torch.manual_seed(seed)
    hidden = Layer(features.shape[1], s["heads"], s["hidden"], joined=True)
    last = Layer(s["heads"] * s["hidden"], s["output_heads"], classes, joined=False)
    model = torch.nn.Sequential(torch.nn.Dropout(s["dropout"]), hidden, torch.nn.ELU(), torch.nn.Dropout(s["dropout"]), last)
    adam = torch.optim.Adam(model.parameters(), lr=s["lr"], weight_decay=s["lambda_2"])
    best = (-1, -1)
    for _ in range(s["max_epochs"]):
        model.train()
        loss = F.cross_entropy(model(features)[train], labels[train]) + hidden.loss + last.loss
        adam.zero_grad()
        loss.backward()
        adam.step()
        model.eval()
        with torch.no_grad():
            out = model(features)
        if accuracy(out, validation) >= best[0]:
            best = (accuracy(out, validation), accuracy(out, test))
    results.append(best[1])
    print(f"seed {seed}: {best[1]:.1f} (validation {best[0]:.1f})", flush=True)
print(f"{a.form}: {np.mean(results):.2f}" + (f" ± {np.std(results, ddof=1):.2f}" if len(results) > 1 else ""))
