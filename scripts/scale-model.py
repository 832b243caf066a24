#!/usr/bin/env python3
"""Model of the time, the memory and the traffic of SuperGAT-MX over several processes (see docs/studies/scale.md).

  scripts/scale-model.py measure runs.json [--supergat PATH] [--epochs 5]   measure all cases below
  scripts/scale-model.py fit runs.json                fit the constants to some cases and check them on the others
  scripts/scale-model.py network runs.json 1gbit      measure two processes with limited bandwidth (root) and compare
  scripts/scale-model.py predict runs.json            predict training on large public graphs

Needs numpy, a build with MPI (cargo build --release -p supergat-cli --features mpi) and an idle machine.
"""
import argparse, json, math, pathlib, struct, subprocess, sys, tempfile
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# Name, dataset, parts, [processes, threads], and whether the constants are fitted to it.
RANDOM = "random-graph:nodes={},degree={},features={},classes={}"
COMMUNITIES = RANDOM + ",communities={},inside=0.9"
CASES = [
    ("random-40k", RANDOM.format(40_000, 14, 64, 10), 16, [(1, 1), (2, 1)], True),
    ("random-40k-dense", RANDOM.format(40_000, 40, 16, 10), 16, [(1, 1), (2, 1)], True),
    ("random-80k-wide", RANDOM.format(80_000, 6, 256, 30), 16, [(1, 1), (2, 1)], True),
    ("local-80k", COMMUNITIES.format(80_000, 14, 64, 20, 400), 16, [(1, 1), (2, 1)], True),
    ("local-160k", COMMUNITIES.format(160_000, 20, 32, 10, 800), 32, [(1, 1), (2, 1), (4, 1)], True),
    ("random-arxiv", RANDOM.format(169_343, 14, 128, 40), 16, [(1, 1), (1, 2), (2, 1)], False),
    ("random-120k", RANDOM.format(120_000, 20, 100, 16), 32, [(1, 1), (2, 1), (4, 1)], False),
    ("local-250k", COMMUNITIES.format(250_000, 10, 100, 12, 1000), 32, [(1, 1), (2, 1), (4, 1)], False),
]
# Architecture in the style of the paper: two layers of 8 heads; the hidden layer has 8 features per head.
HEADS, HIDDEN, P_E, P_N = 8, 8, 0.8, 0.5
NETWORK = ["--hidden", str(HIDDEN), "--heads", str(HEADS), "--output-heads", str(HEADS), "--dropout", "0.6", "--attention-dropout",
           "--residual", "none", "--norm", "none", "--activation", "elu", "--no-output-layer", "--p-e", str(P_E), "--p-n", str(P_N)]
PARTS_OF_GROUP = 8
JOINED_ROWS, JOINED_SHARE = 2048, 3


def layers(features, classes):
    """Input width, projected width and per-head values of each layer."""
    return [(features, HEADS * HIDDEN, HEADS), (HEADS * HIDDEN, HEADS * classes, HEADS)]


def read_parts(path):
    """Bounds of the parts, and the incoming edges of a divided file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        start = file.tell()

        def array(name, kind):
            begin, end = header[name]["data_offsets"]
            file.seek(start + begin)
            return np.frombuffer(file.read(end - begin), kind)

        return array("0.parts", "<u4").astype(np.int64), array("0.incoming.offsets", "<u8").astype(np.int64), array("0.incoming.neighbours", "<u4")


def shape(path, processes):
    """Mean work of a process: nodes, edges, edges between parts, sampled non-edges, and rows of other processes."""
    bounds, offsets, neighbours = read_parts(path)
    parts, nodes, edges = len(bounds) - 1, int(bounds[-1]), len(neighbours)
    groups = min(max(math.ceil(parts / PARTS_OF_GROUP), 1), parts)
    part_of = np.repeat(np.arange(parts), np.diff(bounds))
    negatives = math.floor(P_N * math.floor(P_E * edges))
    sources = part_of[neighbours]
    cut = int((sources != np.repeat(part_of, np.diff(offsets))).sum())
    first_part = lambda k, of: parts * k // of
    received, pairs, largest, messages = 0, 0.0, 0, 0
    for process in range(processes):
        own = range(first_part(process, processes), first_part(process + 1, processes))
        for group in range(groups):
            run = range(max(own.start, first_part(group, groups)), min(own.stop, first_part(group + 1, groups)))
            if not run:
                continue
            rows = int(bounds[run.stop] - bounds[run.start])
            lists = neighbours[offsets[bounds[run.start]]:offsets[bounds[run.stop]]]
            needed = np.bincount(part_of[np.unique(lists)], minlength=parts)
            # Other ends of non-edges are random nodes.
            drawn = 1 - math.exp(-2 * negatives * rows / nodes / nodes)
            limit = max(JOINED_ROWS, (bounds[own.stop] - bounds[own.start]) // JOINED_SHARE)
            sender, joined = None, 0.0
            for part in ((first_part(group, groups) + s) % parts for s in range(parts)):
                if part in own:
                    sender = None
                    continue
                size = int(bounds[part + 1] - bounds[part])
                further = (size - needed[part]) * drawn
                received, pairs = received + int(needed[part]), pairs + further
                rows_of_part, process_of_part = needed[part] + further, (processes * (part + 1) - 1) // parts
                if process_of_part != sender or joined + rows_of_part > limit:
                    sender, joined, messages = process_of_part, 0.0, messages + 1
                joined += rows_of_part
                largest = max(largest, joined)
    return {
        "nodes": nodes / processes, "edges": edges / processes, "cut": cut / processes,
        "negatives": negatives / processes, "received": received / processes, "further": pairs / processes,
        "largest": float(largest), "turns": messages / processes, "all_negatives": negatives,
    }


def traffic(shape, widths):
    """Bytes that a process sends in a training step: rows of both passes."""
    total = 0
    for _, stride, heads in widths:
        forward = shape["received"] * (stride + heads)
        backward = (shape["received"] + shape["further"]) * (stride + 5 * heads) + shape["received"] * stride
        total += 4 * (forward + backward)
    return total


def terms(shape, widths, threads):
    """Terms of the model, without their constants: time of attention forward, backward, and of everything else."""
    numbers = sum(stride for _, stride, _ in widths)
    local = (shape["edges"] - shape["cut"]) * numbers
    far, pairs = shape["cut"] * numbers, 2 * shape["negatives"] * numbers
    products = sum(shape["nodes"] * width * stride * (3 if k else 2) for k, (width, stride, _) in enumerate(widths))
    rows = shape["nodes"] * numbers
    return {
        "forward": [local / threads, far / threads],
        "backward": [local / threads, far / threads, pairs / threads],
        "rest": [products / threads, rows / threads, shape["all_negatives"] * len(widths) / threads, traffic(shape, widths)],
    }


def memory_terms(shape, widths):
    """Terms of the memory: constant, features, rows, edges, non-edges; and the rows that travel, in bytes."""
    numbers = max(stride for _, stride, _ in widths)
    travel = 3 * 4 * shape["largest"] * max(2 * stride + 5 * heads for _, stride, heads in widths) if shape["received"] else 0
    rows = shape["nodes"] * (sum(stride for _, stride, _ in widths) + 2 * numbers)
    return [1.0, 4 * shape["nodes"] * widths[0][0], 4 * rows, shape["edges"], shape["negatives"]], travel


def solve(lines, values):
    """Least squares of relative errors with constants that are not negative."""
    a = np.array(lines, float) / np.array(values, float)[:, None]
    scale = a.max(axis=0)
    scale[scale == 0] = 1
    a, chosen = a / scale, np.ones(a.shape[1], bool)
    while True:
        x = np.zeros(a.shape[1])
        x[chosen] = np.linalg.lstsq(a[:, chosen], np.ones(len(a)), rcond=None)[0]
        if (x >= 0).all():
            return x / scale
        chosen &= x > 0


def profile(arguments, path, processes, threads, epochs, launcher=MPIRUN):
    command = [*launcher] if launcher is not MPIRUN else [*MPIRUN, "-n", str(processes)]
    command += [arguments.supergat, "profile", str(path), "--model", "supergat-mx", *NETWORK]
    command += ["--epochs", str(epochs), "--threads", str(threads), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    out = json.loads(done.stdout[done.stdout.index("{"):])
    kernels = {kernel["name"]: kernel["ms"]["median"] / 1e3 for kernel in out["kernels"]}
    return {
        "step": out["train_ms"]["median"] / 1e3, "forward": kernels["attention_forward"], "backward": kernels["attention_backward"],
        "sent": sum(out["sent_bytes"]) / processes, "memory": out["peak_rss_mib"] * 2**20,
    }


def measure(arguments):
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, source, parts, runs_of_case, fitted in CASES:
            path = pathlib.Path(folder) / f"{name}.supergat.safetensors"
            subprocess.run([arguments.supergat, "partition", source, "--parts", str(parts), "--out", str(path)], check=True, capture_output=True)
            options = dict(pair.split("=") for pair in source.split(":")[1].split(","))
            widths = layers(int(options["features"]), int(options["classes"]))
            for processes, threads in runs_of_case:
                measured = profile(arguments, path, processes, threads, arguments.epochs)
                run = {"case": name, "processes": processes, "threads": threads, "fitted": fitted, "layers": widths, "shape": shape(path, processes), **measured}
                runs.append(run)
                print(json.dumps({k: v for k, v in run.items() if k not in ("shape", "layers")}), flush=True)
    pathlib.Path(arguments.runs).write_text(json.dumps(runs, indent=1))


def slots(run):
    """Processes that share a core: two cores were measured."""
    return max(1, run["processes"] * run["threads"] / 2)


def fit(runs):
    """Constants of the model from the runs that are fitted."""
    constants = {}
    chosen = [run for run in runs if run["fitted"] and slots(run) == 1]
    all_terms = [terms(run["shape"], run["layers"], run["threads"]) for run in chosen]
    for name in ["forward", "backward", "rest"]:
        values = [run["step"] - run["forward"] - run["backward"] if name == "rest" else run[name] for run in chosen]
        constants[name] = solve([t[name] for t in all_terms], values)
    lines = [memory_terms(run["shape"], run["layers"]) for run in chosen]
    constants["memory"] = solve([line for line, _ in lines], [run["memory"] - travel for run, (_, travel) in zip(chosen, lines)])
    return constants


def model(constants, shape, widths, threads, sharing=1.0, bandwidth=None, per_byte=0.0):
    """Time of a step in seconds, memory and traffic of a process in bytes. Without a bandwidth, processes share memory
    and a core copies the rows; with one, rows travel while attention is computed, except for the first of its messages,
    and a core needs `per_byte` seconds to send and receive a byte."""
    t = terms(shape, widths, threads)
    parts = {name: float(np.dot(constants[name], t[name])) * sharing for name in t}
    line, travel = memory_terms(shape, widths)
    memory, sent = float(np.dot(constants["memory"], line)) + travel, traffic(shape, widths)
    if bandwidth is None:
        return sum(parts.values()), memory, sent
    passes = []
    for _, stride, heads in widths:
        share = stride / sum(stride for _, stride, _ in widths)
        forward = 4 * shape["received"] * (stride + heads)
        backward = 4 * ((shape["received"] + shape["further"]) * (stride + 5 * heads) + shape["received"] * stride)
        passes += [(parts["forward"] * share, forward), (parts["backward"] * share, backward)]
    step = parts["rest"]
    for compute, sent_here in passes:
        computing, sending = compute + per_byte * sent_here, sent_here / bandwidth
        step += max(computing, sending) + min(computing, sending) / max(shape["turns"], 1)
    return step, memory, sent


def report(runs):
    constants = fit(runs)
    names = {
        "forward": ["ns per number of an edge within a part", "ns per number of an edge between parts"],
        "backward": ["ns per number of an edge within a part", "ns per number of an edge between parts", "ns per number of a non-edge"],
        "rest": ["ns per multiplication of a product", "ns per number of a row", "ns per sampled non-edge of the graph", "ns per byte sent"],
        "memory": ["MB of every process", "bytes per byte of features", "bytes per byte of rows", "bytes per edge", "bytes per non-edge"],
    }
    for part, values in constants.items():
        for name, value in zip(names[part], values):
            print(f"{part:<10}{name:<42}{value / 1e6 if name.startswith('MB') else value * (1 if part == 'memory' else 1e9):>10.3f}")
    print(f"\n{'case':<18}{'processes':>10}{'threads':>8}{'step s':>9}{'model':>8}{'ratio':>7}{'MB':>8}{'ratio':>7}{'sent MB':>9}{'ratio':>7}")
    for run in runs:
        step, memory, sent = model(constants, run["shape"], run["layers"], run["threads"], slots(run))
        ratio = f"{sent / run['sent']:>7.3f}" if run["sent"] else f"{'':>7}"
        print(f"{run['case']:<18}{run['processes']:>10}{run['threads']:>8}{run['step']:>9.3f}{step:>8.3f}{step / run['step']:>7.2f}"
              f"{run['memory'] / 1e6:>8.0f}{memory / run['memory']:>7.2f}{run['sent'] / 1e6:>9.1f}{ratio}{'  fitted' if run['fitted'] else ''}")


def network(arguments, runs):
    """Compares steps over a network with the model. The cost of a byte is fitted to a run without a limit."""
    constants = fit(runs)
    rate = float(arguments.rate.removesuffix("gbit")) * 1e9 / 8 * 0.95
    per_byte = 0.0
    print(f"{'case':<18}{'rate':>8}{'step s':>9}{'model':>8}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for name, source, parts, _, fitted in CASES:
            path = pathlib.Path(folder) / f"{name}.supergat.safetensors"
            subprocess.run([arguments.supergat, "partition", source, "--parts", str(parts), "--out", str(path)], check=True, capture_output=True)
            options = dict(pair.split("=") for pair in source.split(":")[1].split(","))
            widths, work = layers(int(options["features"]), int(options["classes"])), shape(path, 2)
            for limit in ["none", arguments.rate] if per_byte == 0.0 else [arguments.rate]:
                measured = profile(arguments, path, 2, 1, arguments.epochs, [str(HERE / "mpi-namespaces"), "2", limit])
                bandwidth = math.inf if limit == "none" else rate
                if limit == "none":
                    missing = measured["step"] - model(constants, work, widths, 1, 1.0, bandwidth)[0]
                    per_byte = max(missing / traffic(work, widths), 1e-12)
                step = model(constants, work, widths, 1, 1.0, bandwidth, per_byte)[0]
                note = "  fitted: %.2f ns per byte" % (per_byte * 1e9) if limit == "none" else ""
                print(f"{name:<18}{limit:>8}{measured['step']:>9.3f}{step:>8.3f}{step / measured['step']:>7.2f}{note}", flush=True)


# Nodes, edges in both directions with a self-loop for each node, features and classes.
LARGE = {
    "ogbn-papers100M": (111_059_956, 2 * 1_615_685_872 + 111_059_956, 128, 172),
    "MAG240M citations": (121_751_666, 2 * 1_297_748_926 + 121_751_666, 768, 153),
}
MACHINE = {"processes": 8, "cores": 64, "memory": 512e9, "bandwidth": 25e9}


def halo(processes):
    """Rows of other processes per own row, and share of the edges between parts, with 8 parts per process: 1.15 and 0.45
    with 8 processes, 2.82 and 0.61 with 64, 3.37 and 0.66 with 128, measured on the citation graph of ogbn-arxiv. They
    grow by 0.55 and 0.05 with every doubling."""
    doublings = math.log2(processes / 64)
    return (1.15, 0.45) if processes == 8 else (2.82 + 0.55 * doublings, 0.61 + 0.05 * doublings)


def predict(runs):
    """Predicts training on machines of 8 processes with 8 threads each, which share the network of the machine."""
    constants = fit(runs)
    per_machine = MACHINE["processes"]
    threads, bandwidth = MACHINE["cores"] // per_machine, MACHINE["bandwidth"] / per_machine
    print(f"{'graph':<20}{'machines':>9}{'parts':>8}{'step s':>9}{'sending s':>10}{'memory GB':>11}{'sent GB':>9}  of a machine")
    for name, (nodes, edges, features, classes) in LARGE.items():
        widths = layers(features, classes)
        for machines in [1, 8, 64, 128]:
            processes = machines * per_machine
            rows, share = halo(processes)
            negatives = math.floor(P_N * P_E * edges)
            own, parts = nodes / processes, PARTS_OF_GROUP * processes
            random = (nodes - own) * (1 - math.exp(-edges / processes / nodes))
            for kind, received, cut in [("local", rows * own, share), ("random", random, 1 - 1 / parts)]:
                further = max(0, nodes - own - received) * (1 - math.exp(-2 * negatives / processes / nodes))
                joined = max(JOINED_ROWS, own / JOINED_SHARE)
                work = {
                    "nodes": own, "edges": edges / processes, "cut": cut * edges / processes, "negatives": negatives / processes,
                    "received": received, "further": further, "largest": min(joined, received + further),
                    "turns": max(1, (received + further) / joined), "all_negatives": negatives,
                }
                step, memory, sent = model(constants, work, widths, threads, 1.0, None if machines == 1 else bandwidth)
                print(f"{name:<20}{machines:>9}{kind:>8}{step:>9.1f}{sent / bandwidth:>10.1f}{per_machine * memory / 1e9:>11.0f}{per_machine * sent / 1e9:>9.1f}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=["measure", "fit", "network", "predict"])
    p.add_argument("runs", help="file of measurements")
    p.add_argument("rate", nargs="?", default="1gbit", help="bandwidth, such as 1gbit")
    p.add_argument("--supergat", default=str(HERE.parent / "target" / "release" / "supergat"), help="build with MPI")
    p.add_argument("--epochs", type=int, default=5, help="steps to measure")
    arguments = p.parse_args()
    if arguments.command == "measure":
        return measure(arguments)
    runs = json.loads(pathlib.Path(arguments.runs).read_text())
    {"fit": lambda: report(runs), "network": lambda: network(arguments, runs), "predict": lambda: predict(runs)}[arguments.command]()


if __name__ == "__main__":
    main()
