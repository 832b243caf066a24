# %% [markdown]
# # The paper's result on Cora
#
# Cora is a graph of 2708 articles in machine learning; a link is a citation, and the class is the topic. The paper
# (Kim & Oh, ICLR 2021) reports a test accuracy of 84.3 ± 0.6 % for SuperGAT-MX. This notebook trains it with the
# published hyperparameters and split, and compares it with GAT.
#
# Files: `supergat download cora`, or set `SUPERGAT_TEST_DATA` to the folder that contains the folder `cora`.

# %%
import os
from pathlib import Path

import supergat

QUICK = bool(os.environ.get("SUPERGAT_QUICK"))
SEEDS = 2 if QUICK else 10

# %% [markdown]
# ## Load
#
# Without the files, a generated graph of the same size takes the place of Cora.

# %%
place = os.environ.get("SUPERGAT_TEST_DATA")
source = Path(place) / "cora" if place else "cora"
try:
    graph = supergat.load(source)
    PRESET, EPOCHS = None, None
except FileNotFoundError as error:
    print(f"skipped: {error}")
    print("A generated graph is used instead; its accuracy is not the paper's.")
    graph = supergat.load("random-partition:classes=7,nodes=387,degree=4,homophily=0.8")
    PRESET, EPOCHS = "cora", 100
is_cora = PRESET is None
print(graph)
print("homophily", graph.homophily, "nodes per split", {name: len(ids) for name, ids in graph.split.items()})

# %% [markdown]
# ## Train
#
# Hyperparameters of the paper are built in. The test accuracy is that of the epoch with the best validation
# accuracy. Ten seeds of both models take about 160 seconds of processor time, divided among the cores.

# %%
supergat_mx = supergat.train(graph, "supergat-mx", seeds=SEEDS, preset=PRESET, max_epochs=EPOCHS)
gat = supergat.train(graph, "gat-go", seeds=SEEDS, preset=PRESET, max_epochs=EPOCHS)
print(supergat_mx)
print(gat)
print({name: value for name, value in supergat_mx.settings.items() if name in ("lambda_e", "lambda_2", "lr", "p_e", "p_n")})

# %% [markdown]
# ## Compare
#
# Runs are paired by seed. The conclusion names the test, its p-value and the interval of the difference.

# %%
comparison = supergat.compare(supergat_mx, gat, names=("supergat-mx", "gat-go"))
print(comparison["conclusion"])

# %% [markdown]
# ## Check
#
# The mean over ten seeds must be 84 % when rounded, as in the paper.

# %%
mean = 100 * supergat_mx.test.mean()
print(f"supergat-mx {mean:.2f} %, gat-go {100 * gat.test.mean():.2f} %, {SEEDS} seeds")
if is_cora:
    assert 83.0 < mean < 86.0, mean
    if not QUICK:
        assert round(mean) == 84, mean
        assert supergat_mx.test.mean() > gat.test.mean()
