#!/usr/bin/env python3
"""Write the messy tables of docs/studies/fraud.md: accounts, of which 1 in 200 commits fraud, and the links between them.

  scripts/fraud-tables.py FOLDER [--accounts 24000] [--seed 1]     write the tables
  scripts/fraud-tables.py FOLDER --check suspicious.csv             count the fraudulent accounts of a list

FOLDER gets accounts (nodes.csv) and links (edges.csv). Fraud comes in rings: their accounts share devices and pass money
on, but each account alone looks almost like an honest one. As in real tables, values are missing, written in several
ways or repeated. Needs only the standard library.
"""
import argparse, csv, datetime, pathlib, random


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--accounts", type=int, default=24_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--check", type=pathlib.Path, help="list of accounts with a column node")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    given.folder.mkdir(parents=True, exist_ok=True)
    ids = [f"ACC-{number:06}" for number in rng.sample(range(1_000_000), given.accounts)]
    rings = fraud_rings(rng, given.accounts)
    fraud = {account for ring in rings for account in ring}
    if given.check:
        bad = {ids[account] for account in fraud}
        with open(given.check, newline="", encoding="utf-8") as file:
            listed = [row["node"] for row in csv.DictReader(file)]
        print(f"{sum(node in bad for node in listed)} of {len(listed)} accounts are fraudulent")
        return
    write(given.folder / "nodes.csv", accounts(rng, ids, fraud))
    write(given.folder / "edges.csv", links(rng, ids, rings))
    print(f"{given.folder}: {len(ids)} accounts, {len(fraud)} of them fraudulent")


def fraud_rings(rng, count):
    """Rings of 4 to 8 accounts, together 1 account in 200."""
    left = rng.sample(range(count), count // 200)
    rings = []
    while left:
        size = min(len(left), rng.randint(4, 8))
        rings.append([left.pop() for _ in range(size)])
    return rings


def accounts(rng, ids, fraud):
    """Rows of nodes.csv. Only two accounts in three have been checked, so the others have no label."""
    yield ["account_id", "status", "opened", "country", "balance", "logins_per_week", "phone_verified", "segment"]
    first = datetime.date(2015, 1, 1)
    for number, account in enumerate(ids):
        bad = number in fraud
        checked = rng.random() < 0.66
        # Fraudulent accounts are younger, poorer and busier, as many honest ones are.
        opened = first + datetime.timedelta(days=int(3600 * rng.betavariate(3.5 if bad else 1.4, 1.4)))
        balance = rng.lognormvariate(5.9 if bad else 7.0, 1.1)
        logins = max(0.0, rng.gauss(11 if bad else 7, 4))
        yield [
            account,
            ("fraud" if bad else "honest") if checked else "",
            opened.isoformat() if rng.random() < 0.97 else "",
            rng.choice(["DE", "FR", "NL", "PL", "ES"]),
            f"€{balance:,.2f}" if rng.random() < 0.95 else "n/a",
            f"{logins:.1f}",
            rng.choice(["yes", "no"] if bad else ["yes", "yes", "yes", "no"]),
            rng.choice(["retail", "student", "business"]),
        ]


def links(rng, ids, rings):
    """Rows of edges.csv: payments, devices that two accounts used, and referrals."""
    yield ["from_account", "to_account", "kind", "weight", "channel"]
    count = len(ids)
    channels = ["app", "web", "branch"]

    def link(a, b, kind, weight):
        return [ids[a], ids[b], kind, f"{weight:.3f}", rng.choice(channels) if rng.random() < 0.9 else ""]

    rows = []
    for account in range(count):
        for _ in range(rng.randint(1, 5)):
            other = rng.randrange(count)
            rows.append(link(account, other, "payment", rng.lognormvariate(0, 0.6)))
        if rng.random() < 0.25:
            rows.append(link(account, rng.randrange(count), "referral", 1.0))
        # People of one household share a device, too.
        if rng.random() < 0.12:
            rows.append(link(account, rng.randrange(count), "device", rng.uniform(0.5, 1.5)))
    for ring in rings:
        for at, account in enumerate(ring):
            rows.append(link(account, ring[at - 1], "device", rng.uniform(0.5, 1.5)))
            rows.append(link(account, rng.choice(ring), "device", rng.uniform(0.5, 1.5)))
            for _ in range(3):
                rows.append(link(account, rng.randrange(count), "payment", rng.lognormvariate(0, 0.6)))
    rng.shuffle(rows)
    for row in rows:
        yield row
        if rng.random() < 0.01:
            yield row
        if rng.random() < 0.002:
            yield row[:3] + ["0", ""]
        if rng.random() < 0.001:
            yield [f"ACC-{rng.randrange(1_000_000, 2_000_000)}"] + row[1:]


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


if __name__ == "__main__":
    main()
