#!/usr/bin/env python3
"""Counts the instructions of every primitive in a training step under callgrind, to detect slower kernels.

  python3 scripts/instructions.py                    print the counts
  python3 scripts/instructions.py --check            fail if a primitive needs 5 % more than in scripts/instructions.json
  python3 scripts/instructions.py --write            update that file after an intended change

Counts the AVX2 path, which valgrind supports, on one thread. Instruction counts are used because timings are too noisy.
Needs valgrind and a debug build (cargo build); prints "skipped" if one is missing.
"""
import argparse, json, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "instructions.json"
STEPS = 3
# Network of the counts in the file, which is not the default one of random graphs.
NETWORK = ["--hidden", "8", "--heads", "8", "--output-heads", "8", "--dropout", "0.6", "--attention-dropout",
           "--residual", "none", "--norm", "none", "--activation", "elu", "--no-output-layer"]
# The sparse case needs a dataset and is skipped without it.
CASES = {
    "random-mx": ["--random", "3000,10,64,5", "--model", "supergat-mx", *NETWORK],
    "random-gat": ["--random", "3000,10,64,5", "--model", "gat-go", *NETWORK],
    "cora-mx": ["cora", "--model", "supergat-mx"],
}
ALLOWED = 1.05
# Primitives with fewer instructions are not compared.
SMALL = 50_000


def data_folder():
    for place in [os.environ.get("SUPERGAT_TEST_DATA"), os.environ.get("SUPERGAT_DATA"), HERE.parent.parent / "shared" / "data"]:
        if place and (pathlib.Path(place) / "cora").is_dir():
            return str(place)
    return None


def count(binary, options, data):
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/callgrind.out"
        environment = {**os.environ, "SUPERGAT_SIMD": "avx2", **({"SUPERGAT_DATA": data} if data else {})}
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", binary, "profile", *options, "--epochs", str(STEPS), "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        listing = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], capture_output=True, text=True).stdout
    counts = {}
    for line in listing.splitlines():
        found = re.match(r"\s*([\d,]+) .*(?:Primitives|Products)[^ ]*>::(\w+)", line)
        if found:
            name = found.group(2)
            counts[name] = max(counts.get(name, 0), int(found.group(1).replace(",", "")) // STEPS)
    return counts


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=str(HERE.parent / "target" / "debug" / "supergat"), help="debug build of supergat")
    p.add_argument("--check", action="store_true", help="fail if a primitive needs 5 %% more instructions")
    p.add_argument("--write", action="store_true", help="update scripts/instructions.json")
    a = p.parse_args()
    if not shutil.which("valgrind") or not pathlib.Path(a.binary).exists():
        print("instructions: skipped (valgrind or the debug build is missing)")
        return
    data = data_folder()
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    worse = []
    for case, options in CASES.items():
        if options[0] == "cora" and not data:
            print(f"{case}: skipped (dataset cora is missing)")
            continue
        counts = count(a.binary, options, data)
        before = known.get(case, {})
        for name, number in sorted(counts.items(), key=lambda item: -item[1]):
            ratio = number / before[name] if name in before else None
            print(f"{case:12}{name:28}{number:>14,}" + (f"{ratio:8.3f}" if ratio else ""))
            if ratio and ratio > ALLOWED and number > SMALL:
                worse.append(f"{case} {name}: {before[name]:,} -> {number:,}")
        if a.write:
            known[case] = dict(sorted(counts.items()))
    if a.write:
        BASELINE.write_text(json.dumps(known, indent=1) + "\n")
    if a.check and worse:
        sys.exit("more instructions than in scripts/instructions.json:\n" + "\n".join(worse))


main()
