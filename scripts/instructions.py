#!/usr/bin/env python3
"""Counts the instructions of every primitive in a training step under callgrind, where time would be too noisy to guard against regressions.

  python3 scripts/instructions.py                    print the counts
  python3 scripts/instructions.py --check            compare with scripts/instructions.json; fails when a primitive needs 5 % more
  python3 scripts/instructions.py --write            replace that file, after a change that is meant to be

Needs valgrind and a debug build (cargo build): says "skipped" where there is none. The AVX2 path is counted, which valgrind knows; one thread.
"""
import argparse, json, os, pathlib, re, shutil, subprocess, sys, tempfile

HERE = pathlib.Path(__file__).resolve().parent
BASELINE = HERE / "instructions.json"
STEPS = 3
# A sparse case needs a dataset; it is left out where there is none.
CASES = {
    "random-mx": ["--random", "3000,10,64,5", "--model", "supergat-mx"],
    "random-gat": ["--random", "3000,10,64,5", "--model", "gat-go"],
    "cora-mx": ["cora", "--model", "supergat-mx"],
}
ALLOWED = 1.05
# Below this many instructions a primitive is noise.
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
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", binary, "bench", *options, "--epochs", str(STEPS), "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\n{done.stderr}")
        listing = subprocess.run(["callgrind_annotate", "--inclusive=yes", "--threshold=100", out], capture_output=True, text=True).stdout
    counts = {}
    for line in listing.splitlines():
        found = re.match(r"\s*([\d,]+) .*Primitives[^ ]*>::(\w+)", line)
        if found:
            name = found.group(2)
            counts[name] = max(counts.get(name, 0), int(found.group(1).replace(",", "")) // STEPS)
    return counts


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--binary", default=str(HERE.parent / "target" / "debug" / "supergat"))
    p.add_argument("--check", action="store_true")
    p.add_argument("--write", action="store_true")
    a = p.parse_args()
    if not shutil.which("valgrind") or not pathlib.Path(a.binary).exists():
        print("instructions: skipped, since valgrind or the debug build is not there")
        return
    data = data_folder()
    known = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    worse = []
    for case, options in CASES.items():
        if options[0] == "cora" and not data:
            print(f"{case}: skipped, since cora is not there")
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
        sys.exit("more instructions than before:\n" + "\n".join(worse))


main()
