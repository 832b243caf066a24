#!/usr/bin/env python3
"""Compares the principal components of a MUSAE dataset with those of scikit-learn.

    supergat convert chameleon chameleon.supergat.safetensors
    python3 scripts/compare-pca.py chameleon.supergat.safetensors FOLDER/chameleon.json

Needs numpy and scikit-learn. The sign of a component is arbitrary. Components whose singular values differ by less
than 1e-4 (relative) are not compared, because they are not unique.
"""

import json
import struct
import sys

import numpy as np
from sklearn.decomposition import PCA

converted, words = sys.argv[1:]
with open(converted, "rb") as file:
    (length,) = struct.unpack("<Q", file.read(8))
    tensor = json.loads(file.read(length))["0.features"]
    start, end = tensor["data_offsets"]
    file.seek(8 + length + start)
    ours = np.frombuffer(file.read(end - start), dtype=np.float32).reshape(tensor["shape"]).astype(np.float64)

with open(words) as file:
    pages = json.load(file)
matrix = np.zeros((len(ours), 1 + max(max(page) for page in pages.values())))
for page, numbers in pages.items():
    matrix[int(page), numbers] = 1

pca = PCA(ours.shape[1], svd_solver="full").fit(matrix)
theirs, spread = pca.transform(matrix), pca.singular_values_
step = (spread[:-1] - spread[1:]) / spread[1:]
apart = np.minimum(np.append(np.inf, step), np.append(step, np.inf)) > 1e-4
error = np.minimum(abs(ours - theirs).max(axis=0), abs(ours + theirs).max(axis=0))
print(f"singular values: largest relative difference {max(abs(np.linalg.norm(ours, axis=0) / spread - 1)):.1e}")
print(f"coordinates of {apart.sum()} of {len(apart)} components: largest difference {error[apart].max():.1e}")
