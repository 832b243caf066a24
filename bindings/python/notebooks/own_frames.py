# %% [markdown]
# # From your own data frames to scores
#
# A library knows what some of its members like to read, and who lends books to whom. This notebook predicts the
# favourite genre of all other members. Replace the two frames by your own.
#
# The file is a notebook in percent format: open it in Jupyter (with jupytext), VS Code or PyCharm, or run it with
# Python.

# %%
import os
import random
import tempfile
from pathlib import Path

import pandas as pd

import supergat

# Fewer seeds for a quick look.
SEEDS = 2 if os.environ.get("SUPERGAT_QUICK") else 5

# %% [markdown]
# ## Two frames
#
# One row per node: an id, the class where it is known, and columns that describe the node. One row per link: two
# ids.

# %%
GENRES = ["crime", "history", "science fiction"]
TOWNS = ["Aldbury", "Brook", "Cawston", "Dunmore"]
rng = random.Random(7)


def library(prefix, count, labelled):
    """Return frames of members and of loans between them. Three of four loans join members of one genre."""
    genres = [rng.randrange(3) for _ in range(count)]
    members = pd.DataFrame(
        {
            "id": [f"{prefix}{k:03}" for k in range(count)],
            "genre": [GENRES[genre] if rng.random() < labelled else None for genre in genres],
            "age": [max(16, round(rng.gauss([48, 61, 36][genre], 11))) for genre in genres],
            "town": [TOWNS[genre] if rng.random() < 0.4 else rng.choice(TOWNS) for genre in genres],
            "joined": [pd.Timestamp(2010, 1, 1) + pd.Timedelta(days=rng.randrange(5000)) for _ in genres],
        }
    )
    pairs = []
    for k in range(count):
        for _ in range(3):
            same = rng.random() < 0.75
            others = [j for j in range(count) if j != k and (genres[j] == genres[k]) == same]
            pairs.append((members["id"][k], members["id"][rng.choice(others)]))
    truth = pd.Series([GENRES[genre] for genre in genres], index=members["id"])
    return members, pd.DataFrame(pairs, columns=["lender", "reader"]), truth


members, loans, truth = library("m", 300, labelled=0.35)
print(members.head())
print(loans.head())

# %% [markdown]
# ## Inspect
#
# Types of columns are detected. Check them before you train: a code that is read as a number, or an id that is
# read as a category, costs accuracy.

# %%
graph = supergat.Graph.from_frames(members, loans, label="genre", source="lender", target="reader")
print(graph)
print(pd.DataFrame(graph.summary()["columns"])[["name", "type", "features", "reason"]])
print(*graph.notes, sep="\n")

# %% [markdown]
# ## Recommend
#
# Families of models are compared on validation nodes, for some seconds. The paper's map of forms of attention over the
# degree of a graph and its homophily, the share of neighbours with the same class, is prior knowledge.

# %%
found = supergat.recommend(graph, seconds=5)
print(found.answer)
print(*found["notes"], sep="\n")

# %% [markdown]
# ## Train
#
# `auto` takes the best network, which also predicts other graphs. The same seed gives the same bits. A model without links
# (`mlp`) shows what the columns achieve alone.

# %%
training = supergat.train(graph, "auto", seeds=SEEDS)
columns_alone = supergat.train(graph, "mlp", seeds=SEEDS)
print(training)
print(columns_alone)
print(supergat.compare(training, columns_alone, names=("with links", "columns alone"))["conclusion"])

# %% [markdown]
# ## Evaluate
#
# The test set has only about twenty members. Cross-validation uses every labelled member once.

# %%
model = training.model
print(pd.DataFrame(model.evaluate(graph)).T)

try:
    from sklearn.model_selection import cross_val_score

    known = members.dropna(subset="genre")
    classifier = supergat.SuperGATClassifier(graph=graph, model="gcn", random_state=0)
    scores = cross_val_score(classifier, known["id"], known["genre"], cv=3 if SEEDS < 5 else 5, scoring="f1_macro")
    print(f"macro-F1 {scores.mean():.2f} ± {scores.std(ddof=1):.2f} over {len(scores)} folds")
except ImportError:
    print("skipped: scikit-learn is not installed")

# %% [markdown]
# ## Scores of all members
#
# The example knows the favourite genre of the members without a label too, so the scores can be checked.

# %%
predicted = pd.Series(model.predict(graph), index=graph.ids)
unlabelled = members["id"][members["genre"].isna()]
accuracy = (predicted[unlabelled] == truth[unlabelled]).mean()
print(f"{accuracy:.0%} of {len(unlabelled)} members without a label are classified correctly")

# %% [markdown]
# ## Explain a node
#
# Networks with attention say which neighbours a member attends to. `mean` is the attention of the last layer, averaged
# over its heads.

# %%
node = unlabelled.iloc[0]
attention = supergat.train(graph, "supergat-mx").model.explain(node, graph)
attention = attention[(attention["layer"] == attention["layer"].max()) & (attention["head"] == 0)]
attention = attention.assign(predicted=predicted[attention["source"]].to_numpy())
print(f"{node} is predicted to like {predicted[node]}")
print(attention.sort_values("mean", ascending=False)[["source", "predicted", "mean"]])

# %% [markdown]
# ## Save, and predict on new frames
#
# The file contains the types, means and categories of the training data. The command line opens it too. Another
# branch of the library has other members, other loans and no labels.

# %%
folder = Path(tempfile.mkdtemp())
model.save(folder / "library.safetensors")
opened = supergat.Model.load(folder / "library.safetensors")

newcomers, new_loans, new_truth = library("n", 40, labelled=0)
branch = opened.read_frames(newcomers.drop(columns="genre"), new_loans)
result = pd.DataFrame(opened.predict_proba(branch), index=branch.ids, columns=opened.classes)
print(result.head())
print(f"{(result.idxmax(axis=1) == new_truth).mean():.0%} of {len(result)} newcomers are classified correctly")
