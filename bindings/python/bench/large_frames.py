#!/usr/bin/env python3
"""Measures how long a large frame takes to become a graph, and the peak memory, each library in its own process.

    python bench/large_frames.py                                  # 1 M nodes by 50 columns, 10 M edges
    python bench/large_frames.py --nodes 100000 --edges 1000000   # a tenth
    python bench/large_frames.py --libraries supergat,networkx,torch_geometric,igraph --nodes 20000 --edges 200000

The frames are made of random numbers, outside the measured time. "CPU s" is the processor time, which depends less
on other load of the machine than the seconds. "frames MiB" is the peak before the graph is
built, "peak MiB" the peak after it. networkx and igraph store the columns as attributes of nodes. PyTorch Geometric
makes its tensors from such a graph of networkx (`from_networkx`).
"""

import argparse
import importlib.util
import json
import resource
import subprocess
import sys
import time

LIBRARIES = ("supergat", "networkx", "torch_geometric", "igraph")


def peak_mib() -> float:
    """Return the peak memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def frames(nodes: int, columns: int, edges: int):
    """Return random frames of nodes and edges."""
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    values = random.standard_normal((nodes, columns), dtype=np.float32)
    frame = pd.DataFrame(values, columns=[f"x{at}" for at in range(columns)], copy=False)
    frame.insert(0, "id", np.arange(nodes))
    frame.insert(1, "label", random.integers(0, 5, nodes))
    links = {"source": random.integers(0, nodes, edges), "target": random.integers(0, nodes, edges)}
    return frame, pd.DataFrame(links)


def with_supergat(nodes, edges) -> tuple[int, int]:
    import supergat

    graph = supergat.Graph.from_frames(nodes, edges, id="id", label="label", source="source", target="target")
    return graph.num_nodes, graph.num_features


def networkx_graph(nodes, edges):
    import networkx

    graph = networkx.from_pandas_edgelist(edges)
    graph.add_nodes_from(nodes["id"])
    networkx.set_node_attributes(graph, nodes.set_index("id").to_dict(orient="index"))
    return graph


def with_networkx(nodes, edges) -> tuple[int, int]:
    return networkx_graph(nodes, edges).number_of_nodes(), nodes.shape[1] - 2


def with_torch_geometric(nodes, edges) -> tuple[int, int]:
    from torch_geometric.utils import from_networkx

    data = from_networkx(networkx_graph(nodes, edges), group_node_attrs=list(nodes.columns[2:]))
    return data.num_nodes, data.x.shape[1]


def with_igraph(nodes, edges) -> tuple[int, int]:
    import igraph

    graph = igraph.Graph.DataFrame(edges, directed=False, vertices=nodes, use_vids=False)
    return graph.vcount(), nodes.shape[1] - 2


def measure(library: str, nodes: int, columns: int, edges: int) -> None:
    """Build one graph in this process and print the numbers as JSON."""
    importlib.import_module(library)
    made = frames(nodes, columns, edges)
    before = peak_mib()
    started, worked = time.perf_counter(), time.process_time()
    size = globals()[f"with_{library}"](*made)
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    if size != (nodes, columns):
        sys.exit(f"{library}: expected {nodes} nodes with {columns} columns, found {size}")
    print(json.dumps({"seconds": seconds, "cpu": cpu, "frames": before, "peak": peak_mib()}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1_000_000, help="number of nodes (default: 1000000)")
    parser.add_argument("--columns", type=int, default=50, help="number of columns of the nodes (default: 50)")
    parser.add_argument("--edges", type=int, default=10_000_000, help="number of edges (default: 10000000)")
    parser.add_argument("--libraries", default="supergat", help=f"some of {','.join(LIBRARIES)} (default: supergat)")
    parser.add_argument("--measure", choices=LIBRARIES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(given.measure, given.nodes, given.columns, given.edges)
        return
    print(f"{given.nodes:,} nodes by {given.columns} columns, {given.edges:,} edges")
    print("| library | seconds | CPU s | frames MiB | peak MiB |\n|---|---|---|---|---|")
    for library in given.libraries.split(","):
        if library not in LIBRARIES:
            parser.error(f"--libraries: expected some of {', '.join(LIBRARIES)}, found {library}")
        if importlib.util.find_spec(library) is None:
            print(f"skipped: {library} is not installed")
            continue
        sizes = ["--nodes", str(given.nodes), "--columns", str(given.columns), "--edges", str(given.edges)]
        done = subprocess.run([sys.executable, __file__, "--measure", library, *sizes], capture_output=True, text=True)
        if done.returncode:
            print(f"{library} failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
            continue
        found = json.loads(done.stdout)
        times, sizes = (found["seconds"], found["cpu"]), (found["frames"], found["peak"])
        print("| {} | {:.2f} | {:.2f} | {:.0f} | {:.0f} |".format(library, *times, *sizes), flush=True)


if __name__ == "__main__":
    main()
